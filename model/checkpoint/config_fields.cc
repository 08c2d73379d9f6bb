#include "model/checkpoint/config_fields.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {

using nlohmann::json;

const json* ConfigFields::Find(const char* name) const {
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

absl::Status ConfigFields::Invalid(const char* name, const std::string& problem) const {
  return absl::InvalidArgumentError(absl::StrCat(where_, ": ", name, " ", problem));
}

absl::Status ConfigFields::Unsupported(const char* name, const json& value,
                                       const std::string& supported) const {
  return absl::UnimplementedError(
      absl::StrCat(where_, ": ", name, " = ", Quote(value), " is not supported; ", supported));
}

absl::StatusOr<int64_t> ConfigFields::Int(const char* name, int64_t low, int64_t high,
                                          std::optional<int64_t> otherwise) const {
  const json* value = Find(name);
  if (value == nullptr) {
    if (otherwise) return *otherwise;
    return Invalid(name, "is missing");
  }
  if (!value->is_number_integer())
    return Invalid(name, absl::StrCat("= ", Quote(*value), " is not an integer"));
  const bool too_large = value->is_number_unsigned()
                             ? value->get<uint64_t>() > static_cast<uint64_t>(high)
                             : value->get<int64_t>() > high;
  if (too_large || value->get<int64_t>() < low) {
    return Invalid(name, absl::StrCat("= ", Quote(*value), " not in [", low, ", ", high, "]"));
  }
  return value->get<int64_t>();
}

absl::StatusOr<double> ConfigFields::Real(const char* name, double low, double high,
                                          std::optional<double> otherwise) const {
  const json* value = Find(name);
  if (value == nullptr) {
    if (otherwise) return *otherwise;
    return Invalid(name, "is missing");
  }
  if (!value->is_number())
    return Invalid(name, absl::StrCat("= ", Quote(*value), " is not a number"));
  const double number = value->get<double>();
  if (!(number > low && number <= high)) {
    return Invalid(name, absl::StrCat("= ", Quote(*value), " not in (", low, ", ", high, "]"));
  }
  return number;
}

absl::StatusOr<bool> ConfigFields::Bool(const char* name, bool otherwise) const {
  const json* value = Find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) {
    return Invalid(name, absl::StrCat("= ", Quote(*value), " is neither true nor false"));
  }
  return value->get<bool>();
}

absl::Status ConfigFields::CheckModelType(std::string_view architecture,
                                          std::initializer_list<std::string_view> types) const {
  const json* const type = Find("model_type");
  if (type == nullptr) return absl::OkStatus();
  const auto is_type = [&](std::string_view known) { return *type == known; };
  if (std::ranges::any_of(types, is_type)) return absl::OkStatus();
  return Invalid(
      "model_type",
      absl::StrCat("= ", Quote(*type), " contradicts architectures = [\"",
                   std::string(architecture), "\"], of model_type ",
                   absl::StrJoin(std::vector<std::string>(types.begin(), types.end()), " or "),
                   "; correct the one that is wrong"));
}

absl::Status ConfigFields::CheckNeutral(std::span<const NeutralField> neutral,
                                        std::span<const char* const> except) const {
  for (const NeutralField& field : neutral) {
    const std::string_view name = field.name;
    if (std::ranges::any_of(except, [&](const char* other) { return name == other; })) continue;
    const json* value = Find(field.name);
    if (value != nullptr && *value != json::parse(field.neutral)) {
      return Unsupported(field.name, *value, absl::StrCat("only ", field.neutral, " is"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<DType> ConfigFields::StoredDType() const {
  const char* const name = Find("dtype") != nullptr ? "dtype" : "torch_dtype";
  const json* value = Find(name);
  if (value == nullptr || *value == "float32") return DType::kF32;
  if (*value == "bfloat16") return DType::kBf16;
  if (*value == "float16") return DType::kF16;
  return Unsupported(name, *value, "\"float32\", \"float16\" and \"bfloat16\" are");
}

}  // namespace shortlist
