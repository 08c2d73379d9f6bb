#include "grammar/json_schema_string.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "grammar/json_schema_format.h"
#include "grammar/json_schema_keywords.h"
#include "grammar/regex.h"

namespace shortlist {

struct SchemaStrings::Limits {
  int64_t min_length = 0;
  int64_t max_length = Expressions::kNoLimit;
  std::vector<ExprId> required, excluded;  // sets of strings
};

absl::StatusOr<ExprId> SchemaStrings::PatternStrings(Schema schema, const std::string& pattern) {
  const auto found = patterns_.find(pattern);
  if (found != patterns_.end()) return found->second;
  SHORTLIST_RETURN_IF_ERROR(document_.Spend(static_cast<int64_t>(pattern.size())));
  const absl::StatusOr<ExprId> strings = CompileJsonPattern(pattern, expressions_);
  if (!strings.ok()) {
    return document_.Error(schema, "pattern", std::string(strings.status().message()));
  }
  patterns_.emplace(pattern, *strings);
  return *strings;
}

absl::Status SchemaStrings::Read(Schema schema, Limits& limits) {
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t min, CountOf(document_, schema, "minLength", 0));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t max,
                             CountOf(document_, schema, "maxLength", Expressions::kNoLimit));
  limits.min_length = std::max(limits.min_length, min);
  limits.max_length = std::min(limits.max_length, max);
  SHORTLIST_ASSIGN_OR_RETURN(const Schema pattern, StringOf(document_, schema, "pattern"));
  if (pattern != nullptr) {
    SHORTLIST_ASSIGN_OR_RETURN(limits.required.emplace_back(),
                               PatternStrings(schema, pattern->get<std::string>()));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const StringFormat* const format, FormatOf(schema));
  if (format != nullptr) {
    limits.max_length = std::min(limits.max_length, format->max_length);
    SHORTLIST_ASSIGN_OR_RETURN(limits.required.emplace_back(),
                               PatternStrings(schema, format->pattern));
  }
  const SchemaDocument::Exclusion* exclusion = document_.FindExclusion(schema);
  if (exclusion == nullptr) return absl::OkStatus();
  for (const std::string& text : exclusion->texts) {
    SHORTLIST_RETURN_IF_ERROR(document_.Spend(1 + static_cast<int64_t>(text.size() / 16)));
    limits.excluded.push_back(expressions_.Text(JsonText::Escape(text)));
  }
  if (exclusion->pattern.has_value()) {
    SHORTLIST_ASSIGN_OR_RETURN(limits.excluded.emplace_back(),
                               PatternStrings(schema, *exclusion->pattern));
  }
  return absl::OkStatus();
}

absl::StatusOr<const StringFormat*> SchemaStrings::FormatOf(Schema schema) const {
  SHORTLIST_ASSIGN_OR_RETURN(const Schema name, StringOf(document_, schema, "format"));
  if (name == nullptr || document_.proof_depth() > 0) return nullptr;
  const auto& text = name->get_ref<const std::string&>();
  const StringFormat* format = FindFormat(text);
  if (format != nullptr) return format;
  return document_.Error(schema, "format",
                         absl::StrCat("\"", Excerpt(text), "\" is not supported"));
}

absl::StatusOr<ExprId> SchemaStrings::Strings(const Conjunction& parts, bool one_spelling) {
  Limits limits;
  for (const Schema part : parts) SHORTLIST_RETURN_IF_ERROR(Read(part, limits));
  if (limits.min_length > limits.max_length) return expressions_.Nothing();
  one_spelling |= !limits.required.empty() || !limits.excluded.empty();
  const ExprId character = one_spelling ? text_.PlainChar() : text_.AnyChar();
  ExprId strings = expressions_.Repeat(character, limits.min_length, limits.max_length);
  const bool any_length = limits.min_length == 0 && limits.max_length == Expressions::kNoLimit;
  for (size_t i = 0; i < limits.required.size(); ++i) {
    strings =
        i == 0 && any_length ? limits.required[0] : expressions_.Both(strings, limits.required[i]);
  }
  if (limits.excluded.empty()) return strings;
  return expressions_.Except(strings, expressions_.Choice(limits.excluded));
}

absl::StatusOr<bool> SchemaStrings::Contains(ExprId strings, std::string_view text) {
  const std::string escaped = JsonText::Escape(text);
  SHORTLIST_RETURN_IF_ERROR(document_.Spend(static_cast<int64_t>(escaped.size()) + 1));
  for (const char byte : escaped) {
    strings = expressions_.After(strings, static_cast<uint8_t>(byte));
    if (strings == expressions_.Nothing()) return false;
  }
  return expressions_.IsNullable(strings);
}

}  // namespace shortlist
