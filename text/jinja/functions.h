#ifndef SHORTLIST_TEXT_JINJA_FUNCTIONS_H_
#define SHORTLIST_TEXT_JINJA_FUNCTIONS_H_

#include <ctime>
#include <string_view>

#include "absl/status/statusor.h"
#include "text/jinja/arguments.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

/// range, namespace, dict, raise_exception, strftime_now.
bool HasFunction(std::string_view name);
/// Needs HasFunction. InvalidArgument holds the message of raise_exception.
absl::StatusOr<Value> CallFunction(std::string_view name, const Arguments& arguments,
                                   const std::tm& now);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_FUNCTIONS_H_
