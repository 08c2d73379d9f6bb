#include "text/jinja/text_methods.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/jinja/format.h"
#include "text/jinja/letter_case.h"
#include "text/jinja/print.h"
#include "text/jinja/text_search.h"

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

/// split() at runs of white space; at most `limit` splits, from the right if `from_right`.
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

/// ljust, rjust and center.
absl::StatusOr<Value> Justify(const Text& text, const Arguments& arguments, Align align) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"width", "fillchar"}));
  if (bound[0] == nullptr) return absl::InvalidArgumentError("ljust, rjust, center: no width");
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t width, IntOr(bound[0], 0));
  Text fill = Text::FromTemplate(" ");
  if (bound[1] != nullptr) {
    if (!bound[1]->Is(Kind::kText) || CountCodePoints(bound[1]->bytes()) != 1) {
      return absl::InvalidArgumentError("ljust, rjust, center: padding that is not one character");
    }
    fill = bound[1]->text();
  }
  SHORTLIST_ASSIGN_OR_RETURN(Text padded, Pad(text, width, fill, align));
  return Value(std::move(padded));
}

absl::StatusOr<Value> FillWithZeros(const Text& text, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"width"}));
  if (bound[0] == nullptr) return absl::InvalidArgumentError("zfill: no width");
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t width, IntOr(bound[0], 0));
  const bool has_sign = text.bytes().starts_with('+') || text.bytes().starts_with('-');
  SHORTLIST_ASSIGN_OR_RETURN(
      Text padded, Pad(text, width, Text::FromTemplate("0"), Align::kInner, has_sign ? 1 : 0));
  return Value(std::move(padded));
}

/// isalpha and isalnum, for ASCII only: there are no tables of the letters of other scripts here.
absl::StatusOr<Value> IsOfLetters(const std::string& bytes, bool or_digits) {
  bool holds = !bytes.empty();
  for (const char c : bytes) {
    if (static_cast<unsigned char>(c) >= 0x80) {
      return absl::InvalidArgumentError("isalpha, isalnum: of a text that is not ASCII");
    }
    holds = holds && (absl::ascii_isalpha(c) || (or_digits && absl::ascii_isdigit(c)));
  }
  return Value(holds);
}

/// Returns `text` in another spelling.
Value Respelled(const Text& text, std::string (*spell)(std::string_view)) {
  Text out;
  out.AppendRespelled(spell(text.bytes()), text);
  return Value(std::move(out));
}

constexpr std::string_view kTextMethods[] = {
    "strip",        "lstrip",       "rstrip",  "split",   "rsplit",  "splitlines", "startswith",
    "endswith",     "replace",      "upper",   "lower",   "title",   "find",       "capitalize",
    "removeprefix", "removesuffix", "rfind",   "count",   "join",    "format",     "isdigit",
    "index",        "rindex",       "ljust",   "rjust",   "center",  "zfill",      "partition",
    "rpartition",   "isalpha",      "isalnum", "isspace", "isupper", "islower"};

}  // namespace

bool HasTextMethod(std::string_view name) {
  return std::find(std::begin(kTextMethods), std::end(kTextMethods), name) !=
         std::end(kTextMethods);
}

bool IsOtherTextMethod(std::string_view name) {
  constexpr std::string_view kOthers[] = {"casefold",    "encode",    "expandtabs",   "format_map",
                                          "isascii",     "isdecimal", "isidentifier", "isnumeric",
                                          "isprintable", "istitle",   "swapcase",     "maketrans",
                                          "translate"};
  return !HasTextMethod(name) &&
         std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers);
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
  if (name.ends_with("find") || name.ends_with("index") || name == "count") {
    return Search(text, arguments, name);
  }
  if (name.ends_with("partition")) return Partition(text, arguments, name == "rpartition");
  if (name == "ljust") return Justify(text, arguments, Align::kLeft);
  if (name == "rjust") return Justify(text, arguments, Align::kRight);
  if (name == "center") return Justify(text, arguments, Align::kCenter);
  if (name == "zfill") return FillWithZeros(text, arguments);
  if (name == "format") return FormatFields(text, arguments);
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
  if (name == "isupper" || name == "islower") return Value(HasOneCase(text, name == "isupper"));
  const std::string& bytes = text.bytes();
  if (name == "isalpha" || name == "isalnum") return IsOfLetters(bytes, name == "isalnum");
  for (size_t i = 0; i < bytes.size();) {
    const char32_t c = NextCodePoint(bytes, i);
    if (!(name == "isdigit" ? IsDigit(c) : IsSpace(c))) return Value(false);
  }
  return Value(!bytes.empty());
}

bool HasOneCase(const Text& text, bool upper) {
  const Value same = upper ? Upper(text) : Lower(text), other = upper ? Lower(text) : Upper(text);
  return same.bytes() == text.bytes() && other.bytes() != text.bytes();
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

Text EscapedForHtml(const Text& text) {
  const std::string& bytes = text.bytes();
  Text escaped;
  for (size_t begin = 0; begin < bytes.size();) {
    const size_t end = std::min(bytes.find_first_of("&<>'\"", begin), bytes.size());
    escaped.Append(text.Slice(begin, end));
    if (end == bytes.size()) break;
    const char c = bytes[end];
    escaped.AppendRespelled(c == '&'   ? "&amp;"
                            : c == '<' ? "&lt;"
                            : c == '>' ? "&gt;"
                            : c == '"' ? "&#34;"
                                       : "&#39;",
                            text.Slice(end, end + 1));
    begin = end + 1;
  }
  return escaped;
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
