#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {
namespace {

constexpr size_t kMaxItems = 1'000'000;

}  // namespace

absl::StatusOr<std::optional<Value>> Generator::Next() {
  if (num_given < items.size()) return items[num_given++];
  if (!end.ok()) return end;
  return std::nullopt;
}

absl::StatusOr<bool> LoopItems::Has(size_t index) {
  while (index >= values.size() && pull) {
    SHORTLIST_ASSIGN_OR_RETURN(const bool pulled, pull());
    if (!pulled) pull = nullptr;
  }
  return index < values.size();
}

absl::StatusOr<size_t> LoopItems::Count() {
  SHORTLIST_RETURN_IF_ERROR(Has(SIZE_MAX).status());
  return values.size();
}

absl::StatusOr<std::vector<Value>> Items(const Value& value) {
  std::vector<Value> items;
  switch (value.kind()) {
    case Kind::kUndefined:
      return items;
    case Kind::kList:
      return value.list().items;
    case Kind::kDict:
      for (const auto& [key, item] : value.dict().entries) items.push_back(key);
      return items;
    case Kind::kText: {
      const size_t count = CountCodePoints(value.bytes());
      if (count > kMaxItems) {
        return absl::InvalidArgumentError(
            absl::StrCat("a list of ", count, " elements, above the bound of ", kMaxItems));
      }
      for (size_t begin = 0; begin < value.bytes().size();) {
        size_t end = begin;
        NextCodePoint(value.bytes(), end);
        items.emplace_back(value.text().Slice(begin, end));
        begin = end;
      }
      return items;
    }
    case Kind::kGenerator:
      for (;;) {
        SHORTLIST_ASSIGN_OR_RETURN(std::optional<Value> item, value.generator().Next());
        if (!item) return items;
        items.push_back(*std::move(item));
      }
    default:
      return absl::InvalidArgumentError(absl::StrCat("'", value.TypeName(), "' is not iterable"));
  }
}

absl::StatusOr<std::optional<Value>> Source::Next() {
  if (value_.Is(Kind::kGenerator)) return value_.generator().Next();
  if (!items_) {
    SHORTLIST_ASSIGN_OR_RETURN(items_, Items(value_));
  }
  if (num_given_ == items_->size()) return std::nullopt;
  return (*items_)[num_given_++];
}

}  // namespace shortlist::jinja
