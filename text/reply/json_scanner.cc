#include "text/reply/json_scanner.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/hex.h"
#include "base/utf8.h"
#include "text/reply/mark_finder.h"

namespace shortlist {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Where a text stops being a prefix of a number, and whether it may end there.
struct NumberPrefix {
  size_t size = 0;
  bool is_whole = false;
};

NumberPrefix ReadNumber(std::string_view text) {
  size_t at = 0;
  const auto digits = [&] {
    const size_t begin = at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    return at > begin;
  };
  if (at < text.size() && text[at] == '-') ++at;
  if (at < text.size() && text[at] == '0') {
    ++at;
  } else if (!digits()) {
    return {at, false};
  }
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!digits()) return {at, false};
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (!digits()) return {at, false};
  }
  return {at, true};
}

// A number is read anew with each byte, so its length is limited. The longest number that means
// something as a double has about 330 digits.
constexpr size_t kMaxScalarBytes = 400;
constexpr std::string_view kWords[] = {"true", "false", "null"};

}  // namespace

bool IsScalarPrefix(std::string_view text) {
  for (const std::string_view word : kWords) {
    if (word.substr(0, text.size()) == text) return true;
  }
  return ReadNumber(text).size == text.size();
}

bool IsJsonScalar(std::string_view text) {
  for (const std::string_view word : kWords) {
    if (word == text) return true;
  }
  const NumberPrefix number = ReadNumber(text);
  return number.is_whole && number.size == text.size();
}

void AppendAsUtf8(uint32_t code_point, std::string& text) {
  if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point < 0xE000)) {
    text += kReplacementCharacter;
  } else if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else {
    const int num_more = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
    const uint32_t lead = num_more == 1 ? 0xC0 : num_more == 2 ? 0xE0 : 0xF0;
    text += static_cast<char>(lead | code_point >> (6 * num_more));
    for (int i = num_more - 1; i >= 0; --i) {
      text += static_cast<char>(0x80 | (code_point >> (6 * i) & 0x3F));
    }
  }
}

void AppendJsonEscaped(std::string_view text, std::string& json) {
  static constexpr char kHex[] = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (c == '\n') {
      json += "\\n";
    } else if (c == '\t') {
      json += "\\t";
    } else if (c == '\r') {
      json += "\\r";
    } else if (byte < 0x20) {
      json += "\\u00";
      json += kHex[byte >> 4];
      json += kHex[byte & 15];
    } else {
      json += c;
    }
  }
}

JsonStep JsonScanner::Read(char c, std::string& out) {
  if (state_ == State::kString || state_ == State::kEscape || state_ == State::kHex) {
    const JsonStep step = ReadString(c);
    if (step == JsonStep::kBad) return step;
    if (state_ == State::kString && static_cast<unsigned char>(c) < 0x20) {
      AppendJsonEscaped({&c, 1}, out);
    } else {
      out += c;
    }
    return step;
  }
  if (state_ == State::kScalar) {
    scalar_ += c;
    if (scalar_.size() <= kMaxScalarBytes && IsScalarPrefix(scalar_)) {
      out += c;
      return JsonStep::kMore;
    }
    scalar_.pop_back();
    if (!IsJsonScalar(scalar_)) return JsonStep::kBad;
    scalar_.clear();
    if (EndValue() == JsonStep::kEnd) return JsonStep::kEndBefore;
  }
  if (IsWhiteSpace(c)) {
    out += c;
    return JsonStep::kMore;
  }
  const JsonStep step = ReadStructure(c);
  if (step != JsonStep::kBad) out += c;
  return step;
}

JsonStep JsonScanner::ReadStructure(char c) {
  switch (state_) {
    case State::kFirstElement:
      if (c == ']') return EndValue();
      return Begin(c);
    case State::kValue:
      return Begin(c);
    case State::kFirstKey:
      if (c == '}') return EndValue();
      [[fallthrough]];
    case State::kKey:
      if (c != '"') return JsonStep::kBad;
      is_key_ = true;
      state_ = State::kString;
      return JsonStep::kMore;
    case State::kColon:
      if (c != ':') return JsonStep::kBad;
      state_ = State::kValue;
      return JsonStep::kMore;
    default:
      return ReadAfterValue(c);
  }
}

JsonStep JsonScanner::ReadAfterValue(char c) {
  const bool in_object = in_object_.back();
  if (c == ',') {
    state_ = in_object ? State::kKey : State::kValue;
    return JsonStep::kMore;
  }
  if (c != (in_object ? '}' : ']')) return JsonStep::kBad;
  return EndValue();
}

JsonStep JsonScanner::Begin(char c) {
  if (c == '{' || c == '[') {
    in_object_.push_back(c == '{');
    state_ = c == '{' ? State::kFirstKey : State::kFirstElement;
  } else if (c == '"') {
    is_key_ = false;
    state_ = State::kString;
  } else {
    scalar_ = c;
    state_ = State::kScalar;
    if (!IsScalarPrefix(scalar_)) return JsonStep::kBad;
  }
  return JsonStep::kMore;
}

// A value has ended, perhaps with its closing bracket.
JsonStep JsonScanner::EndValue() {
  const bool is_container =
      state_ == State::kFirstElement || state_ == State::kFirstKey || state_ == State::kAfterValue;
  if (is_container) in_object_.pop_back();
  state_ = State::kAfterValue;
  return in_object_.empty() ? JsonStep::kEnd : JsonStep::kMore;
}

JsonStep JsonScanner::ReadString(char c) {
  if (state_ == State::kHex) {
    if (HexDigitValue(c) < 0) return JsonStep::kBad;
    if (--num_hex_ == 0) state_ = State::kString;
  } else if (state_ == State::kEscape) {
    if (std::string_view("\"\\/bfnrtu").find(c) == std::string_view::npos) return JsonStep::kBad;
    state_ = c == 'u' ? State::kHex : State::kString;
    num_hex_ = 4;
  } else if (c == '\\') {
    state_ = State::kEscape;
  } else if (c == '"') {
    if (!is_key_) return EndValue();
    state_ = State::kColon;
  }
  return JsonStep::kMore;
}

void SurrogateJoiner::Append(uint32_t code, std::string& text) {
  if (high_ != 0 && code >= 0xDC00 && code < 0xE000) {
    AppendAsUtf8(0x10000 + ((high_ - 0xD800) << 10) + (code - 0xDC00), text);
    high_ = 0;
    return;
  }
  End(text);
  if (code >= 0xD800 && code < 0xDC00) {
    high_ = code;
  } else {
    AppendAsUtf8(code, text);
  }
}

void SurrogateJoiner::End(std::string& text) {
  if (high_ != 0) text += kReplacementCharacter;
  high_ = 0;
}

JsonStep JsonStringReader::Read(char c, std::string& text) {
  if (in_escape_) return ReadEscape(c, text);
  if (c == '\\') {
    in_escape_ = true;
    return JsonStep::kMore;
  }
  surrogates_.End(text);
  if (c == '"') return JsonStep::kEnd;
  text += c;
  return JsonStep::kMore;
}

JsonStep JsonStringReader::ReadEscape(char c, std::string& text) {
  if (num_hex_ > 0) {
    const int digit = HexDigitValue(c);
    if (digit < 0) return JsonStep::kBad;
    unit_ = unit_ << 4 | static_cast<uint32_t>(digit);
    if (--num_hex_ > 0) return JsonStep::kMore;
    surrogates_.Append(unit_, text);
  } else if (c == 'u') {
    num_hex_ = 4;
    unit_ = 0;
    return JsonStep::kMore;
  } else {
    static constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const size_t at = kNames.find(c);
    if (at == std::string_view::npos) return JsonStep::kBad;
    surrogates_.End(text);
    text += kMeanings[at];
  }
  in_escape_ = false;
  return JsonStep::kMore;
}

}  // namespace shortlist
