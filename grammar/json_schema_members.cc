#include "grammar/json_schema_members.h"

#include "base/status_macros.h"
#include "grammar/json_schema_keywords.h"

namespace shortlist {
namespace {

/// The list of schemas for the first items, or null.
Schema Prefix(Schema schema) {
  for (const char* keyword : {"prefixItems", "items"}) {
    const Schema list = Find(schema, keyword);
    if (list != nullptr && list->is_array()) return list;
  }
  return nullptr;
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

absl::StatusOr<Conjunction> MemberSchemas(SchemaDocument& document, SchemaStrings& strings,
                                          Schema schema, const std::string& name) {
  Conjunction schemas;
  SHORTLIST_ASSIGN_OR_RETURN(const Schema properties, ObjectOf(document, schema, "properties"));
  const Schema named = properties == nullptr ? nullptr : Find(properties, name);
  if (named != nullptr) schemas.push_back(named);
  SHORTLIST_ASSIGN_OR_RETURN(const Schema patterns,
                             ObjectOf(document, schema, "patternProperties"));
  if (patterns != nullptr) {
    for (const auto& [pattern, pattern_schema] : patterns->items()) {
      SHORTLIST_ASSIGN_OR_RETURN(const ExprId names, strings.PatternStrings(schema, pattern));
      SHORTLIST_ASSIGN_OR_RETURN(const bool matches, strings.Contains(names, name));
      if (matches) schemas.push_back(&pattern_schema);
    }
  }
  const Schema others = Find(schema, "additionalProperties");
  if (schemas.empty() && others != nullptr) schemas.push_back(others);
  return schemas;
}

}  // namespace shortlist
