#ifndef SHORTLIST_EMBED_TEXT_FIELD_H_
#define SHORTLIST_EMBED_TEXT_FIELD_H_

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "model/checkpoint/config_fields.h"

namespace shortlist {

/// Reads a text of at most `max_bytes` bytes; nullopt if the field is absent. Returns
/// InvalidArgument with object, field, value and bound.
absl::StatusOr<std::optional<std::string>> OptionalText(const ConfigFields& fields,
                                                        const char* name, size_t max_bytes);

/// Same as OptionalText(), but returns InvalidArgument if the field is absent.
absl::StatusOr<std::string> RequiredText(const ConfigFields& fields, const char* name,
                                         size_t max_bytes);

/// Reads an object; null if the field is absent. Returns InvalidArgument for another type.
absl::StatusOr<const nlohmann::json*> OptionalObject(const ConfigFields& fields, const char* name);

struct ExpectedText {
  const char* name;
  const char* value;
};

/// Returns Unimplemented for a field that is present with another value.
absl::Status CheckTexts(const ConfigFields& fields, std::initializer_list<ExpectedText> expected);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_TEXT_FIELD_H_
