#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/jinja/operators.h"

namespace shortlist::jinja {
namespace {

/// Python's indices of a slice: `count` indices from `first`, `step` apart, before `stop`.
struct SliceBounds {
  int64_t first = 0;
  int64_t stop = 0;
  int64_t step = 1;
  int64_t count = 0;
};

absl::StatusOr<SliceBounds> ResolveSlice(int64_t length, const Value& begin, const Value& end,
                                         const Value& step) {
  SliceBounds bounds;
  for (const Value& bound : {begin, end, step}) {
    if (bound.Is(Kind::kUndefined)) return absl::InvalidArgumentError(bound.undefined_what());
    if (!bound.Is(Kind::kNone) && !bound.AsInt()) {
      return absl::InvalidArgumentError(absl::StrCat("a slice by '", bound.TypeName(), "'"));
    }
  }
  if (const auto given = step.AsInt()) bounds.step = *given;
  if (bounds.step == 0) return absl::InvalidArgumentError("a slice with step 0");
  bounds.step = std::clamp(bounds.step, -length - 1, length + 1);  // larger steps select the same
  const int64_t lowest = bounds.step < 0 ? -1 : 0;
  const int64_t highest = bounds.step < 0 ? length - 1 : length;
  const auto resolve = [&](const Value& bound, int64_t otherwise) {
    auto position = bound.AsInt();
    if (!position) return otherwise;
    if (*position < 0) position = std::max(*position, -length - 1) + length;
    return std::clamp(*position, lowest, highest);
  };
  bounds.first = resolve(begin, bounds.step < 0 ? highest : lowest);
  bounds.stop = resolve(end, bounds.step < 0 ? lowest : highest);
  const int64_t distance =
      bounds.step > 0 ? bounds.stop - bounds.first : bounds.first - bounds.stop;
  const int64_t stride = std::abs(bounds.step);
  bounds.count = distance <= 0 ? 0 : (distance + stride - 1) / stride;
  return bounds;
}

absl::StatusOr<Value> SliceText(const Text& text, const Value& begin, const Value& end,
                                const Value& step) {
  const std::string& bytes = text.bytes();
  std::vector<size_t> starts;  // start of each code point, then the end
  for (size_t i = 0; i < bytes.size(); NextCodePoint(bytes, i)) starts.push_back(i);
  starts.push_back(bytes.size());
  SHORTLIST_ASSIGN_OR_RETURN(
      const SliceBounds bounds,
      ResolveSlice(static_cast<int64_t>(starts.size()) - 1, begin, end, step));
  if (bounds.count == 0) return Value(Text());
  const auto at = [&](int64_t i) { return starts[static_cast<size_t>(i)]; };
  if (bounds.step == 1) return Value(text.Slice(at(bounds.first), at(bounds.first + bounds.count)));
  Text out;
  for (int64_t k = 0; k < bounds.count; ++k) {
    const int64_t i = bounds.first + k * bounds.step;
    out.Append(text.Slice(at(i), at(i + 1)));
  }
  return Value(std::move(out));
}

/// Returns the range that is a slice of `range`, with its `items`; `step` is the slice's own.
absl::StatusOr<Value> SliceOfRange(const List& range, const SliceBounds& bounds, int64_t step,
                                   std::vector<Value> items) {
  const auto [begin, stop, step_of_range] = range.range;
  const int64_t start = begin, stride = step_of_range;  // clang 14 captures no bindings
  const auto at = [&](int64_t i) {
    return static_cast<__int128>(start) + i * static_cast<__int128>(stride);
  };
  const __int128 first = at(bounds.first), last = at(bounds.stop);
  int64_t whole_step = 0;
  if (first != static_cast<int64_t>(first) || last != static_cast<int64_t>(last) ||
      __builtin_mul_overflow(stride, step, &whole_step)) {
    return BeyondInt64();
  }
  return Value::MakeRange(std::move(items), static_cast<int64_t>(first), static_cast<int64_t>(last),
                          whole_step);
}

}  // namespace

absl::StatusOr<Value> GetSlice(const Value& value, const Value& begin, const Value& end,
                               const Value& step) {
  if (value.Is(Kind::kUndefined)) return absl::InvalidArgumentError(value.undefined_what());
  if (value.Is(Kind::kText)) return SliceText(value.text(), begin, end, step);
  if (!value.IsSequence()) {
    return absl::InvalidArgumentError(absl::StrCat("a slice of '", value.TypeName(), "'"));
  }
  const auto& items = value.list().items;
  SHORTLIST_ASSIGN_OR_RETURN(const SliceBounds bounds,
                             ResolveSlice(static_cast<int64_t>(items.size()), begin, end, step));
  std::vector<Value> part;
  for (int64_t k = 0; k < bounds.count; ++k) {
    part.push_back(items[static_cast<size_t>(bounds.first + k * bounds.step)]);
  }
  if (value.list().kind == ListKind::kRange) {
    return SliceOfRange(value.list(), bounds, step.AsInt().value_or(1), std::move(part));
  }
  return Value::MakeList(std::move(part), value.list().kind);
}

}  // namespace shortlist::jinja
