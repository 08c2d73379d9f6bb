#ifndef SHORTLIST_TEXT_JINJA_OPERATORS_H_
#define SHORTLIST_TEXT_JINJA_OPERATORS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "text/jinja/ast.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

// Python's operators. InvalidArgument for kinds that an operator does not support, division by
// zero, integers beyond 64 bits, and powers that are complex or too large for a float. An undefined
// operand fails with its own message.

/// Returns the error for an integer that does not fit 64 bits.
absl::Status BeyondInt64();

/// + - * / // % **
absl::StatusOr<Value> Arithmetic(Operator op, const Value& left, const Value& right);
/// == != < <= > >= in, not in
absl::StatusOr<bool> Compare(Operator op, const Value& left, const Value& right);
absl::StatusOr<bool> Contains(const Value& container, const Value& item);
absl::StatusOr<Value> Negate(const Value& value);

/// Returns value[key]. A text that is not a key gives GetAttribute(), so methods are found too;
/// anything else gives undefined.
absl::StatusOr<Value> GetItem(const Value& value, const Value& key);
/// Returns value.name, looked up as in Jinja: methods first, then keys. Undefined for anything
/// else, including names that begin with "__" and methods that change a value.
absl::StatusOr<Value> GetAttribute(const Value& value, std::string_view name);
/// Returns value[begin:end:step]; a bound that is left out is None.
absl::StatusOr<Value> GetSlice(const Value& value, const Value& begin, const Value& end,
                               const Value& step);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_OPERATORS_H_
