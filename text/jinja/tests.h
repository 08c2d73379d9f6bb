#ifndef SHORTLIST_TEXT_JINJA_TESTS_H_
#define SHORTLIST_TEXT_JINJA_TESTS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "text/jinja/arguments.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

bool HasTest(std::string_view name);
/// Returns input is name(arguments), as in Jinja 3.1. InvalidArgument for an unknown test.
absl::StatusOr<bool> ApplyTest(std::string_view name, const Value& input,
                               const Arguments& arguments);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_TESTS_H_
