#include "grammar/ebnf_scanner.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

bool IsInName(char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; }

bool IsContinuation(char c) { return (c & 0xC0) == 0x80; }

bool IsScalarValue(uint32_t code) { return code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF); }

}  // namespace

void AppendCodePoint(uint32_t code_point, std::string& bytes) {
  const auto append = [&](uint32_t byte) { bytes.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    append(code_point);
    return;
  }
  const int num_more = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  constexpr uint32_t kLeads[] = {0xC0, 0xE0, 0xF0};
  append(kLeads[num_more - 1] | code_point >> (6 * num_more));
  for (int i = num_more - 1; i >= 0; --i) append(0x80 | (code_point >> (6 * i) & 0x3F));
}

absl::Status EbnfScanner::ErrorAt(size_t place, std::string_view message) const {
  const std::string_view before = text_.substr(0, place);
  const size_t line_begin = before.rfind('\n') + 1;  // 0 if there is none
  const auto line = std::ranges::count(before, '\n') + 1;
  const auto column =
      std::ranges::count_if(before.substr(line_begin), [](char c) { return !IsContinuation(c); }) +
      1;
  const absl::string_view text(message.data(), message.size());
  return absl::InvalidArgumentError(
      absl::StrCat("grammar, line ", line, ", column ", column, ": ", text));
}

bool EbnfScanner::IsAtRule() const {
  EbnfScanner ahead = *this;
  if (ahead.ReadName().empty()) return false;
  ahead.SkipSpace();
  return ahead.Accept("::=");
}

void EbnfScanner::SkipSpace() {
  while (!IsAtEnd()) {
    if (Peek() == '#') {
      place_ = std::min(text_.find('\n', place_), text_.size());
    } else if (absl::ascii_isspace(Peek())) {
      ++place_;
    } else {
      break;
    }
  }
}

bool EbnfScanner::Accept(std::string_view expected) {
  if (!text_.substr(place_).starts_with(expected)) return false;
  place_ += expected.size();
  return true;
}

std::string_view EbnfScanner::ReadName() {
  const size_t begin = place_;
  while (IsInName(Peek()) || (place_ > begin && Peek() == '.' && IsInName(PeekAfter()))) ++place_;
  return text_.substr(begin, place_ - begin);
}

std::optional<int64_t> EbnfScanner::ReadNumber() {
  if (!absl::ascii_isdigit(Peek())) return std::nullopt;
  constexpr int64_t kLarge = 1'000'000'000'000'000;
  int64_t number = 0;
  for (; absl::ascii_isdigit(Peek()); ++place_) {
    if (number < kLarge) number = number * 10 + (Peek() - '0');
  }
  return number;
}

absl::StatusOr<uint32_t> EbnfScanner::ReadCharacter(std::string_view where) {
  if (IsAtEnd() || Peek() == '\n' || Peek() == '\r') {
    const absl::string_view name(where.data(), where.size());
    return Error(absl::StrCat("the ", name, " is not closed"));
  }
  if (Accept("\\")) return ReadEscape();
  return ReadCodePoint();
}

uint32_t EbnfScanner::ReadCodePoint() {
  const auto lead = static_cast<uint8_t>(text_[place_++]);
  if (lead < 0x80) return lead;
  uint32_t code = lead & (lead < 0xE0 ? 0x1F : lead < 0xF0 ? 0x0F : 0x07);
  for (; IsContinuation(Peek()); ++place_) code = code << 6 | (Peek() & 0x3F);
  return code;
}

absl::StatusOr<uint32_t> EbnfScanner::ReadEscape() {
  if (IsAtEnd()) return Error("expected an escaped character");
  const size_t begin = place_ - 1;
  if (Accept("x")) return ReadHex(2);
  if (Accept("u{") || Accept("U") || Accept("u")) {
    const bool is_braced = text_[place_ - 1] == '{';
    const int num_digits = text_[place_ - 1] == 'U' ? 8 : 4;
    SHORTLIST_ASSIGN_OR_RETURN(const uint32_t code,
                               is_braced ? ReadBracedHex() : ReadHex(num_digits));
    if (!IsScalarValue(code)) return ErrorAt(begin, "the escape is no Unicode character");
    return code;
  }
  constexpr std::string_view kLetters = "nrt0abfve", kValues("\n\r\t\0\a\b\f\v\x1B", 9);
  const size_t index = kLetters.find(Peek());
  if (index != kLetters.npos) {
    ++place_;
    return static_cast<uint8_t>(kValues[index]);
  }
  if (absl::ascii_isalnum(Peek())) return ErrorAt(begin, "unknown escape");
  return ReadCodePoint();
}

absl::StatusOr<uint32_t> EbnfScanner::ReadHex(int num_digits) {
  uint32_t code = 0;
  for (int i = 0; i < num_digits; ++i, ++place_) {
    if (!absl::ascii_isxdigit(Peek())) {
      return Error(absl::StrCat("expected ", num_digits, " hexadecimal digits"));
    }
    code = code << 4 | static_cast<uint32_t>(absl::ascii_isdigit(Peek())
                                                 ? Peek() - '0'
                                                 : absl::ascii_tolower(Peek()) - 'a' + 10);
  }
  return code;
}

/// After `{`, up to `}`.
absl::StatusOr<uint32_t> EbnfScanner::ReadBracedHex() {
  const size_t end = text_.find('}', place_);
  constexpr size_t kMaxDigits = 8;
  if (end == text_.npos || end == place_ || end - place_ > kMaxDigits) {
    return Error("expected 1 to 8 hexadecimal digits and }");
  }
  SHORTLIST_ASSIGN_OR_RETURN(const uint32_t code, ReadHex(static_cast<int>(end - place_)));
  ++place_;
  return code;
}

}  // namespace shortlist
