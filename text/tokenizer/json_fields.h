#ifndef SHORTLIST_TEXT_TOKENIZER_JSON_FIELDS_H_
#define SHORTLIST_TEXT_TOKENIZER_JSON_FIELDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// Type-checked access to members of JSON objects. `object` may be any value; InvalidArgument if it
/// is not an object. A member that is null counts as missing. Messages name the member.

/// Returns the member, or null if it is missing.
absl::StatusOr<const nlohmann::json*> FindMember(const nlohmann::json& object, const char* name);

absl::StatusOr<std::string> ReadString(const nlohmann::json& object, const char* name);
absl::StatusOr<std::string> ReadString(const nlohmann::json& object, const char* name,
                                       const std::string& fallback);
absl::StatusOr<bool> ReadBool(const nlohmann::json& object, const char* name, bool fallback);
absl::StatusOr<std::optional<bool>> ReadOptionalBool(const nlohmann::json& object,
                                                     const char* name);
/// Reads an integer in [low, high].
absl::StatusOr<int64_t> ReadInteger(const nlohmann::json& object, const char* name, int64_t low,
                                    int64_t high, std::optional<int64_t> fallback = std::nullopt);

/// Returns `value` itself as an integer in [low, high]; `name` describes it in messages.
absl::StatusOr<int64_t> ToInteger(const nlohmann::json& value, const std::string& name, int64_t low,
                                  int64_t high);

/// Returns the array member. A missing member is an empty array, not an error.
absl::StatusOr<const nlohmann::json*> ReadArray(const nlohmann::json& object, const char* name);

/// Returns `status` with `where` before its message.
absl::Status Within(const std::string& where, const absl::Status& status);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_JSON_FIELDS_H_
