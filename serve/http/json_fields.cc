#include "serve/http/json_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/edit_distance.h"
#include "base/excerpt.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/http/api_error.h"

namespace shortlist {

using nlohmann::json;

namespace {

constexpr size_t kShownBytes = 80;
constexpr int64_t kMaxBodyValues = 1 << 20;  // a prompt of a million ids

std::string Shown(const json& value) {
  std::string text = Dump(value);
  if (text.size() <= kShownBytes) return text;
  const std::string type = value.type_name();
  const bool has_vowel = type == "array" || type == "object";
  return absl::StrCat(has_vowel ? "an " : "a ", type, " of ", text.size(), " bytes");
}

bool AsksForNothing(const json& value) {
  return value.is_null() || value == json(false) || (value.is_number() && value == json(0)) ||
         (value.is_array() && value.empty()) || value == json("");
}

/// Returns the known name most similar to `name`; empty if none is similar.
std::string_view Nearest(std::string_view name, const std::set<std::string, std::less<>>& known) {
  constexpr size_t kLongestName = 64;
  std::string_view nearest;
  if (name.size() > kLongestName) return nearest;
  size_t least = name.size() / 3 + 1;  // names at this distance are different names
  for (const std::string& other : known) {
    const size_t distance = EditDistance(name, other);
    if (distance >= least) continue;
    least = distance;
    nearest = other;
  }
  return nearest;
}

}  // namespace

std::optional<int64_t> WholeNumber(const json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const auto number = value.get<double>();
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!(std::abs(number) <= kExact) || number != std::floor(number)) return std::nullopt;
  return static_cast<int64_t>(number);
}

absl::StatusOr<json> ParseRequestBody(const std::string& body) {
  SHORTLIST_ASSIGN_OR_RETURN(json value, ParseJson(body, "request body", kMaxBodyValues));
  if (!value.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("request body: an object is wanted, not ", value.type_name()));
  }
  return value;
}

std::string Dump(const json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
}

std::string Dump(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/false,
                    nlohmann::ordered_json::error_handler_t::replace);
}

JsonFields::JsonFields(const json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  if (object_.is_object()) return;
  const std::string name = where_.substr(0, where_.size() - (where_.ends_with('.') ? 1 : 0));
  status_ = WithParam(absl::InvalidArgumentError(
                          absl::StrCat(name, ": an object is wanted, not ", object_.type_name())),
                      name);
}

const json* JsonFields::Find(const char* name) {
  known_.emplace(name);
  if (!object_.is_object()) return nullptr;
  const auto member = object_.find(name);
  return member == object_.end() || member->is_null() ? nullptr : &*member;
}

void JsonFields::Fail(std::string_view name, std::string_view message) {
  if (!status_.ok()) return;
  const std::string field = absl::StrCat(where_, absl::string_view(name.data(), name.size()));
  status_ = WithParam(absl::InvalidArgumentError(absl::StrCat(
                          field, ": ", absl::string_view(message.data(), message.size()))),
                      field);
}

void JsonFields::Fail(std::string_view name, const absl::Status& status) {
  Fail(name, std::string_view(status.message().data(), status.message().size()));
}

void JsonFields::Take(const absl::Status& status) {
  if (status_.ok()) status_ = status;
}

std::optional<int64_t> JsonFields::OptionalInteger(const char* name, int64_t low, int64_t high) {
  const json* member = Find(name);
  if (member == nullptr || !status_.ok()) return std::nullopt;
  const std::optional<int64_t> value = WholeNumber(*member);
  if (!value || *value < low || *value > high) {
    Fail(name, absl::StrCat(Shown(*member), " is not an integer in [", low, ", ", high, "]"));
    return std::nullopt;
  }
  return value;
}

int64_t JsonFields::Integer(const char* name, int64_t fallback, int64_t low, int64_t high) {
  return OptionalInteger(name, low, high).value_or(fallback);
}

double JsonFields::Number(const char* name, double fallback, Range range) {
  const json* member = Find(name);
  if (member == nullptr || !status_.ok()) return fallback;
  const double value =
      member->is_number() ? member->get<double>() : std::numeric_limits<double>::quiet_NaN();
  const bool above = range.above_low ? value > range.low : value >= range.low;
  if (above && value <= range.high) return value;
  Fail(name, absl::StrCat(Shown(*member), " is not a number in ", range.above_low ? "(" : "[",
                          range.low, ", ", range.high, "]"));
  return fallback;
}

bool JsonFields::Bool(const char* name, bool fallback) {
  const json* member = Find(name);
  if (member == nullptr || !status_.ok()) return fallback;
  if (member->is_boolean()) return member->get<bool>();
  Fail(name, absl::StrCat(Shown(*member), " is neither true nor false"));
  return fallback;
}

std::optional<std::string> JsonFields::OptionalString(const char* name, size_t max_bytes) {
  const json* member = Find(name);
  if (member == nullptr || !status_.ok()) return std::nullopt;
  if (!member->is_string()) {
    Fail(name, absl::StrCat(Shown(*member), " is not a string"));
    return std::nullopt;
  }
  const auto& text = member->get_ref<const std::string&>();
  if (text.size() > max_bytes) {
    Fail(name, absl::StrCat(text.size(), " bytes, more than ", max_bytes));
    return std::nullopt;
  }
  return text;
}

std::string JsonFields::String(const char* name, std::string fallback, size_t max_bytes) {
  return OptionalString(name, max_bytes).value_or(std::move(fallback));
}

std::vector<std::string> JsonFields::Strings(const char* name, size_t max_count, size_t max_bytes) {
  const json* member = Find(name);
  if (member == nullptr || !status_.ok()) return {};
  if (member->is_string()) return {String(name, "", max_bytes)};
  if (!member->is_array()) {
    Fail(name, absl::StrCat(Shown(*member), " is neither a string nor a list of strings"));
    return {};
  }
  if (member->size() > max_count) {
    Fail(name, absl::StrCat(member->size(), " entries, more than ", max_count));
    return {};
  }
  std::vector<std::string> texts;
  for (size_t i = 0; i < member->size(); ++i) {
    const json& entry = (*member)[i];
    const bool fits = entry.is_string() && entry.get_ref<const std::string&>().size() <= max_bytes;
    if (!fits) {
      Fail(absl::StrCat(name, "[", i, "]"),
           absl::StrCat(Shown(entry), " is not a string of at most ", max_bytes, " bytes"));
      return {};
    }
    texts.push_back(entry.get<std::string>());
  }
  return texts;
}

std::vector<int64_t> JsonFields::Integers(const char* name, size_t max_count, int64_t low,
                                          int64_t high) {
  const json* member = Find(name);
  if (member == nullptr || !status_.ok()) return {};
  if (!member->is_array() || member->size() > max_count) {
    Fail(name, absl::StrCat(Shown(*member), " is not a list of at most ", max_count, " integers"));
    return {};
  }
  std::vector<int64_t> values;
  for (size_t i = 0; i < member->size(); ++i) {
    const std::optional<int64_t> value = WholeNumber((*member)[i]);
    if (!value || *value < low || *value > high) {
      Fail(absl::StrCat(name, "[", i, "]"),
           absl::StrCat(Shown((*member)[i]), " is not an integer in [", low, ", ", high, "]"));
      return {};
    }
    values.push_back(*value);
  }
  return values;
}

void JsonFields::Refuse(std::initializer_list<const char*> names, std::string_view why) {
  for (const char* name : names) {
    const json* member = Find(name);
    if (member != nullptr && !AsksForNothing(*member)) Fail(name, why);
  }
}

void JsonFields::RefuseUnless(const char* name, const json& value, std::string_view why) {
  const json* member = Find(name);
  if (member != nullptr && *member != value) Fail(name, why);
}

void JsonFields::Accept(std::initializer_list<const char*> names) {
  known_.insert(names.begin(), names.end());
}

void JsonFields::RefuseUnknown() {
  if (!object_.is_object() || !status_.ok()) return;
  for (const auto& [name, value] : object_.items()) {
    if (value.is_null() || known_.contains(name)) continue;
    const std::string_view nearest = Nearest(name, known_);
    const std::string hint =
        nearest.empty() ? "" : absl::StrCat("; did you mean \"", std::string(nearest), "\"?");
    Fail(name.empty() ? "\"\"" : Excerpt(name), absl::StrCat("there is no such field", hint));
    status_ = WithUnknownField(std::move(status_), {.where = where_, .name = name});
    return;
  }
}

}  // namespace shortlist
