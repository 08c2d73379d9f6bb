#include "grammar/decimal.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

/// Returns the decimal of `digits`, with the point after `num_whole` of them, which may be outside.
Decimal FromDigits(bool negative, std::string digits, int num_whole) {
  if (num_whole <= 0) {
    digits.insert(0, 1 - num_whole, '0');
    num_whole = 1;
  }
  if (num_whole > static_cast<int>(digits.size())) digits.resize(num_whole, '0');
  Decimal decimal{negative, digits.substr(0, num_whole), digits.substr(num_whole)};
  decimal.whole.erase(0, std::min(decimal.whole.find_first_not_of('0'), decimal.whole.size() - 1));
  decimal.fraction.erase(decimal.fraction.find_last_not_of('0') + 1);
  if (decimal.whole == "0" && decimal.fraction.empty()) decimal.negative = false;
  return decimal;
}

/// `digits` + 1.
std::string Increment(std::string digits) {
  const size_t last = digits.find_last_not_of('9');
  std::fill(digits.begin() + static_cast<std::ptrdiff_t>(last + 1), digits.end(), '0');
  if (last == digits.npos) return "1" + digits;
  ++digits[last];
  return digits;
}

/// `digits` - 1; these are above zero.
std::string Decrement(std::string digits) {
  const size_t last = digits.find_last_not_of('0');
  std::fill(digits.begin() + static_cast<std::ptrdiff_t>(last + 1), digits.end(), '9');
  --digits[last];
  return digits;
}

}  // namespace

Decimal DecimalOf(const ordered_json& number) {
  std::string text = number.dump();
  const bool negative = text.starts_with('-');
  if (negative) text.erase(0, 1);
  const size_t e = text.find('e');
  const int exponent = e == text.npos ? 0 : std::atoi(text.c_str() + e + 1);
  text.resize(std::min(e, text.size()));
  const size_t point = std::min(text.find('.'), text.size());
  std::string digits = text.substr(0, point);
  if (point < text.size()) digits += std::string_view(text).substr(point + 1);
  return FromDigits(negative, std::move(digits), static_cast<int>(point) + exponent);
}

Decimal BoundOf(const ordered_json& number, bool up) {
  constexpr double kImprecise = 9223372036854775808.0;
  if (!number.is_number_float()) return DecimalOf(number);
  const double value = number.get<double>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double next = std::nextafter(value, up ? kInfinity : -kInfinity);
  return DecimalOf(std::abs(value) >= kImprecise && std::isfinite(next) ? next : value);
}

std::strong_ordering Compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) {
    return a.negative ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  const Decimal& low = a.negative ? b : a;
  const Decimal& high = a.negative ? a : b;
  if (low.whole.size() != high.whole.size()) return low.whole.size() <=> high.whole.size();
  if (low.whole != high.whole) return low.whole <=> high.whole;
  return low.fraction <=> high.fraction;
}

Decimal NearestInteger(const Decimal& number, bool up, bool exclusive) {
  const bool is_integer = number.fraction.empty();
  if (is_integer && !exclusive) return number;
  const bool is_zero = number.whole == "0" && is_integer;
  const bool negative = is_zero ? !up : number.negative;
  const bool away_from_zero = negative != up;
  std::string whole = number.whole;
  if (away_from_zero) {
    whole = Increment(whole);
  } else if (is_integer) {
    whole = Decrement(whole);
  }
  const int num_digits = static_cast<int>(whole.size());
  return FromDigits(negative, std::move(whole), num_digits);
}

std::optional<bool> IsMultiple(const Decimal& number, const Decimal& divisor) {
  const std::string digits = divisor.whole + divisor.fraction;
  if (digits.size() > 17 || divisor.negative) return std::nullopt;
  const int64_t modulus = std::atoll(digits.c_str());
  if (modulus == 0) return std::nullopt;
  if (number.fraction.size() > divisor.fraction.size()) return false;
  int64_t remainder = 0;
  const std::string zeros(divisor.fraction.size() - number.fraction.size(), '0');
  for (const char digit : number.whole + number.fraction + zeros) {
    remainder = (remainder * 10 + (digit - '0')) % modulus;
  }
  return remainder == 0;
}

}  // namespace shortlist
