#ifndef SHORTLIST_TEXT_JINJA_FILTERS_H_
#define SHORTLIST_TEXT_JINJA_FILTERS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "text/jinja/arguments.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

bool HasFilter(std::string_view name);
/// input | name(arguments), as Jinja 3.1 has it with transformers' tojson. A generator is
/// gone through when another is made of it, not when that one is read. InvalidArgument for an
/// unknown filter.
absl::StatusOr<Value> ApplyFilter(std::string_view name, const Value& input,
                                  const Arguments& arguments);

/// True for filters that look into the elements of a list; the others take it as a whole.
bool ReadsElements(std::string_view filter);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_FILTERS_H_
