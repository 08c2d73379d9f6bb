#include "text/jinja/number_format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/jinja/print.h"

namespace shortlist::jinja {
namespace {

constexpr int64_t kMaxPrecision = 100;

absl::Status NoType(const Value& value, char type) {
  return absl::InvalidArgumentError(
      absl::StrCat("format: no type '", std::string(1, type), "' of a ", value.TypeName()));
}

bool IsOneOf(char c, std::string_view all) { return c != '\0' && all.find(c) != all.npos; }

std::string InBase(uint64_t number, unsigned base, bool upper) {
  const char* const digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string reversed;
  do {
    reversed += digits[number % base];
    number /= base;
  } while (number > 0);
  return {reversed.rbegin(), reversed.rend()};
}

/// Puts `separator` between every three digits before a point, an exponent or the end.
void Group(std::string& digits, char separator) {
  const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  for (size_t i = whole; i > 3; i -= 3) digits.insert(i - 3, 1, separator);
}

absl::StatusOr<SpelledNumber> SpellInteger(const Value& value, const NumberStyle& style) {
  const int64_t number = *value.AsInt();
  if (style.precision) return absl::InvalidArgumentError("format: a precision of an int");
  const bool is_upper = style.type == 'X';
  const unsigned base = style.type == 'b'                        ? 2
                        : style.type == 'o'                      ? 8
                        : style.type == 'x' || style.type == 'X' ? 16
                                                                 : 10;
  if (base != 10 && style.grouping != '\0') return NoType(value, style.grouping);
  const uint64_t size = number < 0 ? -static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  SpelledNumber spelled{.digits = InBase(size, base, is_upper)};
  if (number < 0) {
    spelled.sign = "-";
  } else if (style.sign != '\0') {
    spelled.sign = style.sign;
  }
  if (style.is_alternate && base != 10)
    absl::StrAppend(&spelled.sign, "0", std::string(1, style.type));
  if (style.grouping != '\0') Group(spelled.digits, style.grouping);
  return spelled;
}

absl::StatusOr<SpelledNumber> SpellFloat(const Value& value, const NumberStyle& style) {
  double number = *value.AsFloat();
  if (style.is_alternate) return absl::InvalidArgumentError("format: '#' of a float");
  const int64_t precision = style.precision.value_or(6);
  if (precision > kMaxPrecision) {
    return absl::InvalidArgumentError(
        absl::StrCat("format: precision ", precision, " above ", kMaxPrecision));
  }
  SpelledNumber spelled;
  if (std::signbit(number) && !std::isnan(number)) {
    spelled.sign = "-";
  } else if (style.sign != '\0') {
    spelled.sign = style.sign;
  }
  number = std::abs(number);
  if (style.type == '\0') {
    if (style.precision) {
      return absl::InvalidArgumentError("format: a float's precision without 'e', 'f' or 'g'");
    }
    spelled.digits = FloatRepr(number);
  } else {
    const bool is_percent = style.type == '%';
    const char pattern[] = {'%', '.', '*', is_percent ? 'f' : style.type, '\0'};
    char buffer[512];
    std::snprintf(buffer, sizeof(buffer), pattern, static_cast<int>(precision),
                  is_percent ? number * 100 : number);
    spelled.digits = buffer;
    if (is_percent) spelled.digits += '%';
  }
  if (style.grouping != '\0') Group(spelled.digits, style.grouping);
  return spelled;
}

}  // namespace

absl::Status BeyondIntegers() {
  return absl::InvalidArgumentError("format: a float that is beyond the range of an int");
}

absl::StatusOr<SpelledNumber> SpellNumber(const Value& value, const NumberStyle& style) {
  const bool is_float_type = IsOneOf(style.type, "eEfFgG%");
  const bool is_integer_type = IsOneOf(style.type, "bdoxX");
  if (style.type != '\0' && !is_float_type && !is_integer_type) return NoType(value, style.type);
  if (value.AsInt() && !is_float_type) return SpellInteger(value, style);
  if (is_integer_type) return NoType(value, style.type);
  return SpellFloat(value, style);
}

}  // namespace shortlist::jinja
