#ifndef SHORTLIST_TEXT_JINJA_METHODS_H_
#define SHORTLIST_TEXT_JINJA_METHODS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "text/jinja/arguments.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

/// True for the supported methods of str, list, dict and `loop`, with Python's names and meanings.
/// None of them changes its receiver.
bool HasMethod(const Value& receiver, std::string_view name);
/// True for Python's methods that change a list or a dictionary in place.
bool ChangesReceiver(const Value& receiver, std::string_view name);
/// Calls the method `name`. Requires HasMethod(receiver, name).
absl::StatusOr<Value> CallMethod(const Value& receiver, std::string_view name,
                                 const Arguments& arguments);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_METHODS_H_
