#include "text/jinja/filters.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "text/jinja/filter_groups.h"

namespace shortlist::jinja {
namespace {

using FilterMap = std::map<std::string_view, const NamedFilter*>;

const FilterMap& Filters() {
  static const FilterMap* const filters = [] {
    auto* all = new FilterMap;
    for (const auto group : {TextFilters(), ScalarFilters(), SequenceFilters()}) {
      for (const NamedFilter& filter : group) all->emplace(filter.name, &filter);
    }
    return all;
  }();
  return *filters;
}

}  // namespace

bool HasFilter(std::string_view name) { return Filters().contains(name); }

absl::StatusOr<Value> ApplyFilter(std::string_view name, const Value& input,
                                  const Arguments& arguments) {
  const auto found = Filters().find(name);
  if (found == Filters().end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("filter '", std::string(name.substr(0, 40)), "' is not supported"));
  }
  return found->second->apply(input, arguments);
}

bool ReadsElements(std::string_view filter) {
  static constexpr std::string_view kWhole[] = {"count", "d",    "default", "first",  "items",
                                                "last",  "list", "length",  "reverse"};
  return std::find(std::begin(kWhole), std::end(kWhole), filter) == std::end(kWhole);
}

}  // namespace shortlist::jinja
