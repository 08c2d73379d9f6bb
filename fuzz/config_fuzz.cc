// config.json, followed by a NUL and generation_config.json. Checks that what parses is within the
// bounds that a decoder relies on.
//
//   fuzz_config -max_len=4096 CORPUS, seeded with config.json files (tests/reference/golden)

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/json.h"
#include "model/checkpoint/clip_config.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/generation_config.h"
#include "nlohmann/json.hpp"
#include "request/sampling_params.h"
#include "request/sampling_table.h"

namespace shortlist {
namespace {

void CheckBounds(const ModelConfig& config) {
  SHORTLIST_CHECK(config.vocab_size > 0 && config.hidden > 0 && config.intermediate > 0);
  SHORTLIST_CHECK(config.num_layers > 0 && config.num_kv_heads > 0 && config.context_len > 0);
  SHORTLIST_CHECK(config.num_heads % config.num_kv_heads == 0);
  SHORTLIST_CHECK(config.head_dim >= 2 && config.head_dim % 2 == 0);
  SHORTLIST_CHECK(config.rms_norm_eps > 0 && std::isfinite(config.rms_norm_eps));
  SHORTLIST_CHECK(config.rope_theta > 0 && std::isfinite(config.rope_theta));
  SHORTLIST_CHECK(config.rope_scaling.factor > 0 && std::isfinite(config.rope_scaling.factor));
  SHORTLIST_CHECK(std::isfinite(config.rope_scaling.attention_factor));
  SHORTLIST_CHECK(config.windows.empty() ||
                  static_cast<int64_t>(config.windows.size()) == config.num_layers);
  SHORTLIST_CHECK(config.unrotated.empty() ||
                  static_cast<int64_t>(config.unrotated.size()) == config.num_layers);
  SHORTLIST_CHECK(config.rotary_dim >= 2 && config.rotary_dim <= config.head_dim);
  SHORTLIST_CHECK(std::isfinite(config.logit_scale) && config.logit_scale > 0);
  const ExpertShape& experts = config.experts;
  SHORTLIST_CHECK(experts.layers.empty() ||
                  static_cast<int64_t>(experts.layers.size()) == config.num_layers);
  SHORTLIST_CHECK(experts.num_used >= 0 && experts.num_used <= experts.num_experts);
  SHORTLIST_CHECK(experts.num_experts == 0 || experts.intermediate > 0);
  SHORTLIST_CHECK(config.packing.group_size >= 0);
  for (const int32_t id : config.eos_token_ids) {
    SHORTLIST_CHECK(id >= 0 && id < config.vocab_size);
  }
}

void CheckTower(const ClipTowerConfig& tower) {
  SHORTLIST_CHECK(tower.num_layers > 0 && tower.intermediate > 0 && tower.head_dim > 0);
  SHORTLIST_CHECK(tower.num_heads * tower.head_dim == tower.hidden);
  SHORTLIST_CHECK(tower.norm_eps > 0 && std::isfinite(tower.norm_eps));
}

void RunClip(const nlohmann::json& object) {
  const auto config = ParseClipConfig(object, "config.json");
  if (!config.ok()) return;
  CheckTower(config->text);
  CheckTower(config->vision);
  SHORTLIST_CHECK(config->projection > 0 && config->vocab_size > 0 && config->context_len > 0);
  SHORTLIST_CHECK(config->picture_size % config->patch_size == 0 && config->num_patches() > 0);
}

void Run(const std::string& input) {
  const size_t nul = input.find('\0');
  const auto object = ParseJson(input.substr(0, nul), "config.json");
  if (!object.ok()) return;
  RunClip(*object);
  const auto config = ParseModelConfig(*object, "config.json");
  if (!config.ok()) return;
  CheckBounds(*config);
  if (nul == std::string::npos) return;
  const auto generation = ParseJson(input.substr(nul + 1), "generation_config.json");
  if (!generation.ok() || !generation->is_object()) return;
  const auto own = ParseGenerationConfig(ConfigFields("generation_config.json", *generation),
                                         config->vocab_size);
  if (!own.ok()) return;
  SamplingParams params;
  own->sampling.ApplyTo(params);
  for (const SamplingField& field : kSamplingFields) {
    const double value = field.Get(params);
    SHORTLIST_CHECK(value >= field.range.low && value <= field.range.high);
    SHORTLIST_CHECK(!field.range.above_low || value > field.range.low);
  }
}

}  // namespace
}  // namespace shortlist

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shortlist::Run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
