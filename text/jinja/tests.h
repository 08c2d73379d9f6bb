#ifndef SHORTLIST_TEXT_JINJA_TESTS_H_
#define SHORTLIST_TEXT_JINJA_TESTS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "text/jinja/arguments.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

bool HasTest(std::string_view name);
/// input is name(arguments), as Jinja 3.1 has it. InvalidArgument for an unknown test.
absl::StatusOr<bool> ApplyTest(std::string_view name, const Value& input,
                               const Arguments& arguments);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_TESTS_H_
