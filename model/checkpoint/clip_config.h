#ifndef SHORTLIST_MODEL_CHECKPOINT_CLIP_CONFIG_H_
#define SHORTLIST_MODEL_CHECKPOINT_CLIP_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "io/model_source.h"
#include "kernels/activation.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// One of CLIP's two transformers.
struct ClipTowerConfig {
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  int64_t head_dim = 0;  // num_heads * head_dim = hidden
  Activation activation = Activation::kGeluQuick;
  double norm_eps = 1e-5;
};

/// The fields of config.json that a CLIPModel needs, every value checked against its bounds.
struct ClipConfig {
  ClipTowerConfig text, vision;
  int64_t projection = 0;  // dimensions of both towers' vectors
  int64_t vocab_size = 0;
  int64_t context_len = 0;  // tokens of the longest text
  // A text's vector is taken at the first occurrence of this id. nullopt: at the first occurrence
  // of the text's largest id, as in transformers if config.json says 2, which older exports do.
  std::optional<int32_t> eos_token_id;
  int64_t picture_size = 0;  // pixels, both width and height; a multiple of patch_size
  int64_t patch_size = 0;

  int64_t num_patches() const { return (picture_size / patch_size) * (picture_size / patch_size); }
  /// Tokens of a picture: its class and its patches.
  int64_t picture_tokens() const { return num_patches() + 1; }
};

/// True if `object`, the contents of config.json, is a CLIPModel's.
bool IsClipConfig(const nlohmann::json& object);

/// Same contracts as ParseEncoderConfig() and ReadEncoderConfig().
absl::StatusOr<ClipConfig> ParseClipConfig(const nlohmann::json& object, const std::string& path);
absl::StatusOr<ClipConfig> ReadClipConfig(const ModelSource& source);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_CLIP_CONFIG_H_
