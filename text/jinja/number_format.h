#ifndef SHORTLIST_TEXT_JINJA_NUMBER_FORMAT_H_
#define SHORTLIST_TEXT_JINJA_NUMBER_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

/// Format of a number, from a format specification or a % conversion.
struct NumberStyle {
  char sign = '\0';           // before a number that is not negative: '+', ' ', or none
  bool is_alternate = false;  // "0x" and the like
  bool pads_zeros = false;
  char grouping = '\0';              // between thousands: ',', '_', or none
  std::optional<int64_t> precision;  // of a float
  char type = '\0';                  // b d o x X e E f F g G %; '\0': as Python prints it
};

struct SpelledNumber {
  std::string sign;  // with the prefix of a base
  std::string digits;
};

/// Spells an int, a bool (as an int) or a float. InvalidArgument for a type that the value does not
/// have, and for two features that are not supported: a float's precision without a type, and '#'
/// of a float.
absl::StatusOr<SpelledNumber> SpellNumber(const Value& value, const NumberStyle& style);

/// Returns the error for a float without an integer value.
absl::Status BeyondIntegers();

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_NUMBER_FORMAT_H_
