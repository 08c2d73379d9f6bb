#ifndef SHORTLIST_TEXT_JINJA_FUNCTIONS_H_
#define SHORTLIST_TEXT_JINJA_FUNCTIONS_H_

#include <ctime>
#include <string_view>

#include "absl/status/statusor.h"
#include "text/jinja/arguments.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

/// True for range, namespace, dict, raise_exception and strftime_now.
bool HasFunction(std::string_view name);
/// Requires HasFunction(name). The InvalidArgument of raise_exception holds its message.
absl::StatusOr<Value> CallFunction(std::string_view name, const Arguments& arguments,
                                   const std::tm& now);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_FUNCTIONS_H_
