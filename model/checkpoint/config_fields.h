#ifndef SHORTLIST_MODEL_CHECKPOINT_CONFIG_FIELDS_H_
#define SHORTLIST_MODEL_CHECKPOINT_CONFIG_FIELDS_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

// Bounds of a model's shape.
inline constexpr int64_t kMaxVocabSize = int64_t{1} << 24;
inline constexpr int64_t kMaxHidden = int64_t{1} << 20;
inline constexpr int64_t kMaxIntermediate = int64_t{1} << 22;
inline constexpr int64_t kMaxLayers = 1024;
inline constexpr int64_t kMaxHeads = 4096;
inline constexpr int64_t kMaxHeadDim = 4096;
inline constexpr int64_t kMaxContextLen = int64_t{1} << 24;
// Within these bounds every rotary frequency, and its angle at any position, is a finite f32.
inline constexpr double kMinTheta = 1e-6;
inline constexpr double kMaxTheta = 1e12;

/// A field that changes what a model computes unless it has the value `neutral`. "null" means that
/// the field must be absent or null. Absent and null are neutral for every field.
struct NeutralField {
  const char* name;
  const char* neutral;  // JSON text
};

/// Typed access to the fields of one JSON object of a configuration file. Null counts as absent.
/// Errors name the object, the field, its value and its bound.
class ConfigFields {
 public:
  /// `where`: the path, and the name of a nested object. `object` must outlive this instance.
  ConfigFields(std::string where, const nlohmann::json& object)
      : where_(std::move(where)), object_(object) {}

  /// Returns null if the field is absent.
  const nlohmann::json* Find(const char* name) const;

  absl::Status Invalid(const char* name, const std::string& problem) const;
  absl::Status Unsupported(const char* name, const nlohmann::json& value,
                           const std::string& supported) const;

  /// Returns an integer in [low, high]. InvalidArgument if the field is absent without `otherwise`.
  absl::StatusOr<int64_t> Int(const char* name, int64_t low, int64_t high,
                              std::optional<int64_t> otherwise = std::nullopt) const;
  /// Returns a finite number in (low, high]. InvalidArgument if the field is absent without
  /// `otherwise`.
  absl::StatusOr<double> Real(const char* name, double low, double high,
                              std::optional<double> otherwise = std::nullopt) const;
  absl::StatusOr<bool> Bool(const char* name, bool otherwise) const;

  /// InvalidArgument if model_type is there and is none of `types`, those of the model that
  /// `architecture` names: transformers would choose the model by model_type.
  absl::Status CheckModelType(std::string_view architecture,
                              std::initializer_list<std::string_view> types) const;
  /// Unimplemented names the first field of `neutral` that has another value and is none of
  /// `except`.
  absl::Status CheckNeutral(std::span<const NeutralField> neutral,
                            std::span<const char* const> except = {}) const;
  /// Reads dtype or torch_dtype. f32 without either; Unimplemented for another type.
  absl::StatusOr<DType> StoredDType() const;

  const nlohmann::json& object() const { return object_; }
  const std::string& where() const { return where_; }

 private:
  std::string where_;
  const nlohmann::json& object_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_CONFIG_FIELDS_H_
