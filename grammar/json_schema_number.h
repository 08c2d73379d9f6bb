#ifndef SHORTLIST_GRAMMAR_JSON_SCHEMA_NUMBER_H_
#define SHORTLIST_GRAMMAR_JSON_SCHEMA_NUMBER_H_

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grammar/expressions.h"
#include "grammar/json_schema_keywords.h"
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
/// the double. From 2^63 on, where such a double may stand for any near integer, it is the next
/// double away from zero (`away_from_zero`) or towards it.
Decimal DecimalOf(const nlohmann::ordered_json& number, bool away_from_zero = false);

/// Orders decimals by value.
std::strong_ordering Compare(const Decimal& a, const Decimal& b);

/// True if `number` is a multiple of `divisor`; nullopt if that is not above zero or has more than
/// 17 digits.
std::optional<bool> IsMultiple(const Decimal& number, const Decimal& divisor);

struct NumberBound {
  Decimal value;
  bool exclusive = false;
};

/// What a schema says about a number. All of it must hold.
struct NumberLimits {
  JsonTypes types = kNumberType;  // integers, other numbers, or both
  std::vector<NumberBound> minimums, maximums;
  std::vector<Decimal> multiples;  // each above zero

  /// True if all numbers of `types` are allowed.
  bool empty() const { return minimums.empty() && maximums.empty() && multiples.empty(); }
};

/// Returns the texts of the numbers within `limits`. Numbers have no exponent; an integer has no
/// point, unless other numbers are allowed too.
/// Between any two texts of different value, the doubles that they read as are different too, if
/// one of them is a bound. Calls no rule.
///
/// InvalidArgument if a multiple needs too many states (about its digits, up to 1,000).
absl::StatusOr<ExprId> NumberTexts(Expressions& expressions, const NumberLimits& limits);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_JSON_SCHEMA_NUMBER_H_
