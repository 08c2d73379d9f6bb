#include "grammar/json_schema_members.h"

#include <algorithm>
#include <set>

#include "base/status_macros.h"
#include "grammar/json_schema_keywords.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

/// The list of schemas for the first items, or null.
Schema Prefix(Schema schema) {
  for (const char* keyword : {"prefixItems", "items"}) {
    const Schema list = Find(schema, keyword);
    if (list != nullptr && list->is_array()) return list;
  }
  return nullptr;
}

/// Adds the schemas that `part` applies to the member `name`.
absl::Status AddMemberSchemas(SchemaDocument& document, SchemaStrings& strings, Schema part,
                              const std::string& name, Conjunction& schemas) {
  const size_t num_before = schemas.size();
  SHORTLIST_ASSIGN_OR_RETURN(const Schema properties, ObjectOf(document, part, "properties"));
  const Schema named = properties == nullptr ? nullptr : document.Member(properties, name);
  if (named != nullptr) schemas.push_back(named);
  SHORTLIST_ASSIGN_OR_RETURN(const Schema patterns, ObjectOf(document, part, "patternProperties"));
  if (patterns != nullptr) {
    for (const auto& [pattern, pattern_schema] : patterns->items()) {
      SHORTLIST_ASSIGN_OR_RETURN(const ExprId names, strings.PatternStrings(part, pattern));
      SHORTLIST_ASSIGN_OR_RETURN(const bool matches, strings.Contains(names, name));
      if (matches) schemas.push_back(&pattern_schema);
    }
  }
  const Schema others = Find(part, "additionalProperties");
  if (schemas.size() == num_before && others != nullptr) schemas.push_back(others);
  return absl::OkStatus();
}

}  // namespace

size_t NumPrefixItems(Schema schema) {
  const Schema prefix = Prefix(schema);
  return prefix == nullptr ? 0 : prefix->size();
}

Schema ItemSchema(Schema schema, size_t index) {
  if (index < NumPrefixItems(schema)) return &(*Prefix(schema))[index];
  const Schema items = Find(schema, "items");
  return items != nullptr && items->is_array() ? Find(schema, "additionalItems") : items;
}

Conjunction ItemSchemas(const Conjunction& parts, size_t index) {
  Conjunction schemas;
  for (const Schema part : parts) {
    const Schema item = ItemSchema(part, index);
    if (item != nullptr) schemas.push_back(item);
  }
  return schemas;
}

absl::StatusOr<Conjunction> MemberSchemas(SchemaDocument& document, SchemaStrings& strings,
                                          const Conjunction& parts, const std::string& name) {
  SHORTLIST_RETURN_IF_ERROR(document.Spend(1 + static_cast<int64_t>(parts.size() / 4)));
  Conjunction schemas;
  for (const Schema part : parts) {
    SHORTLIST_RETURN_IF_ERROR(AddMemberSchemas(document, strings, part, name, schemas));
  }
  return schemas;
}

absl::StatusOr<std::vector<std::string>> RequiredNames(SchemaDocument& document,
                                                       const Conjunction& parts) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const Schema part : parts) {
    SHORTLIST_ASSIGN_OR_RETURN(const Schema list, ArrayOf(document, part, "required"));
    if (list == nullptr) continue;
    SHORTLIST_RETURN_IF_ERROR(document.Spend(static_cast<int64_t>(list->size() / 4)));
    for (const ordered_json& name : *list) {
      if (!name.is_string()) return document.Error(part, "required", "not a list of names");
      if (seen.insert(name.get<std::string>()).second) names.push_back(name.get<std::string>());
    }
  }
  return names;
}

absl::StatusOr<CountLimits> CountLimitsOf(const SchemaDocument& document, const Conjunction& parts,
                                          const char* min_keyword, const char* max_keyword) {
  CountLimits limits;
  for (const Schema part : parts) {
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t min, CountOf(document, part, min_keyword, 0));
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t max,
                               CountOf(document, part, max_keyword, Expressions::kNoLimit));
    limits.min = std::max(limits.min, min);
    limits.max = std::min(limits.max, max);
  }
  return limits;
}

}  // namespace shortlist
