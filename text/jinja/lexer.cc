#include "text/jinja/lexer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/hex.h"
#include "base/status_macros.h"
#include "text/jinja/text.h"

namespace shortlist::jinja {
namespace {

constexpr auto npos = std::string::npos;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }

/// Converts line ends to "\n", and drops one at the end.
std::string NormalizeLineEnds(std::string_view source) {
  std::string text;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      text += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      text += source[i];
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

bool AllSpace(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    if (!IsSpace(NextCodePoint(text, i))) return false;
  }
  return true;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  absl::StatusOr<std::vector<Token>> Run() {
    while (position_ < source_.size()) SHORTLIST_RETURN_IF_ERROR(NextTag());
    Push(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  absl::Status Error(const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat("line ", line_, ": ", Excerpt(what)));
  }

  void Push(TokenKind kind, std::string value) {
    tokens_.push_back({kind, std::move(value), line_});
  }

  /// Moves to `end` and counts the lines up to there.
  void MoveTo(size_t end) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<ptrdiff_t>(position_),
                                         source_.begin() + static_cast<ptrdiff_t>(end), '\n'));
    position_ = end;
  }

  bool LooksAt(std::string_view what) const {
    return std::string_view(source_).substr(position_).starts_with(what);
  }

  size_t SkipSpace(size_t from) const {
    while (from < source_.size()) {
      size_t next = from;
      if (!IsSpace(NextCodePoint(source_, next))) break;
      from = next;
    }
    return from;
  }

  /// Returns the position after a closing tag at `end` with `sign`, and after trimmed white space.
  size_t TrimAfter(size_t end, char sign, bool is_block) const {
    if (sign == '-') return SkipSpace(end);
    if (is_block && sign != '+' && end < source_.size() && source_[end] == '\n') return end + 1;
    return end;
  }

  /// Returns the text from position_ to a tag at `end` with `sign`, trimmed.
  std::string TrimBefore(size_t end, char sign, bool is_output) const {
    std::string text = source_.substr(position_, end - position_);
    if (sign == '-') {
      size_t length = text.size();
      while (length > 0) {
        const size_t previous = PreviousCodePoint(text, length);
        size_t next = previous;
        if (!IsSpace(NextCodePoint(text, next))) break;
        length = previous;
      }
      text.resize(length);
    } else if (sign != '+' && !is_output) {
      const size_t line = text.rfind('\n') + 1;  // 0 if there is no line end
      const bool at_line_start = line > 0 || position_ == 0 || source_[position_ - 1] == '\n';
      if (at_line_start && AllSpace(std::string_view(text).substr(line))) text.resize(line);
    }
    return text;
  }

  /// Reads the text up to the next tag, and that tag.
  absl::Status NextTag() {
    size_t begin = position_;
    while ((begin = source_.find('{', begin)) != npos) {
      if (begin + 1 < source_.size() && std::string_view("{%#").find(source_[begin + 1]) != npos) {
        break;
      }
      ++begin;
    }
    if (begin == npos) {
      Push(TokenKind::kText, source_.substr(position_));
      position_ = source_.size();
      return absl::OkStatus();
    }
    const char type = source_[begin + 1];
    const char sign = begin + 2 < source_.size() ? source_[begin + 2] : '\0';
    const bool has_sign = sign == '-' || sign == '+';
    if (std::string text = TrimBefore(begin, sign, type == '{'); !text.empty()) {
      Push(TokenKind::kText, std::move(text));
    }
    MoveTo(begin + 2 + has_sign);
    if (type == '#') return Comment();
    if (type == '%') {
      if (const auto raw = RawTag()) return Raw(*raw);
    }
    Push(type == '%' ? TokenKind::kBlockBegin : TokenKind::kOutputBegin, "");
    return Expression(/*is_block=*/type == '%');
  }

  absl::Status Comment() {
    const size_t end = source_.find("#}", position_);
    if (end == npos) return Error("a comment without end");
    const char sign = end > position_ ? source_[end - 1] : '\0';
    MoveTo(TrimAfter(end + 2, sign, /*is_block=*/true));
    return absl::OkStatus();
  }

  /// Returns the position after `raw %}` if that is next.
  std::optional<size_t> RawTag() const {
    size_t i = SkipSpace(position_);
    if (source_.compare(i, 3, "raw") != 0) return std::nullopt;
    i = SkipSpace(i + 3);
    const char sign = i < source_.size() ? source_[i] : '\0';
    if (sign == '-') ++i;
    if (source_.compare(i, 2, "%}") != 0) return std::nullopt;
    return sign == '-' ? SkipSpace(i + 2) : i + 2;
  }

  absl::Status Raw(size_t body) {
    MoveTo(body);
    for (size_t begin = source_.find("{%", body); begin != npos;
         begin = source_.find("{%", begin + 1)) {
      size_t i = begin + 2;
      const char open_sign = i < source_.size() ? source_[i] : '\0';
      if (open_sign == '-' || open_sign == '+') ++i;
      i = SkipSpace(i);
      if (source_.compare(i, 6, "endraw") != 0) continue;
      i = SkipSpace(i + 6);
      const char close_sign = i < source_.size() ? source_[i] : '\0';
      if (close_sign == '-' || close_sign == '+') ++i;
      if (source_.compare(i, 2, "%}") != 0) continue;
      Push(TokenKind::kText, TrimBefore(begin, open_sign, /*is_output=*/false));
      MoveTo(TrimAfter(i + 2, close_sign, /*is_block=*/true));
      return absl::OkStatus();
    }
    return Error("a raw block without end");
  }

  /// Reads the tokens of a tag, to its end.
  absl::Status Expression(bool is_block) {
    const std::string_view close = is_block ? "%}" : "}}";
    std::string open_brackets;
    while (true) {
      MoveTo(SkipSpace(position_));
      if (position_ == source_.size()) return Error("a tag without end");
      const char c = source_[position_];
      if (open_brackets.empty()) {
        const bool has_sign = c == '-' || (c == '+' && is_block);
        if (std::string_view(source_).substr(position_ + has_sign).starts_with(close)) {
          Push(is_block ? TokenKind::kBlockEnd : TokenKind::kOutputEnd, "");
          MoveTo(TrimAfter(position_ + has_sign + 2, c, is_block));
          return absl::OkStatus();
        }
      }
      if (IsDigit(c)) {
        SHORTLIST_RETURN_IF_ERROR(Number());
      } else if (IsNameStart(c)) {
        size_t end = position_ + 1;
        while (end < source_.size() && IsNamePart(source_[end])) ++end;
        Push(TokenKind::kName, source_.substr(position_, end - position_));
        position_ = end;
      } else if (c == '\'' || c == '"') {
        SHORTLIST_RETURN_IF_ERROR(String(c));
      } else {
        SHORTLIST_RETURN_IF_ERROR(Punctuation(open_brackets));
      }
    }
  }

  absl::Status Punctuation(std::string& open_brackets) {
    static constexpr std::string_view kOperators[] = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ","};
    for (const std::string_view symbol : kOperators) {
      if (!LooksAt(symbol)) continue;
      const char c = symbol[0];
      if (c == '(' || c == '[' || c == '{') open_brackets += c;
      if (c == ')' || c == ']' || c == '}') {
        const char open = c == ')' ? '(' : c == ']' ? '[' : '{';
        if (!open_brackets.ends_with(open))
          return Error(absl::StrCat("unexpected '", std::string(1, c), "'"));
        open_brackets.pop_back();
      }
      Push(TokenKind::kOperator, std::string(symbol));
      position_ += symbol.size();
      return absl::OkStatus();
    }
    size_t end = position_;
    NextCodePoint(source_, end);
    return Error(
        absl::StrCat("unexpected character '", source_.substr(position_, end - position_), "'"));
  }

  /// Reads a decimal number; one "_" may stand between two digits.
  absl::Status Number() {
    size_t end = position_;
    const auto at = [&](size_t i) { return i < source_.size() ? source_[i] : '\0'; };
    const auto digits = [&] {
      const size_t begin = end;
      while (end < source_.size() && (IsDigit(source_[end]) ||
                                      (source_[end] == '_' && end > begin && IsDigit(at(end + 1)))))
        ++end;
      return end > begin;
    };
    digits();
    bool is_float = false;
    const bool after_dot = position_ > 0 && source_[position_ - 1] == '.';  // the 0 of a.0.1
    if (!after_dot && at(end) == '.' && IsDigit(at(end + 1))) {
      is_float = true;
      ++end;
      digits();
    }
    const bool signed_exponent = at(end + 1) == '+' || at(end + 1) == '-';
    if (!after_dot && (at(end) == 'e' || at(end) == 'E') &&
        IsDigit(at(end + 1 + signed_exponent))) {
      is_float = true;
      end += 1 + signed_exponent;
      digits();
    }
    const std::string_view spelled = std::string_view(source_).substr(position_, end - position_);
    const bool has_leading_zero = !is_float && spelled.starts_with('0') &&
                                  spelled.find_first_not_of("0_") != std::string_view::npos;
    if (IsNamePart(at(end))) {
      return Error(
          absl::StrCat("the number ", std::string(spelled), " is followed by a letter or digit"));
    }
    if (has_leading_zero)
      return Error(absl::StrCat("the number ", std::string(spelled), " begins with 0"));
    std::string value = source_.substr(position_, end - position_);
    std::erase(value, '_');
    Push(is_float ? TokenKind::kFloat : TokenKind::kInteger, std::move(value));
    position_ = end;
    return absl::OkStatus();
  }

  absl::Status String(char quote) {
    size_t end = position_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) return Error("a string without end");
    SHORTLIST_ASSIGN_OR_RETURN(std::string value, Unescape(position_ + 1, end));
    Push(TokenKind::kString, std::move(value));
    MoveTo(end + 1);
    return absl::OkStatus();
  }

  /// Converts Python's escapes in source_[begin, end). An unknown escape is kept, with its
  /// backslash.
  absl::StatusOr<std::string> Unescape(size_t begin, size_t end) const {
    std::string out;
    for (size_t i = begin; i < end; ++i) {
      if (source_[i] != '\\') {
        out += source_[i];
        continue;
      }
      const char c = source_[++i];
      static constexpr std::string_view kNames = "abfnrtv\\'\"";
      static constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"";
      if (const size_t named = kNames.find(c); named != npos) {
        out += kMeanings[named];
      } else if (c == '\n') {
        continue;
      } else if (c == 'x' || c == 'u' || c == 'U' || (c >= '0' && c <= '7')) {
        SHORTLIST_RETURN_IF_ERROR(UnescapeNumber(c, end, i, out));
      } else if (c == 'N') {
        return Error("escapes by name (\\N{...}) are not supported");
      } else {
        out += '\\';
        out += c;
      }
    }
    return out;
  }

  /// Converts \xhh, \uhhhh, \Uhhhhhhhh and \ooo. `i` is at the letter or first digit, and moves to
  /// the last digit.
  absl::Status UnescapeNumber(char c, size_t end, size_t& i, std::string& out) const {
    char32_t code = 0;
    if (c >= '0' && c <= '7') {
      size_t stop = i;
      while (stop < end && stop < i + 3 && source_[stop] >= '0' && source_[stop] <= '7') {
        code = code * 8 + static_cast<char32_t>(source_[stop++] - '0');
      }
      i = stop - 1;
    } else {
      const size_t num_digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
      for (size_t k = 1; k <= num_digits; ++k) {
        const int digit = i + k < end ? HexDigitValue(source_[i + k]) : -1;
        if (digit < 0) return Error("a truncated escape in a string");
        code = code << 4 | static_cast<char32_t>(digit);
      }
      i += num_digits;
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      return Error("an escape in a string that is no Unicode character");
    }
    AppendCodePoint(code, out);
    return absl::OkStatus();
  }

  const std::string source_;
  size_t position_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

absl::StatusOr<std::vector<Token>> Tokenize(std::string_view source) {
  return Lexer(NormalizeLineEnds(source)).Run();
}

}  // namespace shortlist::jinja
