#ifndef SHORTLIST_GRAMMAR_DECIMAL_H_
#define SHORTLIST_GRAMMAR_DECIMAL_H_

#include <compare>
#include <optional>
#include <string>

#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// An exact decimal number.
struct Decimal {
  bool negative = false;  // never for zero
  std::string whole;      // digits before the point: no leading zeros, "0" alone
  std::string fraction;   // digits after the point: no trailing zeros

  bool operator==(const Decimal&) const = default;
};

/// Returns the value of a JSON number. Of a double that is the shortest decimal that reads back as
/// the double.
Decimal DecimalOf(const nlohmann::ordered_json& number);

/// Returns a bound that is not below (`up`) or not above the number that a JSON text meant. From
/// 2^63 on a double may stand for any near integer: the result is the next double in that
/// direction. Other numbers are exact.
Decimal BoundOf(const nlohmann::ordered_json& number, bool up);

/// Orders decimals by value.
std::strong_ordering Compare(const Decimal& a, const Decimal& b);

/// Returns the nearest integer that is not below (`up`) or not above `number`. `exclusive`: the
/// nearest one above or below `number`.
Decimal NearestInteger(const Decimal& number, bool up, bool exclusive);

/// True if `number` is a multiple of `divisor`; nullopt if that is not above zero or has more than
/// 17 digits.
std::optional<bool> IsMultiple(const Decimal& number, const Decimal& divisor);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_DECIMAL_H_
