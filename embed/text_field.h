#ifndef SHORTLIST_EMBED_TEXT_FIELD_H_
#define SHORTLIST_EMBED_TEXT_FIELD_H_

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "model/checkpoint/config_fields.h"

namespace shortlist {

/// A text of at most `max_bytes` bytes; nullopt when the field is absent. InvalidArgument names
/// object, field, value and bound.
absl::StatusOr<std::optional<std::string>> OptionalText(const ConfigFields& fields,
                                                        const char* name, size_t max_bytes);

/// The same of a field that must be there.
absl::StatusOr<std::string> RequiredText(const ConfigFields& fields, const char* name,
                                         size_t max_bytes);

/// An object; null when the field is absent. InvalidArgument when it is something else.
absl::StatusOr<const nlohmann::json*> OptionalObject(const ConfigFields& fields, const char* name);

struct ExpectedText {
  const char* name;
  const char* value;
};

/// Unimplemented for a field that is there and has another value.
absl::Status CheckTexts(const ConfigFields& fields, std::initializer_list<ExpectedText> expected);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_TEXT_FIELD_H_
