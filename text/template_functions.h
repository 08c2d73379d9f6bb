#ifndef SHORTLIST_TEXT_TEMPLATE_FUNCTIONS_H_
#define SHORTLIST_TEXT_TEMPLATE_FUNCTIONS_H_

#include <ctime>
#include <string_view>

#include "absl/status/statusor.h"
#include "text/template_methods.h"
#include "text/template_value.h"

namespace shortlist::jinja {

/// range, namespace, dict, raise_exception, strftime_now.
bool HasFunction(std::string_view name);
/// Needs HasFunction. InvalidArgument holds the message of raise_exception.
absl::StatusOr<Value> CallFunction(std::string_view name, const Arguments& arguments,
                                   const std::tm& now);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_TEMPLATE_FUNCTIONS_H_
