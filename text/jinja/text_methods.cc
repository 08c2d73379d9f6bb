#include "text/jinja/text_methods.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/jinja/letter_case.h"
#include "text/jinja/print.h"

namespace shortlist::jinja {
namespace {

constexpr auto npos = std::string::npos;
constexpr size_t kMaxPieces = 1'000'000;

absl::Status TooManyPieces() {
  return absl::InvalidArgumentError(
      absl::StrCat("a text split into more than ", kMaxPieces, " pieces"));
}

absl::StatusOr<Value> ToList(const Text& text,
                             const std::vector<std::pair<size_t, size_t>>& pieces) {
  std::vector<Value> items;
  for (const auto& [begin, end] : pieces) items.emplace_back(text.Slice(begin, end));
  return Value::MakeList(std::move(items));
}

size_t SkipSpaces(const std::string& bytes, size_t i, bool spaces) {
  while (i < bytes.size()) {
    size_t next = i;
    if (IsSpace(NextCodePoint(bytes, next)) != spaces) break;
    i = next;
  }
  return i;
}

size_t SkipSpacesBack(const std::string& bytes, size_t i, bool spaces) {
  while (i > 0) {
    const size_t previous = PreviousCodePoint(bytes, i);
    size_t next = previous;
    if (IsSpace(NextCodePoint(bytes, next)) != spaces) break;
    i = previous;
  }
  return i;
}

/// split() at runs of white space; `limit` splits at most, from the right where `from_right`.
absl::StatusOr<Value> SplitAtSpace(const Text& text, size_t limit, bool from_right) {
  const std::string& bytes = text.bytes();
  std::vector<std::pair<size_t, size_t>> pieces;
  if (from_right) {
    size_t end = SkipSpacesBack(bytes, bytes.size(), true);
    while (end > 0 && pieces.size() <= kMaxPieces) {
      const bool is_last = pieces.size() == limit;
      const size_t begin = is_last ? 0 : SkipSpacesBack(bytes, end, false);
      pieces.emplace_back(begin, end);
      end = SkipSpacesBack(bytes, begin, true);
    }
    std::reverse(pieces.begin(), pieces.end());
  } else {
    size_t begin = SkipSpaces(bytes, 0, true);
    while (begin < bytes.size() && pieces.size() <= kMaxPieces) {
      const bool is_last = pieces.size() == limit;
      const size_t end = is_last ? bytes.size() : SkipSpaces(bytes, begin, false);
      pieces.emplace_back(begin, end);
      begin = SkipSpaces(bytes, end, true);
    }
  }
  if (pieces.size() > kMaxPieces) return TooManyPieces();
  return ToList(text, pieces);
}

/// The search from the right takes the product of both lengths at worst.
absl::Status CheckSearchedFromRight(const std::string& part) {
  if (part.size() <= 256) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a search from the right for ", part.size(), " bytes, above the bound of 256"));
}

absl::StatusOr<Value> SplitAt(const Text& text, const std::string& separator, size_t limit,
                              bool from_right) {
  if (separator.empty()) return absl::InvalidArgumentError("a split at an empty separator");
  if (from_right) SHORTLIST_RETURN_IF_ERROR(CheckSearchedFromRight(separator));
  const std::string& bytes = text.bytes();
  std::vector<std::pair<size_t, size_t>> pieces;
  size_t begin = 0, end = bytes.size();
  while (pieces.size() < limit && pieces.size() <= kMaxPieces) {
    const size_t found = !from_right              ? Find(bytes, separator, begin)
                         : end < separator.size() ? npos
                                                  : bytes.rfind(separator, end - separator.size());
    if (found == npos) break;
    if (from_right) {
      pieces.emplace_back(found + separator.size(), end);
      end = found;
    } else {
      pieces.emplace_back(begin, found);
      begin = found + separator.size();
    }
  }
  if (pieces.size() > kMaxPieces) return TooManyPieces();
  pieces.emplace_back(begin, end);
  if (from_right) std::reverse(pieces.begin(), pieces.end());
  return ToList(text, pieces);
}

absl::StatusOr<Value> Split(const Text& text, const Arguments& arguments, bool from_right) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"sep", "maxsplit"}));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t max_split, IntOr(bound[1], -1));
  const size_t limit = max_split < 0 ? npos : static_cast<size_t>(max_split);
  if (bound[0] == nullptr || bound[0]->Is(Kind::kNone))
    return SplitAtSpace(text, limit, from_right);
  SHORTLIST_ASSIGN_OR_RETURN(const std::string separator, TextOr(bound[0], ""));
  return SplitAt(text, separator, limit, from_right);
}

absl::StatusOr<Value> StripMethod(const Text& text, const Arguments& arguments, Side side) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"chars"}));
  return Strip(text, side, bound[0]);
}

/// startswith and endswith: one text or a tuple of them.
absl::StatusOr<Value> HasAffix(const Text& text, const Arguments& arguments, bool at_start) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({at_start ? "prefix" : "suffix"}));
  if (bound[0] == nullptr) return absl::InvalidArgumentError("startswith, endswith: no argument");
  std::vector<Value> affixes = {*bound[0]};
  if (bound[0]->Is(Kind::kList) && bound[0]->list().kind == ListKind::kTuple) {
    affixes = bound[0]->list().items;
  }
  for (const Value& affix : affixes) {
    if (!affix.Is(Kind::kText)) {
      return absl::InvalidArgumentError(
          absl::StrCat("startswith, endswith: an argument of type ", affix.TypeName()));
    }
    const std::string& bytes = text.bytes();
    if (at_start ? bytes.starts_with(affix.bytes()) : bytes.ends_with(affix.bytes())) {
      return Value(true);
    }
  }
  return Value(false);
}

/// removeprefix and removesuffix.
absl::StatusOr<Value> RemoveAffix(const Text& text, const Arguments& arguments, bool at_start) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({at_start ? "prefix" : "suffix"}));
  SHORTLIST_ASSIGN_OR_RETURN(const std::string affix, TextOr(bound[0], ""));
  const std::string& bytes = text.bytes();
  if (at_start && bytes.starts_with(affix)) return Value(text.Slice(affix.size(), bytes.size()));
  if (!at_start && bytes.ends_with(affix)) return Value(text.Slice(0, bytes.size() - affix.size()));
  return Value(text);
}

/// find, rfind and count, in code points.
absl::StatusOr<Value> Search(const Text& text, const Arguments& arguments, std::string_view name) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"sub"}));
  SHORTLIST_ASSIGN_OR_RETURN(const std::string part, TextOr(bound[0], ""));
  const std::string& bytes = text.bytes();
  if (name == "count") {
    if (part.empty()) return Value(static_cast<int64_t>(CountCodePoints(bytes)) + 1);
    int64_t count = 0;
    for (size_t i = Find(bytes, part); i != npos; i = Find(bytes, part, i + part.size())) ++count;
    return Value(count);
  }
  if (name == "rfind") SHORTLIST_RETURN_IF_ERROR(CheckSearchedFromRight(part));
  const size_t found = name == "find" ? Find(bytes, part) : bytes.rfind(part);
  if (found == npos) return Value(int64_t{-1});
  return Value(static_cast<int64_t>(CountCodePoints(std::string_view(bytes).substr(0, found))));
}

/// str.format with the fields {}, {0} and {name}.
absl::StatusOr<Value> Format(const Text& text, const Arguments& arguments) {
  const std::string& bytes = text.bytes();
  Text out;
  size_t next_argument = 0;
  for (size_t i = 0; i < bytes.size();) {
    const size_t brace = bytes.find_first_of("{}", i);
    out.Append(text.Slice(i, std::min(brace, bytes.size())));
    if (brace == npos) break;
    if (brace + 1 < bytes.size() && bytes[brace + 1] == bytes[brace]) {
      out.Append(text.Slice(brace, brace + 1));
      i = brace + 2;
      continue;
    }
    const size_t end = bytes.find('}', brace);
    if (bytes[brace] == '}' || end == npos)
      return absl::InvalidArgumentError("format: a lone brace");
    const std::string field = bytes.substr(brace + 1, end - brace - 1);
    const Value* value = nullptr;
    const bool is_number = !field.empty() && std::all_of(field.begin(), field.end(), [](char c) {
      return c >= '0' && c <= '9';
    });
    if (field.empty() || (is_number && field.size() < 4)) {
      const size_t index = field.empty() ? next_argument++ : std::stoul(field);
      if (index < arguments.positional.size()) value = &arguments.positional[index];
    }
    for (const auto& [name, named] : arguments.named) {
      if (name.bytes() == field) value = &named;
    }
    if (value == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("format: no argument for the field '", field.substr(0, 40), "'"));
    }
    SHORTLIST_RETURN_IF_ERROR(AppendStr(*value, out));
    i = end + 1;
  }
  return Value(std::move(out));
}

/// `text` in another spelling.
Value Respelled(const Text& text, std::string (*spell)(std::string_view)) {
  Text out;
  out.AppendRespelled(spell(text.bytes()), text);
  return Value(std::move(out));
}

constexpr std::string_view kTextMethods[] = {
    "strip",        "lstrip",       "rstrip", "split", "rsplit", "splitlines", "startswith",
    "endswith",     "replace",      "upper",  "lower", "title",  "find",       "capitalize",
    "removeprefix", "removesuffix", "rfind",  "count", "join",   "format",     "isdigit"};

}  // namespace

bool HasTextMethod(std::string_view name) {
  return std::find(std::begin(kTextMethods), std::end(kTextMethods), name) !=
         std::end(kTextMethods);
}

absl::StatusOr<Value> CallTextMethod(const Text& text, std::string_view name,
                                     const Arguments& arguments) {
  if (name == "strip") return StripMethod(text, arguments, Side::kBoth);
  if (name == "lstrip") return StripMethod(text, arguments, Side::kLeft);
  if (name == "rstrip") return StripMethod(text, arguments, Side::kRight);
  if (name == "split" || name == "rsplit") return Split(text, arguments, name == "rsplit");
  if (name == "startswith" || name == "endswith")
    return HasAffix(text, arguments, name == "startswith");
  if (name == "removeprefix" || name == "removesuffix") {
    return RemoveAffix(text, arguments, name == "removeprefix");
  }
  if (name == "find" || name == "rfind" || name == "count") return Search(text, arguments, name);
  if (name == "format") return Format(text, arguments);
  if (name == "replace") {
    SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"old", "new", "count"}));
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t count, IntOr(bound[2], -1));
    if (!bound[0] || !bound[1] || !bound[0]->Is(Kind::kText) || !bound[1]->Is(Kind::kText)) {
      return absl::InvalidArgumentError("replace: needs two texts");
    }
    return Replace(text, bound[0]->text(), bound[1]->text(), count);
  }
  if (name == "join") {
    SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"iterable"}));
    if (bound[0] == nullptr) return absl::InvalidArgumentError("join: no argument");
    SHORTLIST_ASSIGN_OR_RETURN(const std::vector<Value> items, Items(*bound[0]));
    for (const Value& item : items) {
      if (!item.Is(Kind::kText)) {
        return absl::InvalidArgumentError(
            absl::StrCat("join: an element of type ", item.TypeName()));
      }
    }
    return Join(text, items);
  }
  if (name == "splitlines") {
    SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"keepends"}));
    std::vector<Value> lines;
    for (Text& line : SplitLines(text, bound[0] && bound[0]->IsTrue())) {
      if (lines.size() == kMaxPieces) return TooManyPieces();
      lines.emplace_back(std::move(line));
    }
    return Value::MakeList(std::move(lines));
  }
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  if (name == "upper") return Upper(text);
  if (name == "lower") return Lower(text);
  if (name == "capitalize") return Capitalize(text);
  if (name == "title") return Title(text);
  const std::string& bytes = text.bytes();  // isdigit
  for (size_t i = 0; i < bytes.size();) {
    if (!IsDigit(NextCodePoint(bytes, i))) return Value(false);
  }
  return Value(!bytes.empty());
}

absl::StatusOr<Value> Strip(const Text& text, Side side, const Value* characters) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string given, TextOr(characters, ""));
  const bool spaces = characters == nullptr || characters->Is(Kind::kNone);
  std::set<char32_t> set;
  for (size_t i = 0; i < given.size();) set.insert(NextCodePoint(given, i));
  const auto strips = [&](size_t at) {
    const char32_t c = NextCodePoint(text.bytes(), at);
    return spaces ? IsSpace(c) : set.contains(c);
  };
  size_t begin = 0, end = text.bytes().size();
  while (side != Side::kRight && begin < end && strips(begin)) NextCodePoint(text.bytes(), begin);
  while (side != Side::kLeft && begin < end) {
    const size_t previous = PreviousCodePoint(text.bytes(), end);
    if (!strips(previous)) break;
    end = previous;
  }
  return Value(text.Slice(begin, end));
}

absl::StatusOr<Value> Replace(const Text& text, const Text& from, const Text& to, int64_t count) {
  if (from.bytes().empty()) return absl::InvalidArgumentError("replace: of an empty text");
  const std::string& bytes = text.bytes();
  Text out;
  size_t begin = 0;
  while (count != 0) {
    const size_t found = Find(bytes, from.bytes(), begin);
    if (found == npos) break;
    out.Append(text.Slice(begin, found));
    out.Append(to);
    begin = found + from.bytes().size();
    --count;
  }
  out.Append(text.Slice(begin, bytes.size()));
  return Value(std::move(out));
}

Value Upper(const Text& text) { return Respelled(text, UpperCase); }

Value Lower(const Text& text) { return Respelled(text, LowerCase); }

Value Capitalize(const Text& text) { return Respelled(text, Capitalized); }

Value Title(const Text& text) { return Respelled(text, TitleCase); }

Value TitleOfWords(const Text& text) { return Respelled(text, TitleCaseOfWords); }

absl::StatusOr<Value> Join(const Text& separator, const std::vector<Value>& items) {
  Text out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.Append(separator);
    SHORTLIST_RETURN_IF_ERROR(AppendStr(items[i], out));
  }
  return Value(std::move(out));
}

std::vector<Text> SplitLines(const Text& text, bool keep_ends) {
  const std::string& bytes = text.bytes();
  std::vector<Text> lines;
  for (size_t begin = 0; begin < bytes.size();) {
    size_t end = begin, next = begin;
    while (next < bytes.size()) {
      const char32_t c = NextCodePoint(bytes, next);
      if (IsLineEnd(c)) {
        if (c == '\r' && next < bytes.size() && bytes[next] == '\n') ++next;
        break;
      }
      end = next;
    }
    lines.push_back(text.Slice(begin, keep_ends ? next : end));
    begin = next;
  }
  return lines;
}

}  // namespace shortlist::jinja
