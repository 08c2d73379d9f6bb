#include "grammar/json_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

ByteSet Set(std::string_view chars) {
  ByteSet set;
  for (const char c : chars) set.Add(static_cast<uint8_t>(c));
  return set;
}

ByteSet Digits() { return ByteSet::Range('0', '9'); }

/// The characters after \ in the short escapes, and the code points that they stand for.
struct ShortEscape {
  uint32_t code_point;
  char letter;
};
constexpr std::array<ShortEscape, 7> kShortEscapes = {
    {{'"', '"'}, {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}}};

/// Returns \uXXXX of a code point below U+10000 that is no surrogate, or of a surrogate pair,
/// without the first backslash.
ExprId UnicodeEscape(Expressions& e) {
  const auto hex = [&](int count) {
    return e.Repeat(e.Bytes(Set("0123456789abcdefABCDEF")), count, count);
  };
  const ExprId u = e.Text("u");
  const ExprId d = e.Bytes(Set("dD"));
  const ExprId high = e.Sequence(std::vector{u, d, e.Bytes(Set("89abAB")), hex(2)});
  const ExprId low = e.Sequence(std::vector{u, d, e.Bytes(Set("cdefCDEF")), hex(2)});
  return e.Choice(std::vector{
      e.Sequence(std::vector{u, e.Bytes(Set("0123456789abcefABCEF")), hex(3)}),
      e.Sequence(std::vector{u, d, e.Bytes(Set("01234567")), hex(2)}),
      e.Sequence(std::vector{high, e.Text("\\"), low}),
  });
}

}  // namespace

JsonText::JsonText(Expressions& expressions, int max_white_space)
    : expressions_(expressions), any_value_(expressions.Nothing()) {
  space_ = expressions_.Repeat(expressions_.Bytes(Set(" \t\n\r")), 0, max_white_space);
  comma_ = expressions_.Sequence(std::vector{space_, Text(","), space_});
  colon_ = expressions_.Sequence(std::vector{space_, Text(":"), space_});
  plain_char_ = Chars(expressions_, std::vector<CodePointRange>{{0, kMaxCodePoint}});
  const ExprId raw = CodePoints(
      expressions_, std::vector<CodePointRange>{{0x20, 0x21}, {0x23, 0x5B}, {0x5D, kMaxCodePoint}});
  const ExprId escaped =
      expressions_.Choice(expressions_.Bytes(Set("\"\\/bfnrt")), UnicodeEscape(expressions_));
  any_char_ = expressions_.Choice(raw, expressions_.Sequence(Text("\\"), escaped));
}

ExprId JsonText::Chars(Expressions& expressions, std::span<const CodePointRange> ranges) {
  const CharClass chars = MakeCharClass(ranges);
  const auto contains = [&](uint32_t c) { return !Intersection(chars, {{c, c}}).empty(); };
  ByteSet short_letters;
  std::array<ByteSet, 2> last_digits;  // of \u000x and \u001x
  for (uint32_t c = 0; c < 0x20; ++c) {
    if (contains(c)) last_digits[c / 16].Add(static_cast<uint8_t>("0123456789abcdef"[c % 16]));
  }
  for (const ShortEscape& escape : kShortEscapes) {
    if (!contains(escape.code_point)) continue;
    short_letters.Add(static_cast<uint8_t>(escape.letter));
    if (escape.code_point >= 0x20) continue;
    const auto digit = static_cast<uint8_t>("0123456789abcdef"[escape.code_point % 16]);
    last_digits[escape.code_point / 16] =
        last_digits[escape.code_point / 16] & ~ByteSet::Range(digit, digit);
  }
  const auto control = [&](std::string_view lead, const ByteSet& digits) {
    return expressions.Sequence(expressions.Text(lead), expressions.Bytes(digits));
  };
  const ExprId escaped = expressions.Choice(std::vector<ExprId>{expressions.Bytes(short_letters),
                                                                control("u000", last_digits[0]),
                                                                control("u001", last_digits[1])});
  const CharClass raw = Intersection(chars, {{0x20, 0x21}, {0x23, 0x5B}, {0x5D, kMaxCodePoint}});
  return expressions.Choice(CodePoints(expressions, raw),
                            expressions.Sequence(expressions.Text("\\"), escaped));
}

std::string JsonText::Escape(std::string_view text) {
  const std::string quoted = ordered_json(text).dump(-1, ' ', /*ensure_ascii=*/false,
                                                     ordered_json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

ExprId JsonText::Quoted(ExprId body) {
  return expressions_.Sequence(std::vector{Text("\""), body, Text("\"")});
}

ExprId JsonText::Integer() {
  const ExprId more_digits = expressions_.Repeat(expressions_.Bytes(Digits()), 0, kMaxDigits - 1);
  const ExprId other = expressions_.Sequence(std::vector{
      expressions_.Optional(Text("-")), expressions_.Bytes(ByteSet::Range('1', '9')), more_digits});
  return expressions_.Choice(Text("0"), other);
}

ExprId JsonText::Number() {
  const ExprId digit = expressions_.Bytes(Digits());
  const ExprId whole = expressions_.Choice(
      Text("0"), expressions_.Sequence(expressions_.Bytes(ByteSet::Range('1', '9')),
                                       expressions_.Repeat(digit, 0, kMaxDigits - 1)));
  const ExprId fraction =
      expressions_.Sequence(Text("."), expressions_.Repeat(digit, 1, kMaxDigits));
  const ExprId exponent = expressions_.Sequence(std::vector{
      expressions_.Bytes(Set("eE")), expressions_.Optional(expressions_.Bytes(Set("+-"))),
      expressions_.Repeat(digit, 1, 2)});
  return expressions_.Sequence(std::vector{expressions_.Optional(Text("-")), whole,
                                           expressions_.Optional(fraction),
                                           expressions_.Optional(exponent)});
}

ExprId JsonText::Member(ExprId key, ExprId value) {
  return expressions_.Sequence(std::vector{key, colon_, value});
}

ExprId JsonText::Enclosed(std::string_view open, ExprId parts, std::string_view close) {
  return expressions_.Sequence(
      std::vector{Text(open), space_,
                  expressions_.Sequence(parts, expressions_.Sequence(space_, Text(close)))});
}

ExprId JsonText::Array(ExprId items) { return Enclosed("[", items, "]"); }
ExprId JsonText::Object(ExprId members) { return Enclosed("{", members, "}"); }

ExprId JsonText::Literal(const ordered_json& value) {
  if (!value.is_structured()) {
    return Text(
        value.dump(-1, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace));
  }
  std::vector<ExprId> parts;
  for (const auto& [key, item] : value.items()) {
    if (!parts.empty()) parts.push_back(comma_);
    const ExprId text = Literal(item);
    parts.push_back(value.is_object() ? Member(Quoted(Text(Escape(key))), text) : text);
  }
  const ExprId all = expressions_.Sequence(parts);
  return value.is_object() ? Object(all) : Array(all);
}

ExprId JsonText::AnyOf(std::vector<std::string> texts) {
  std::ranges::sort(texts);
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts.empty() ? expressions_.Nothing() : Tree(texts, 0);
}

/// `texts` are sorted, distinct and equal up to `offset`. Each level splits the texts, and a level
/// needs a longer text than the one before: the depth is below the square root of all bytes.
ExprId JsonText::Tree(std::span<const std::string> texts, size_t offset) {
  const std::string& first = texts.front();
  const std::string& last = texts.back();
  const size_t end =
      std::mismatch(first.begin() + offset, first.end(), last.begin() + offset, last.end()).first -
      first.begin();
  const ExprId shared = Text(std::string_view(first).substr(offset, end - offset));
  if (texts.size() == 1) return shared;
  std::vector<ExprId> options;
  if (first.size() == end) {
    options.push_back(expressions_.Empty());
    texts = texts.subspan(1);
  }
  while (!texts.empty()) {
    const char lead = texts.front()[end];
    const auto next =
        std::ranges::find_if(texts, [&](const std::string& text) { return text[end] != lead; });
    const size_t count = static_cast<size_t>(next - texts.begin());
    options.push_back(Tree(texts.first(count), end));
    texts = texts.subspan(count);
  }
  return expressions_.Sequence(shared, expressions_.Choice(options));
}

ExprId JsonText::AnyValue() {
  if (any_value_ != expressions_.Nothing()) return any_value_;
  const ExprId scalar = expressions_.Choice(
      std::vector{Text("null"), Text("true"), Text("false"), Number(),
                  Quoted(expressions_.Repeat(any_char_, 0, Expressions::kNoLimit))});
  const ExprId key = Quoted(expressions_.Repeat(plain_char_, 0, Expressions::kNoLimit));
  const auto list_of = [&](ExprId part) {
    const ExprId more = expressions_.Sequence(comma_, part);
    return expressions_.Optional(
        expressions_.Sequence(part, expressions_.Repeat(more, 0, Expressions::kNoLimit)));
  };
  ExprId value = scalar;
  for (int depth = 1; depth < kMaxDepth; ++depth) {
    const ExprId options = expressions_.Choice(
        std::vector{scalar, Array(list_of(value)), Object(list_of(Member(key, value)))});
    const RuleId rule = expressions_.NewRule("any value");
    expressions_.Define(rule, options);
    value = expressions_.Call(rule);
  }
  return any_value_ = value;
}

}  // namespace shortlist
