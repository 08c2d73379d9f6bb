#ifndef SHORTLIST_TEXT_JINJA_NUMBER_FORMAT_H_
#define SHORTLIST_TEXT_JINJA_NUMBER_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

/// How a number is written, as a format specification or a % conversion says it.
struct NumberStyle {
  char sign = '\0';           // before what is not negative: '+', ' ', or nothing
  bool is_alternate = false;  // "0x" and the like
  bool pads_zeros = false;
  char grouping = '\0';              // between thousands: ',', '_', or nothing
  std::optional<int64_t> precision;  // of a float
  char type = '\0';                  // b d o x X e E f F g G %; nothing: as Python prints it
};

struct SpelledNumber {
  std::string sign;  // with the prefix of a base
  std::string digits;
};

/// Spells an int, a bool (as an int) or a float. InvalidArgument for a type that the value does not
/// have, and for what is not supported: a float's precision without a type, '#' of a float.
absl::StatusOr<SpelledNumber> SpellNumber(const Value& value, const NumberStyle& style);

/// The error of a float that has no int.
absl::Status BeyondIntegers();

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_NUMBER_FORMAT_H_
