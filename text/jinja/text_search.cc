#include "text/jinja/text_search.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace shortlist::jinja {
namespace {

constexpr auto npos = std::string::npos;

/// The part of a text between start and end, in characters, with the rules of a slice.
struct Part {
  bool is_there = true;  // false: it begins after its end or after the text's end
  int64_t first_char = 0;
  size_t begin = 0;
  size_t end = 0;
};

absl::StatusOr<Part> PartOf(const std::string& bytes, const Value* start, const Value* end) {
  if (start == nullptr && end == nullptr) return Part{.end = bytes.size()};
  const auto count = static_cast<int64_t>(CountCodePoints(bytes));
  const auto resolve = [count](const Value* bound, int64_t otherwise) -> absl::StatusOr<int64_t> {
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t given, IntOr(bound, otherwise));
    return given < 0 ? std::max(given, -count) + count : given;
  };
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t first, resolve(start, 0));
  SHORTLIST_ASSIGN_OR_RETURN(int64_t last, resolve(end, count));
  last = std::min(last, count);
  if (first > last) return Part{.is_there = false};
  Part part{.first_char = first};
  for (int64_t i = 0; i < first; ++i) NextCodePoint(bytes, part.begin);
  part.end = part.begin;
  for (int64_t i = first; i < last; ++i) NextCodePoint(bytes, part.end);
  return part;
}

}  // namespace

absl::Status CheckSearchedFromRight(const std::string& part) {
  if (part.size() <= 256) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a search from the right for ", part.size(), " bytes, above the bound of 256"));
}

absl::StatusOr<Value> HasAffix(const Text& text, const Arguments& arguments, bool at_start) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound,
                             arguments.Bind({at_start ? "prefix" : "suffix", "start", "end"}));
  if (bound[0] == nullptr) return absl::InvalidArgumentError("startswith, endswith: no argument");
  std::vector<Value> affixes = {*bound[0]};
  if (bound[0]->Is(Kind::kList) && bound[0]->list().kind == ListKind::kTuple) {
    affixes = bound[0]->list().items;
  }
  SHORTLIST_ASSIGN_OR_RETURN(const Part part, PartOf(text.bytes(), bound[1], bound[2]));
  const std::string_view bytes =
      std::string_view(text.bytes()).substr(part.begin, part.end - part.begin);
  for (const Value& affix : affixes) {
    if (!affix.Is(Kind::kText)) {
      return absl::InvalidArgumentError(
          absl::StrCat("startswith, endswith: an argument of type ", affix.TypeName()));
    }
    const bool has = at_start ? bytes.starts_with(affix.bytes()) : bytes.ends_with(affix.bytes());
    if (has && part.is_there) return Value(true);
  }
  return Value(false);
}

absl::StatusOr<Value> RemoveAffix(const Text& text, const Arguments& arguments, bool at_start) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({at_start ? "prefix" : "suffix"}));
  SHORTLIST_ASSIGN_OR_RETURN(const std::string affix, TextOr(bound[0], ""));
  const std::string& bytes = text.bytes();
  if (at_start && bytes.starts_with(affix)) return Value(text.Slice(affix.size(), bytes.size()));
  if (!at_start && bytes.ends_with(affix)) return Value(text.Slice(0, bytes.size() - affix.size()));
  return Value(text);
}

absl::StatusOr<Value> Search(const Text& text, const Arguments& arguments, std::string_view name) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"sub", "start", "end"}));
  if (bound[0] == nullptr) return absl::InvalidArgumentError("find, index, count: no argument");
  SHORTLIST_ASSIGN_OR_RETURN(const std::string wanted, TextOr(bound[0], ""));
  SHORTLIST_ASSIGN_OR_RETURN(const Part part, PartOf(text.bytes(), bound[1], bound[2]));
  const std::string_view bytes =
      std::string_view(text.bytes()).substr(part.begin, part.end - part.begin);
  if (name == "count") {
    if (!part.is_there) return Value(int64_t{0});
    if (wanted.empty()) return Value(static_cast<int64_t>(CountCodePoints(bytes)) + 1);
    int64_t count = 0;
    for (size_t i = Find(bytes, wanted); i != npos; i = Find(bytes, wanted, i + wanted.size())) {
      ++count;
    }
    return Value(count);
  }
  const bool from_right = name.starts_with('r');
  if (from_right) SHORTLIST_RETURN_IF_ERROR(CheckSearchedFromRight(wanted));
  const size_t found = !part.is_there ? npos
                       : from_right   ? bytes.rfind(wanted)
                                      : Find(bytes, wanted);
  if (found != npos) {
    return Value(part.first_char + static_cast<int64_t>(CountCodePoints(bytes.substr(0, found))));
  }
  if (name.ends_with("index")) return absl::InvalidArgumentError("index: no such part in the text");
  return Value(int64_t{-1});
}

absl::StatusOr<Value> Partition(const Text& text, const Arguments& arguments, bool from_right) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"sep"}));
  SHORTLIST_ASSIGN_OR_RETURN(const std::string separator, TextOr(bound[0], ""));
  if (separator.empty()) return absl::InvalidArgumentError("partition: at an empty separator");
  if (from_right) SHORTLIST_RETURN_IF_ERROR(CheckSearchedFromRight(separator));
  const std::string& bytes = text.bytes();
  const size_t found = from_right ? bytes.rfind(separator) : Find(bytes, separator);
  std::vector<Value> parts = {text, Text(), Text()};
  if (found == npos) {
    if (from_right) std::swap(parts[0], parts[2]);
  } else {
    const size_t end = found + separator.size();
    parts = {text.Slice(0, found), text.Slice(found, end), text.Slice(end, bytes.size())};
  }
  return Value::MakeList(std::move(parts), ListKind::kTuple);
}

}  // namespace shortlist::jinja
