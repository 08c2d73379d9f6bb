#include "embed/text_field.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {

using nlohmann::json;

absl::StatusOr<std::optional<std::string>> OptionalText(const ConfigFields& fields,
                                                        const char* name, size_t max_bytes) {
  const json* value = fields.Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) {
    return fields.Invalid(name, absl::StrCat("= ", Quote(*value), " is not a text"));
  }
  const std::string& text = value->get_ref<const std::string&>();
  if (text.size() > max_bytes) {
    return fields.Invalid(name, absl::StrCat("= ", Quote(*value), " has ", text.size(),
                                             " bytes, more than ", max_bytes));
  }
  return text;
}

absl::StatusOr<std::string> RequiredText(const ConfigFields& fields, const char* name,
                                         size_t max_bytes) {
  SHORTLIST_ASSIGN_OR_RETURN(auto text, OptionalText(fields, name, max_bytes));
  if (!text) return fields.Invalid(name, "is missing");
  return *std::move(text);
}

absl::StatusOr<const json*> OptionalObject(const ConfigFields& fields, const char* name) {
  const json* value = fields.Find(name);
  if (value != nullptr && !value->is_object()) {
    return fields.Invalid(name, absl::StrCat("= ", Quote(*value), " is not an object"));
  }
  return value;
}

absl::Status CheckTexts(const ConfigFields& fields, std::initializer_list<ExpectedText> expected) {
  constexpr size_t kMaxBytes = 256;
  for (const auto& [name, value] : expected) {
    SHORTLIST_ASSIGN_OR_RETURN(const auto text, OptionalText(fields, name, kMaxBytes));
    if (text && *text != value) {
      return fields.Unsupported(name, *text, absl::StrCat("only \"", value, "\" is"));
    }
  }
  return absl::OkStatus();
}

}  // namespace shortlist
