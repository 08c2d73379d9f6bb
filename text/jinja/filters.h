#ifndef SHORTLIST_TEXT_JINJA_FILTERS_H_
#define SHORTLIST_TEXT_JINJA_FILTERS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "text/jinja/arguments.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

bool HasFilter(std::string_view name);
/// Returns input | name(arguments), as in Jinja 3.1 with transformers' tojson. A filter that makes
/// a new generator of a generator reads the old one at once, not when the new one is read.
/// InvalidArgument for an unknown filter.
absl::StatusOr<Value> ApplyFilter(std::string_view name, const Value& input,
                                  const Arguments& arguments);

/// True for filters that read the elements of a list; the others take the list as a whole.
bool ReadsElements(std::string_view filter);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_FILTERS_H_
