#include "text/tokenizer/json_fields.h"

#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace shortlist {

using nlohmann::json;

absl::StatusOr<const json*> FindMember(const json& object, const char* name) {
  if (!object.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("looking for \"", name, "\" in what is not a JSON object"));
  }
  const auto member = object.find(name);
  return member == object.end() || member->is_null() ? nullptr : &*member;
}

absl::StatusOr<std::string> ReadString(const json& object, const char* name) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* member, FindMember(object, name));
  if (member == nullptr || !member->is_string()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is not a string"));
  }
  return member->get<std::string>();
}

absl::StatusOr<std::string> ReadString(const json& object, const char* name,
                                       const std::string& fallback) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* member, FindMember(object, name));
  if (member == nullptr) return fallback;
  return ReadString(object, name);
}

absl::StatusOr<std::optional<bool>> ReadOptionalBool(const json& object, const char* name) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* member, FindMember(object, name));
  if (member == nullptr) return std::nullopt;
  if (!member->is_boolean()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is neither true, false nor null"));
  }
  return member->get<bool>();
}

absl::StatusOr<bool> ReadBool(const json& object, const char* name, bool fallback) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::optional<bool> value, ReadOptionalBool(object, name));
  return value.value_or(fallback);
}

absl::StatusOr<int64_t> ToInteger(const json& value, const std::string& name, int64_t low,
                                  int64_t high) {
  const bool fits =
      value.is_number_unsigned()
          ? value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())
          : value.is_number_integer();
  if (!fits || value.get<int64_t>() < low || value.get<int64_t>() > high) {
    return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is ", value.dump().substr(0, 80),
                                                   ", not an integer in [", low, ", ", high, "]"));
  }
  return value.get<int64_t>();
}

absl::StatusOr<int64_t> ReadInteger(const json& object, const char* name, int64_t low, int64_t high,
                                    std::optional<int64_t> fallback) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* member, FindMember(object, name));
  if (member == nullptr && fallback.has_value()) return *fallback;
  if (member == nullptr) return absl::InvalidArgumentError(absl::StrCat("no \"", name, "\""));
  return ToInteger(*member, name, low, high);
}

absl::StatusOr<const json*> ReadArray(const json& object, const char* name) {
  static const json kEmpty = json::array();
  SHORTLIST_ASSIGN_OR_RETURN(const json* member, FindMember(object, name));
  if (member == nullptr) return &kEmpty;
  if (!member->is_array()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is not an array"));
  }
  return member;
}

absl::Status Within(const std::string& where, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(where, ": ", std::string(status.message())));
}

}  // namespace shortlist
