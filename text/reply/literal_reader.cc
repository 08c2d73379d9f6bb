#include "text/reply/literal_reader.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/hex.h"

namespace shortlist {
namespace {

// Of Python's numbers and words. They are read anew with each byte.
constexpr size_t kMaxTokenBytes = 400;

bool IsTokenByte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
         c == '.' || c == '+' || c == '-';
}

// JSON for a number or word; empty: it is neither.
std::string_view ScalarJson(std::string_view token) {
  if (token == "True") return "true";
  if (token == "False") return "false";
  if (token == "None") return "null";
  return IsJsonScalar(token) ? token : std::string_view();
}

std::string_view WithoutSpace(std::string_view text) {
  const size_t first = text.find_first_not_of(kWhiteSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kWhiteSpace) + 1 - first);
}

}  // namespace

std::string StringMark(LiteralDialect dialect) {
  return dialect == LiteralDialect::kGemma4 ? "<|\"|>" : "<escape>";
}

JsonStep LiteralReader::Read(char c, std::string& out) {
  switch (state_) {
    case State::kValue:
      return ReadValue(c, out);
    case State::kColon:
      if (IsWhiteSpace(c)) return JsonStep::kMore;
      if (c != ':') return JsonStep::kBad;
      out += ": ";
      state_ = State::kValue;
      return JsonStep::kMore;
    case State::kAfterValue:
      return ReadAfterValue(c, out);
    case State::kString:
      return ReadString(c, out);
    case State::kEscape:
      return ReadEscape(c, out);
    case State::kCode:
      return ReadCode(c, out);
    case State::kToken:
      break;
  }
  return ReadToken(c, out);
}

JsonStep LiteralReader::ReadValue(char c, std::string& out) {
  if (IsWhiteSpace(c)) return JsonStep::kMore;
  if (can_close_ && (c == '}' || c == ']' || c == ')')) return Close(c, out);
  can_close_ = false;
  const bool is_bracket = c == '[' || c == '{' || (c == '(' && is_python());
  if (is_bracket && expects_key()) return JsonStep::kBad;
  if (is_bracket) {
    BeginItem(out);
    out += c == '{' ? '{' : '[';
    brackets_.push_back(c);
    has_key_ = false;
    can_close_ = true;
  } else if (is_python() && (c == '"' || c == '\'')) {
    BeginItem(out);
    out += '"';
    quote_ = c;
    state_ = State::kString;
  } else {
    token_.clear();
    state_ = State::kToken;
    return ReadToken(c, out);
  }
  return JsonStep::kMore;
}

void LiteralReader::BeginItem(std::string& out) {
  if (std::exchange(has_comma_, false)) out += ", ";
}

// A key or a value has ended.
JsonStep LiteralReader::EndItem() {
  if (expects_key()) {
    has_key_ = true;
    state_ = State::kColon;
    return JsonStep::kMore;
  }
  has_key_ = false;
  state_ = State::kAfterValue;
  return brackets_.empty() ? JsonStep::kEnd : JsonStep::kMore;
}

JsonStep LiteralReader::ReadAfterValue(char c, std::string& out) {
  if (IsWhiteSpace(c)) return JsonStep::kMore;
  if (c != ',') return Close(c, out);
  has_comma_ = true;
  can_close_ = true;
  state_ = State::kValue;
  return JsonStep::kMore;
}

JsonStep LiteralReader::Close(char c, std::string& out) {
  const char open = brackets_.back();
  if (c != (open == '{' ? '}' : open == '[' ? ']' : ')')) return JsonStep::kBad;
  out += open == '{' ? '}' : ']';
  brackets_.pop_back();
  can_close_ = false;
  has_comma_ = false;
  // What contains it is a list, or an object whose key has been read.
  has_key_ = !brackets_.empty() && brackets_.back() == '{';
  return EndItem();
}

JsonStep LiteralReader::ReadString(char c, std::string& out) {
  if (!is_python()) {
    std::string plain;
    const int mark = string_end_.Read(c, plain);
    AppendJsonEscaped(plain, out);
    if (mark == MarkFinder::kNone) return JsonStep::kMore;
  } else if (c == '\\') {
    state_ = State::kEscape;
    return JsonStep::kMore;
  } else {
    surrogates_.End(out);
    if (c != quote_) {
      AppendJsonEscaped({&c, 1}, out);
      return JsonStep::kMore;
    }
  }
  out += '"';
  return EndItem();
}

// Python's escapes, but for names of characters. JSON's too: models write JSON in Python.
JsonStep LiteralReader::ReadEscape(char c, std::string& out) {
  static constexpr std::string_view kNames = "\\'\"abfnrtv/", kMeanings = "\\'\"\a\b\f\n\r\t\v/";
  state_ = State::kString;
  const bool is_code = c == 'x' || c == 'u' || c == 'U' || (c >= '0' && c <= '7');
  if (!is_code) surrogates_.End(out);
  if (const size_t at = kNames.find(c); at != std::string_view::npos) {
    AppendJsonEscaped(kMeanings.substr(at, 1), out);
  } else if (c == 'x' || c == 'u' || c == 'U') {
    state_ = State::kCode;
    base_ = 16;
    num_digits_ = c == 'x' ? 2 : c == 'u' ? 4 : 8;
    code_ = 0;
  } else if (c >= '0' && c <= '7') {
    state_ = State::kCode;
    base_ = 8;
    num_digits_ = 2;
    code_ = c - '0';
  } else if (c != '\n') {  // a line that goes on
    AppendJsonEscaped("\\", out);
    AppendJsonEscaped({&c, 1}, out);
  }
  return JsonStep::kMore;
}

JsonStep LiteralReader::ReadCode(char c, std::string& out) {
  const int digit = HexDigitValue(c);
  const bool is_digit = digit >= 0 && digit < base_;
  if (!is_digit && base_ == 16) return JsonStep::kBad;
  if (is_digit) code_ = code_ * base_ + digit;
  if (is_digit && --num_digits_ > 0) return JsonStep::kMore;
  std::string text;
  surrogates_.Append(code_, text);
  AppendJsonEscaped(text, out);
  state_ = State::kString;
  return is_digit ? JsonStep::kMore : ReadString(c, out);
}

JsonStep LiteralReader::ReadToken(char c, std::string& out) {
  const bool is_part = is_python()
                           ? IsTokenByte(c)
                           : c != ',' && c != '}' && c != ']' && (c != ':' || !expects_key());
  if (!is_part) {
    if (!EndToken(out)) return JsonStep::kBad;
    if (EndItem() == JsonStep::kEnd) return JsonStep::kEndBefore;
    return Read(c, out);
  }
  token_ += c;
  if (is_python()) {
    return token_.size() <= kMaxTokenBytes ? JsonStep::kMore : JsonStep::kBad;
  }
  if (token_ == StringMark(dialect_)) {
    BeginItem(out);
    out += '"';
    string_end_ = MarkFinder({token_});
    state_ = State::kString;
  }
  return JsonStep::kMore;
}

// False: the token is no value.
bool LiteralReader::EndToken(std::string& out) {
  const std::string_view token = WithoutSpace(token_);
  const std::string_view scalar = ScalarJson(token);
  if (token.empty() || (is_python() && scalar.empty())) return false;
  BeginItem(out);
  if (!scalar.empty() && !expects_key()) {
    out += scalar;
    return true;
  }
  out += '"';
  AppendJsonEscaped(token, out);
  out += '"';
  return true;
}

}  // namespace shortlist
