#ifndef SHORTLIST_TEXT_JINJA_FILTER_GROUPS_H_
#define SHORTLIST_TEXT_JINJA_FILTER_GROUPS_H_

#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "text/jinja/arguments.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

struct NamedFilter {
  std::string_view name;
  absl::StatusOr<Value> (*apply)(const Value& input, const Arguments& arguments);
};

// All filters; each group has a file of its own. Their names are distinct.

/// Filters that return a text: trim, replace, tojson, ...
std::span<const NamedFilter> TextFilters();
/// Filters of one value: int, round, default, ...
std::span<const NamedFilter> ScalarFilters();
/// Filters of a value with elements: join, map, selectattr, sort, ...
std::span<const NamedFilter> SequenceFilters();

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_FILTER_GROUPS_H_
