#include "model/checkpoint/clip_config.h"

#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "model/checkpoint/config_fields.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr char kArchitecture[] = "CLIPModel";
constexpr int64_t kMaxPictureSize = 4096;
constexpr int64_t kMaxPictureTokens = 1 << 14;

constexpr std::array kNeutralFields = {
    NeutralField{"quantization_config", "null"},
    NeutralField{"compression_config", "null"},
    NeutralField{"auto_map", "null"},
};

/// Returns the fields of a tower, which may be missing. Exports of the first years have them twice;
/// transformers prefers `older_name`, and takes defaults for what is missing there.
absl::StatusOr<ConfigFields> FindTower(const ConfigFields& fields, const std::string& path,
                                       const char* name, const char* older_name) {
  static const json kNone = json::object();
  if (fields.Find(older_name) != nullptr) name = older_name;
  const json* const tower = fields.Find(name);
  if (tower != nullptr && !tower->is_object()) {
    return fields.Invalid(name, absl::StrCat("= ", Quote(*tower), " is not an object"));
  }
  return ConfigFields(absl::StrCat(path, ": ", name), tower == nullptr ? kNone : *tower);
}

absl::StatusOr<Activation> ReadActivation(const ConfigFields& fields) {
  const json* value = fields.Find("hidden_act");
  if (value == nullptr || *value == "quick_gelu") return Activation::kGeluQuick;
  if (*value == "gelu") return Activation::kGeluErf;
  if (*value == "gelu_new" || *value == "gelu_pytorch_tanh") return Activation::kGeluTanh;
  return fields.Unsupported("hidden_act", *value,
                            "\"quick_gelu\", \"gelu\", \"gelu_new\" and \"gelu_pytorch_tanh\" are");
}

/// `defaults`: those of transformers, for fields that older exports leave out.
absl::StatusOr<ClipTowerConfig> ReadTower(const ConfigFields& fields,
                                          const ClipTowerConfig& defaults) {
  ClipTowerConfig tower;
  SHORTLIST_ASSIGN_OR_RETURN(tower.hidden,
                             fields.Int("hidden_size", 1, kMaxHidden, defaults.hidden));
  SHORTLIST_ASSIGN_OR_RETURN(
      tower.intermediate,
      fields.Int("intermediate_size", 1, kMaxIntermediate, defaults.intermediate));
  SHORTLIST_ASSIGN_OR_RETURN(tower.num_layers,
                             fields.Int("num_hidden_layers", 1, kMaxLayers, defaults.num_layers));
  SHORTLIST_ASSIGN_OR_RETURN(tower.num_heads,
                             fields.Int("num_attention_heads", 1, kMaxHeads, defaults.num_heads));
  tower.head_dim = tower.hidden / tower.num_heads;
  if (tower.hidden % tower.num_heads != 0 || tower.head_dim > kMaxHeadDim) {
    return fields.Invalid(
        "hidden_size", absl::StrCat("= ", tower.hidden,
                                    " is not a multiple of num_attention_heads = ", tower.num_heads,
                                    " that makes heads of at most ", kMaxHeadDim));
  }
  SHORTLIST_ASSIGN_OR_RETURN(tower.norm_eps,
                             fields.Real("layer_norm_eps", 0.0, 1.0, /*otherwise=*/1e-5));
  SHORTLIST_ASSIGN_OR_RETURN(tower.activation, ReadActivation(fields));
  return tower;
}

absl::Status ReadText(const ConfigFields& fields, ClipConfig& config) {
  SHORTLIST_ASSIGN_OR_RETURN(
      config.text,
      ReadTower(fields, {.hidden = 512, .intermediate = 2048, .num_layers = 12, .num_heads = 8}));
  SHORTLIST_ASSIGN_OR_RETURN(config.vocab_size,
                             fields.Int("vocab_size", 1, kMaxVocabSize, /*otherwise=*/49408));
  SHORTLIST_ASSIGN_OR_RETURN(config.context_len, fields.Int("max_position_embeddings", 1,
                                                            kMaxContextLen, /*otherwise=*/77));
  constexpr int64_t kLegacyEos = 2, kEos = 49407;
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t eos, fields.Int("eos_token_id", 0, kMaxVocabSize, kEos));
  if (eos != kLegacyEos) config.eos_token_id = static_cast<int32_t>(eos);
  return absl::OkStatus();
}

absl::Status ReadVision(const ConfigFields& fields, ClipConfig& config) {
  SHORTLIST_ASSIGN_OR_RETURN(
      config.vision,
      ReadTower(fields, {.hidden = 768, .intermediate = 3072, .num_layers = 12, .num_heads = 12}));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t num_channels,
                             fields.Int("num_channels", 1, 1024, /*otherwise=*/3));
  if (num_channels != 3) return fields.Unsupported("num_channels", num_channels, "only 3 is");
  SHORTLIST_ASSIGN_OR_RETURN(config.picture_size,
                             fields.Int("image_size", 1, kMaxPictureSize, /*otherwise=*/224));
  SHORTLIST_ASSIGN_OR_RETURN(config.patch_size,
                             fields.Int("patch_size", 1, kMaxPictureSize, /*otherwise=*/32));
  if (config.picture_size % config.patch_size != 0 || config.picture_tokens() > kMaxPictureTokens) {
    return fields.Invalid("image_size",
                          absl::StrCat("= ", config.picture_size,
                                       " is not a multiple of patch_size = ", config.patch_size,
                                       " that makes fewer than ", kMaxPictureTokens, " patches"));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsClipConfig(const json& object) {
  if (!object.is_object()) return false;
  const auto list = object.find("architectures");
  return list != object.end() && list->is_array() && list->size() == 1 &&
         (*list)[0] == kArchitecture;
}

absl::StatusOr<ClipConfig> ParseClipConfig(const json& object, const std::string& path) {
  if (!IsClipConfig(object)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a ", kArchitecture, "'s"));
  }
  const ConfigFields fields(path, object);
  SHORTLIST_RETURN_IF_ERROR(fields.CheckNeutral(kNeutralFields));
  ClipConfig config;
  SHORTLIST_ASSIGN_OR_RETURN(const ConfigFields text,
                             FindTower(fields, path, "text_config", "text_config_dict"));
  SHORTLIST_RETURN_IF_ERROR(ReadText(text, config));
  SHORTLIST_ASSIGN_OR_RETURN(const ConfigFields vision,
                             FindTower(fields, path, "vision_config", "vision_config_dict"));
  SHORTLIST_RETURN_IF_ERROR(ReadVision(vision, config));
  SHORTLIST_ASSIGN_OR_RETURN(config.projection,
                             fields.Int("projection_dim", 1, kMaxHidden, /*otherwise=*/512));
  return config;
}

absl::StatusOr<ClipConfig> ReadClipConfig(const ModelSource& source) {
  constexpr char kName[] = "config.json";
  SHORTLIST_ASSIGN_OR_RETURN(const json object, source.ReadJson(kName));
  return ParseClipConfig(object, source.PathOf(kName));
}

}  // namespace shortlist
