#include "grammar/regex_syntax.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "grammar/expressions.h"

namespace shortlist {
namespace {

constexpr size_t kMaxPatternBytes = 64 << 10;
constexpr int kMaxGroupDepth = 64;
constexpr int64_t kMaxCount = 1'000'000;

CharClass Digits() { return {{'0', '9'}}; }
CharClass WordChars() { return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}; }
CharClass LineEnds() { return {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}; }
CharClass WhiteSpace() {
  return {{0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
          {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
}

bool IsDigit(uint32_t c) { return c >= '0' && c <= '9'; }
bool IsAsciiLetter(uint32_t c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

/// What an escape stands for: one code point, or a class such as \d.
struct Escaped {
  CharClass chars;
  bool single = true;
};

/// Recursive descent; the depth of groups is bounded.
class Parser {
 public:
  explicit Parser(std::string_view pattern) : pattern_(pattern) {}

  absl::StatusOr<RegexNode> Parse() {
    SHORTLIST_ASSIGN_OR_RETURN(RegexNode node, ParseAlternation(0));
    if (next_ < pattern_.size()) return RegexError(next_, "unmatched )");
    return node;
  }

 private:
  bool AtEnd() const { return next_ == pattern_.size(); }
  bool Sees(std::string_view text) const { return pattern_.substr(next_).starts_with(text); }
  bool Skip(std::string_view text) {
    if (!Sees(text)) return false;
    next_ += text.size();
    return true;
  }

  /// Reads one code point; the pattern is valid UTF-8 and not at its end.
  uint32_t TakeChar() {
    const auto lead = static_cast<unsigned char>(pattern_[next_++]);
    const int num_tail_bytes = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    uint32_t c = num_tail_bytes == 0 ? lead : lead & (0x3F >> num_tail_bytes);
    for (int i = 0; i < num_tail_bytes; ++i) c = c << 6 | (pattern_[next_++] & 0x3F);
    return c;
  }

  RegexNode NodeAt(RegexNode::Kind kind, size_t position) const {
    RegexNode node;
    node.kind = kind;
    node.position = position;
    node.has_anchors = kind == RegexNode::Kind::kBegin || kind == RegexNode::Kind::kEnd;
    return node;
  }

  static void AddChild(RegexNode& node, RegexNode child) {
    node.has_anchors |= child.has_anchors;
    node.children.push_back(std::move(child));
  }

  absl::StatusOr<RegexNode> ParseAlternation(int depth) {
    RegexNode node = NodeAt(RegexNode::Kind::kAlternation, next_);
    do {
      SHORTLIST_ASSIGN_OR_RETURN(RegexNode option, ParseSequence(depth));
      AddChild(node, std::move(option));
    } while (Skip("|"));
    if (node.children.size() > 1) return node;
    RegexNode only = std::move(node.children[0]);
    return only;
  }

  absl::StatusOr<RegexNode> ParseSequence(int depth) {
    RegexNode node = NodeAt(RegexNode::Kind::kSequence, next_);
    while (!AtEnd() && !Sees("|") && !Sees(")")) {
      SHORTLIST_ASSIGN_OR_RETURN(RegexNode item, ParseQuantified(depth));
      AddChild(node, std::move(item));
    }
    return node;
  }

  absl::StatusOr<RegexNode> ParseQuantified(int depth) {
    const size_t begin = next_;
    SHORTLIST_ASSIGN_OR_RETURN(RegexNode item, ParseAtom(depth));
    const size_t position = next_;
    SHORTLIST_ASSIGN_OR_RETURN(const bool quantified, ParseQuantifier());
    if (!quantified) return item;
    if (item.kind == RegexNode::Kind::kBegin || item.kind == RegexNode::Kind::kEnd) {
      return RegexError(position, "quantifier of an anchor");
    }
    Skip("?");  // lazy: the same texts
    if (Sees("+")) return RegexError(next_, "possessive quantifiers are not supported");
    if (Sees("*") || Sees("?")) return RegexError(next_, "quantifier of a quantifier");
    RegexNode repeat = NodeAt(RegexNode::Kind::kRepeat, begin);
    repeat.min = min_;
    repeat.max = max_;
    AddChild(repeat, std::move(item));
    return repeat;
  }

  /// Reads a quantifier into min_ and max_. False if there is none.
  absl::StatusOr<bool> ParseQuantifier() {
    min_ = 0;
    max_ = Expressions::kNoLimit;
    if (Skip("*")) return true;
    if (Skip("+")) {
      min_ = 1;
      return true;
    }
    if (Skip("?")) {
      max_ = 1;
      return true;
    }
    if (!Skip("{")) return false;
    const size_t position = next_ - 1;
    SHORTLIST_ASSIGN_OR_RETURN(min_, ParseCount());
    max_ = min_;
    if (Skip(",")) {
      max_ = Expressions::kNoLimit;
      if (!Sees("}")) {
        SHORTLIST_ASSIGN_OR_RETURN(max_, ParseCount());
      }
    }
    if (!Skip("}")) return RegexError(next_, "expected } after a count");
    if (min_ > max_) return RegexError(position, absl::StrCat("{", min_, ",", max_, "} is empty"));
    return true;
  }

  absl::StatusOr<int64_t> ParseCount() {
    const size_t begin = next_;
    int64_t count = 0;
    while (!AtEnd() && IsDigit(static_cast<unsigned char>(pattern_[next_]))) {
      count = count * 10 + (pattern_[next_++] - '0');
      if (count > kMaxCount) {
        return RegexError(begin, absl::StrCat("a count exceeds ", kMaxCount));
      }
    }
    if (next_ == begin) return RegexError(begin, "expected a count after {; write \\{ for {");
    return count;
  }

  absl::StatusOr<RegexNode> ParseAtom(int depth) {
    const size_t begin = next_;
    if (Skip("(")) return ParseGroup(begin, depth);
    if (Skip("^")) return NodeAt(RegexNode::Kind::kBegin, begin);
    if (Skip("$")) return NodeAt(RegexNode::Kind::kEnd, begin);
    RegexNode node = NodeAt(RegexNode::Kind::kChars, begin);
    if (Skip("[")) {
      SHORTLIST_ASSIGN_OR_RETURN(node.chars, ParseClass(begin));
    } else if (Skip("\\")) {
      SHORTLIST_ASSIGN_OR_RETURN(Escaped escaped, ParseEscape(/*in_class=*/false));
      node.chars = std::move(escaped.chars);
    } else if (Skip(".")) {
      node.chars = Complement(LineEnds());
    } else if (Sees("*") || Sees("+") || Sees("?") || Sees("{")) {
      return RegexError(begin, "nothing to repeat");
    } else {
      const uint32_t c = TakeChar();
      node.chars = {{c, c}};
    }
    return node;
  }

  absl::StatusOr<RegexNode> ParseGroup(size_t begin, int depth) {
    if (depth == kMaxGroupDepth) {
      return RegexError(begin, absl::StrCat("groups nest deeper than ", kMaxGroupDepth));
    }
    if (Skip("?")) SHORTLIST_RETURN_IF_ERROR(SkipGroupKind(begin));
    SHORTLIST_ASSIGN_OR_RETURN(RegexNode node, ParseAlternation(depth + 1));
    if (!Skip(")")) return RegexError(begin, "unclosed group");
    return node;
  }

  /// Skips what follows "(?" up to the group's content.
  absl::Status SkipGroupKind(size_t begin) {
    if (Skip(":")) return absl::OkStatus();
    if (Sees("=") || Sees("!") || Sees("<=") || Sees("<!")) {
      return RegexError(begin, "lookahead and lookbehind are not supported");
    }
    if (Sees("P=") || Sees("P>")) return RegexError(begin, "references are not supported");
    if (!Skip("<") && !Skip("P<")) {
      return RegexError(begin, "flags, comments and this kind of group are not supported");
    }
    const size_t end = pattern_.find('>', next_);
    if (end == pattern_.npos || end == next_) return RegexError(begin, "unnamed group");
    next_ = end + 1;
    return absl::OkStatus();
  }

  /// Reads a class after its "[".
  absl::StatusOr<CharClass> ParseClass(size_t begin) {
    const bool negated = Skip("^");
    if (Sees("]")) return RegexError(begin, "empty class; write \\] for ]");
    CharClass ranges;
    while (!Skip("]")) {
      if (AtEnd()) return RegexError(begin, "unclosed class");
      const size_t position = next_;
      SHORTLIST_ASSIGN_OR_RETURN(const Escaped first, ParseClassItem());
      if (!Sees("-") || Sees("-]")) {
        ranges.insert(ranges.end(), first.chars.begin(), first.chars.end());
        continue;
      }
      Skip("-");
      if (AtEnd()) return RegexError(begin, "unclosed class");
      SHORTLIST_ASSIGN_OR_RETURN(const Escaped last, ParseClassItem());
      if (!first.single || !last.single) {  // as in ECMA-262, annex B: [\w-.] has three parts
        ranges.insert(ranges.end(), first.chars.begin(), first.chars.end());
        ranges.insert(ranges.end(), last.chars.begin(), last.chars.end());
        ranges.push_back({'-', '-'});
        continue;
      }
      if (first.chars[0].first > last.chars[0].last) return RegexError(position, "empty range");
      ranges.push_back({first.chars[0].first, last.chars[0].last});
    }
    const CharClass chars = MakeCharClass(ranges);
    return negated ? Complement(chars) : chars;
  }

  absl::StatusOr<Escaped> ParseClassItem() {
    if (Skip("\\")) return ParseEscape(/*in_class=*/true);
    const uint32_t c = TakeChar();
    return Escaped{{{c, c}}};
  }

  /// Reads an escape after its backslash.
  absl::StatusOr<Escaped> ParseEscape(bool in_class) {
    const size_t begin = next_ - 1;
    if (AtEnd()) return RegexError(begin, "\\ at the end");
    const uint32_t c = TakeChar();
    switch (c) {
      case 'd':
        return Escaped{Digits(), false};
      case 'D':
        return Escaped{Complement(Digits()), false};
      case 'w':
        return Escaped{WordChars(), false};
      case 'W':
        return Escaped{Complement(WordChars()), false};
      case 's':
        return Escaped{WhiteSpace(), false};
      case 'S':
        return Escaped{Complement(WhiteSpace()), false};
      case 'b':
        if (in_class) return Escaped{{{'\b', '\b'}}};
        [[fallthrough]];
      case 'B':
        return RegexError(begin, "word boundaries are not supported");
      case 'k':
        return RegexError(begin, "references are not supported");
      case 'p':
      case 'P':
        return RegexError(begin, "Unicode properties are not supported");
      default:
        break;
    }
    SHORTLIST_ASSIGN_OR_RETURN(const uint32_t value, ParseCharEscape(begin, c));
    return Escaped{{{value, value}}};
  }

  /// Returns the code point of the escape at `begin` whose first character is `c`.
  absl::StatusOr<uint32_t> ParseCharEscape(size_t begin, uint32_t c) {
    switch (c) {
      case 't':
        return '\t';
      case 'n':
        return '\n';
      case 'v':
        return '\v';
      case 'f':
        return '\f';
      case 'r':
        return '\r';
      case 'x':
        return ParseHex(begin, 2);
      case 'u':
        return ParseUnicodeEscape(begin);
      case 'c':
        if (AtEnd() || !IsAsciiLetter(static_cast<unsigned char>(pattern_[next_]))) {
          return RegexError(begin, "expected a letter after \\c");
        }
        return static_cast<uint32_t>(pattern_[next_++] & 0x1F);
      case '0':
        if (AtEnd() || !IsDigit(static_cast<unsigned char>(pattern_[next_]))) return 0;
        return RegexError(begin, "octal escapes are not supported");
      default:
        break;
    }
    if (IsDigit(c)) return RegexError(begin, "references are not supported");
    if (IsAsciiLetter(c)) return RegexError(begin, "unknown escape");
    return c;
  }

  absl::StatusOr<uint32_t> ParseUnicodeEscape(size_t begin) {
    if (Skip("{")) {
      uint32_t value = 0;
      const size_t first_digit = next_;
      while (!AtEnd() && HexDigitValue(pattern_[next_]) >= 0) {
        value = value * 16 + HexDigitValue(pattern_[next_++]);
        if (value > kMaxCodePoint) return RegexError(begin, "no code point");
      }
      if (next_ == first_digit || !Skip("}")) return RegexError(begin, "expected \\u{H...}");
      return value;
    }
    SHORTLIST_ASSIGN_OR_RETURN(const uint32_t value, ParseHex(begin, 4));
    if (value < 0xD800 || value > 0xDFFF) return value;
    if (value >= 0xDC00 || !Skip("\\u")) return RegexError(begin, "half of a surrogate pair");
    SHORTLIST_ASSIGN_OR_RETURN(const uint32_t low, ParseHex(begin, 4));
    if (low < 0xDC00 || low > 0xDFFF) return RegexError(begin, "half of a surrogate pair");
    return 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
  }

  absl::StatusOr<uint32_t> ParseHex(size_t begin, size_t num_digits) {
    uint32_t value = 0;
    for (size_t i = 0; i < num_digits; ++i) {
      const int digit = AtEnd() ? -1 : HexDigitValue(pattern_[next_]);
      if (digit < 0) {
        return RegexError(begin, absl::StrCat("expected ", num_digits, " hexadecimal digits"));
      }
      value = value * 16 + digit;
      ++next_;
    }
    return value;
  }

  const std::string_view pattern_;
  size_t next_ = 0;
  int64_t min_ = 0, max_ = 0;  // of the last quantifier
};

}  // namespace

absl::Status RegexError(size_t position, std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat("regular expression, position ", position, ": ",
                                                 absl::string_view(reason.data(), reason.size())));
}

absl::StatusOr<RegexNode> ParseRegex(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return absl::InvalidArgumentError(absl::StrCat("regular expression of ", pattern.size(),
                                                   " bytes, at most ", kMaxPatternBytes));
  }
  if (const auto invalid = FindInvalidUtf8(pattern)) return RegexError(*invalid, "not UTF-8");
  return Parser(pattern).Parse();
}

}  // namespace shortlist
