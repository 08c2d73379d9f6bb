#ifndef SHORTLIST_TEXT_JINJA_OPERATORS_H_
#define SHORTLIST_TEXT_JINJA_OPERATORS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "text/jinja/ast.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

// Python's operators. InvalidArgument for kinds that they do not take, division by zero, integers
// beyond 64 bits, and powers that are complex or too large for a float; an undefined operand fails
// with its own message.

/// The error of an integer that does not fit 64 bits.
absl::Status BeyondInt64();

/// + - * / // % **
absl::StatusOr<Value> Arithmetic(Operator op, const Value& left, const Value& right);
/// == != < <= > >= in, not in
absl::StatusOr<bool> Compare(Operator op, const Value& left, const Value& right);
absl::StatusOr<bool> Contains(const Value& container, const Value& item);
absl::StatusOr<Value> Negate(const Value& value);

/// value[key]: undefined when there is none. Methods are found too, after keys.
absl::StatusOr<Value> GetItem(const Value& value, const Value& key);
/// value.name: methods first, then keys, as Jinja looks it up. Undefined for anything else, all
/// that begins with "__" and all that changes a value included.
absl::StatusOr<Value> GetAttribute(const Value& value, std::string_view name);
/// value[begin:end:step], None for a bound that is left out.
absl::StatusOr<Value> GetSlice(const Value& value, const Value& begin, const Value& end,
                               const Value& step);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_OPERATORS_H_
