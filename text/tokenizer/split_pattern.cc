#include "text/tokenizer/split_pattern.h"

#include <cstdint>

#include "text/unicode.h"

namespace shortlist {

const std::string_view kGpt2Expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const std::string_view kQwen2Expression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

constexpr std::string_view kLlama3Expression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

enum class Kind : uint8_t { kLetter, kNumber, kSpace, kOther };

Kind KindOf(uint8_t flags) {
  if (flags & kLetter) return Kind::kLetter;
  if (flags & kNumber) return Kind::kNumber;
  return flags & kWhiteSpace ? Kind::kSpace : Kind::kOther;
}

/// Reads a text code point by code point.
class Cursor {
 public:
  Cursor(std::string_view text, size_t at) : text_(text), at_(at), table_(CharTable::Get()) {}

  size_t at() const { return at_; }
  bool done() const { return at_ == text_.size(); }
  char byte() const { return text_[at_]; }
  Kind kind() const {
    size_t next = at_;
    return KindOf(table_.flags(NextChar(text_, next)));
  }
  bool Is(Kind wanted) const { return !done() && kind() == wanted; }
  bool IsNewline() const { return !done() && (byte() == '\n' || byte() == '\r'); }
  void Advance() { at_ += SequenceSize(text_[at_]); }
  void SkipAll(Kind kind_to_skip) {
    while (!done()) {
      size_t next = at_;
      if (KindOf(table_.flags(NextChar(text_, next))) != kind_to_skip) return;
      at_ = next;
    }
  }

 private:
  const std::string_view text_;
  size_t at_;
  const CharTable& table_;
};

/// Returns the length of the contraction that begins at the apostrophe text[from]; 0 if there is
/// none. `ignore_case`: as in regular expressions, where U+017F also matches s.
size_t Contraction(std::string_view text, size_t from, bool ignore_case) {
  const auto letter = [&](size_t i) -> char {
    if (from + i >= text.size()) return '\0';
    const char c = text[from + i];
    return ignore_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  };
  const char first = letter(1), second = letter(2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
      (first == 'l' && second == 'l')) {
    return 3;
  }
  return ignore_case && text.substr(from + 1).starts_with("\xC5\xBF") ? 3 : 0;
}

/// Matches \s+(?!\S)|\s+ at `from`, where white space begins: all of it at the end of the text,
/// otherwise all but the last character, unless that is the only one.
size_t WhiteSpaceEnd(std::string_view text, size_t from) {
  Cursor cursor(text, from);
  cursor.SkipAll(Kind::kSpace);
  if (cursor.done()) return cursor.at();
  const size_t last = CharBefore(text, cursor.at()).begin;
  return last > from ? last : cursor.at();
}

size_t Gpt2PieceEnd(std::string_view text, size_t from) {
  if (text[from] == '\'') {
    if (const size_t size = Contraction(text, from, /*ignore_case=*/false)) return from + size;
  }
  Cursor cursor(text, from);
  if (cursor.byte() == ' ') {
    cursor.Advance();
    if (cursor.done() || cursor.kind() == Kind::kSpace) return WhiteSpaceEnd(text, from);
  }
  const Kind kind = cursor.kind();
  if (kind == Kind::kSpace) return WhiteSpaceEnd(text, from);
  cursor.SkipAll(kind);
  return cursor.at();
}

/// Matches [^\s\p{L}\p{N}]+[\r\n]* at `cursor`, which is on the first of these characters.
size_t OthersEnd(Cursor cursor) {
  cursor.SkipAll(Kind::kOther);
  while (cursor.IsNewline()) cursor.Advance();
  return cursor.at();
}

/// Matches \s*[\r\n]+|\s+(?!\S)|\s+ at `from`, where white space begins.
size_t WhiteSpaceOrLinesEnd(std::string_view text, size_t from) {
  Cursor cursor(text, from);
  size_t after_last_newline = 0;
  while (cursor.Is(Kind::kSpace)) {
    const bool is_newline = cursor.IsNewline();
    cursor.Advance();
    if (is_newline) after_last_newline = cursor.at();
  }
  return after_last_newline > 0 ? after_last_newline : WhiteSpaceEnd(text, from);
}

size_t Llama3PieceEnd(std::string_view text, size_t from, int max_digits) {
  if (text[from] == '\'') {
    if (const size_t size = Contraction(text, from, /*ignore_case=*/true)) return from + size;
  }
  Cursor cursor(text, from);
  const Kind kind = cursor.kind();
  if (kind == Kind::kLetter) {
    cursor.SkipAll(Kind::kLetter);
    return cursor.at();
  }
  if (kind == Kind::kNumber) {
    for (int i = 0; i < max_digits && cursor.Is(Kind::kNumber); ++i) cursor.Advance();
    return cursor.at();
  }
  Cursor next = cursor;
  next.Advance();
  if (!cursor.IsNewline() && next.Is(Kind::kLetter)) {
    next.SkipAll(Kind::kLetter);
    return next.at();
  }
  if (kind == Kind::kOther) return OthersEnd(cursor);
  if (cursor.byte() == ' ' && next.Is(Kind::kOther)) return OthersEnd(next);
  return WhiteSpaceOrLinesEnd(text, from);
}

}  // namespace

std::optional<SplitPattern> FindSplitPattern(std::string_view expression) {
  if (expression == kGpt2Expression) return SplitPattern::kGpt2;
  if (expression == kLlama3Expression) return SplitPattern::kLlama3;
  if (expression == kQwen2Expression) return SplitPattern::kQwen2;
  return std::nullopt;
}

size_t PieceEnd(SplitPattern pattern, std::string_view text, size_t from) {
  switch (pattern) {
    case SplitPattern::kGpt2:
      return Gpt2PieceEnd(text, from);
    case SplitPattern::kLlama3:
      return Llama3PieceEnd(text, from, /*max_digits=*/3);
    case SplitPattern::kQwen2:
      return Llama3PieceEnd(text, from, /*max_digits=*/1);
  }
  return text.size();
}

}  // namespace shortlist
