#include "model/clip_tower.h"

#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/attention.h"
#include "kernels/sequence_attention.h"
#include "model/linear_weight.h"

namespace shortlist {

absl::StatusOr<ClipNorm> ClipNorm::Load(Checkpoint& checkpoint, const std::string& name,
                                        const ClipTowerConfig& config, ThreadPool& pool) {
  ClipNorm norm{.epsilon = static_cast<float>(config.norm_eps)};
  SHORTLIST_ASSIGN_OR_RETURN(norm.weight, checkpoint.Load(absl::StrCat(name, ".weight"),
                                                          {config.hidden}, DType::kF32, pool));
  SHORTLIST_ASSIGN_OR_RETURN(
      norm.bias, checkpoint.Load(absl::StrCat(name, ".bias"), {config.hidden}, DType::kF32, pool));
  return norm;
}

void ClipNorm::Run(const float* x, int64_t num_tokens, float* y, ThreadPool& pool) const {
  const LayerNorm norm = {weight.floats(), bias.floats(), epsilon};
  LayerNormCpu(x, /*addend=*/nullptr, norm, num_tokens, weight.num_elements(), y, pool);
}

absl::StatusOr<ClipTower::Linear> ClipTower::LoadLinearWithBias(Checkpoint& checkpoint,
                                                                const std::string& name,
                                                                int64_t out_features,
                                                                int64_t in_features, DType dtype,
                                                                ThreadPool& pool) const {
  Linear linear;
  SHORTLIST_ASSIGN_OR_RETURN(linear.weight, LoadLinear(checkpoint, absl::StrCat(name, ".weight"),
                                                       out_features, in_features, dtype, pool));
  SHORTLIST_ASSIGN_OR_RETURN(
      linear.bias, checkpoint.Load(absl::StrCat(name, ".bias"), {out_features}, DType::kF32, pool));
  return linear;
}

absl::Status ClipTower::LoadQkv(Checkpoint& checkpoint, const std::string& prefix, DType dtype,
                                Layer& layer, ThreadPool& pool) const {
  std::array<SourceWeight, 3> weights;
  std::array<Matrix, 3> biases;
  for (size_t i = 0; i < weights.size(); ++i) {
    constexpr std::array kNames = {"q_proj", "k_proj", "v_proj"};
    const std::string name = absl::StrCat(prefix, "self_attn.", kNames[i]);
    SHORTLIST_ASSIGN_OR_RETURN(weights[i], LoadSource(checkpoint, absl::StrCat(name, ".weight"),
                                                      config_.hidden, config_.hidden, dtype, pool));
    SHORTLIST_ASSIGN_OR_RETURN(biases[i], checkpoint.Load(absl::StrCat(name, ".bias"),
                                                          {config_.hidden}, DType::kF32, pool));
  }
  const int64_t rows = kind_ == Kind::kText ? config_.hidden : config_.head_dim;
  std::vector<MatrixView> blocks;
  for (int64_t first = 0; first < config_.hidden; first += rows) {
    for (size_t i = 0; i < weights.size(); ++i) {
      blocks.push_back(weights[i].Rows(first, rows));
      const float* const bias = biases[i].floats() + first;
      layer.qkv_bias.insert(layer.qkv_bias.end(), bias, bias + rows);
    }
  }
  layer.qkv = PackedLinear::Pack(blocks, config_.hidden, dtype, pool, &checkpoint.packed_memory());
  return absl::OkStatus();
}

absl::StatusOr<ClipTower::Layer> ClipTower::LoadLayer(Checkpoint& checkpoint,
                                                      const std::string& prefix, DType dtype,
                                                      ThreadPool& pool) const {
  Layer layer;
  const int64_t hidden = config_.hidden;
  SHORTLIST_RETURN_IF_ERROR(LoadQkv(checkpoint, prefix, dtype, layer, pool));
  const auto load = [&](const char* name, int64_t out_features, int64_t in_features) {
    return LoadLinearWithBias(checkpoint, absl::StrCat(prefix, name), out_features, in_features,
                              dtype, pool);
  };
  SHORTLIST_ASSIGN_OR_RETURN(layer.output, load("self_attn.out_proj", hidden, hidden));
  SHORTLIST_ASSIGN_OR_RETURN(layer.up, load("mlp.fc1", config_.intermediate, hidden));
  SHORTLIST_ASSIGN_OR_RETURN(layer.down, load("mlp.fc2", hidden, config_.intermediate));
  SHORTLIST_ASSIGN_OR_RETURN(
      layer.attention_norm,
      ClipNorm::Load(checkpoint, absl::StrCat(prefix, "layer_norm1"), config_, pool));
  SHORTLIST_ASSIGN_OR_RETURN(
      layer.mlp_norm,
      ClipNorm::Load(checkpoint, absl::StrCat(prefix, "layer_norm2"), config_, pool));
  return layer;
}

absl::StatusOr<ClipTower> ClipTower::Load(Checkpoint& checkpoint, const std::string& prefix,
                                          const ClipTowerConfig& config, Kind kind, DType dtype,
                                          ThreadPool& pool) {
  ClipTower tower(config, kind);
  for (int64_t i = 0; i < config.num_layers; ++i) {
    SHORTLIST_ASSIGN_OR_RETURN(
        Layer layer,
        tower.LoadLayer(checkpoint, absl::StrCat(prefix, "encoder.layers.", i, "."), dtype, pool));
    tower.layers_.push_back(std::move(layer));
  }
  return tower;
}

float ClipTower::scale() const {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(config_.head_dim)));
}

void ClipTower::AttendToAll(const EncoderPass& pass, const Layer& layer, ThreadPool& pool) {
  const SequenceAttention attention = {
      .seq_begin = pass.seq_begin(),
      .num_heads = config_.num_heads,
      .head_dim = config_.head_dim,
      .bias = layer.qkv_bias.data(),
      .scale = scale(),
  };
  SequenceAttentionCpu(attention, static_cast<float*>(qkv_.data()),
                       static_cast<float*>(attended_.data()), pool);
}

/// Uses only the pass's own keys and values: those of token t are in slot t.
void ClipTower::AttendToPast(const EncoderPass& pass, const Layer& layer, ThreadPool& pool) {
  const int64_t num_tokens = pass.num_tokens(), hidden = config_.hidden;
  auto* const qkv = static_cast<float*>(qkv_.data());
  AddBiasCpu(qkv, layer.qkv_bias.data(), num_tokens, 3 * hidden, pool);
  const KvLayer cache = {.keys = keys_.data(),
                         .values = values_.data(),
                         .num_kv_heads = config_.num_heads,
                         .head_dim = config_.head_dim};
  StoreKvCpu(cache, qkv + hidden, qkv + 2 * hidden, 3 * hidden, slots_.data(), num_tokens, pool);
  const AttentionLayout layout = {.num_tokens = num_tokens,
                                  .seq_of_token = seq_of_token_.data(),
                                  .kv_indptr = pass.seq_begin().data(),
                                  .kv_slots = slots_.data(),
                                  .context_len = seen_.data()};
  AttentionCpu(cache, layout, qkv, 3 * hidden, config_.num_heads, scale(),
               static_cast<float*>(attended_.data()), pool);
}

void ClipTower::Forward(const EncoderPass& pass, float* hidden, ThreadPool& pool) {
  const int64_t num_tokens = pass.num_tokens(), width = config_.hidden;
  float* const normed = ReserveFloats(normed_, num_tokens * width);
  float* const qkv = ReserveFloats(qkv_, num_tokens * 3 * width);
  float* const attended = ReserveFloats(attended_, num_tokens * width);
  float* const inner = ReserveFloats(inner_, num_tokens * config_.intermediate);
  if (kind_ == Kind::kText) {
    ReserveFloats(keys_, num_tokens * width);
    ReserveFloats(values_, num_tokens * width);
    slots_.resize(static_cast<size_t>(num_tokens));
    std::iota(slots_.begin(), slots_.end(), 0);
    seq_of_token_.clear();
    seen_.clear();
    const std::span<const int32_t> begin = pass.seq_begin();
    for (size_t s = 0; s + 1 < begin.size(); ++s) {
      seq_of_token_.resize(static_cast<size_t>(begin[s + 1]), static_cast<int32_t>(s));
    }
    for (int64_t t = 0; t < num_tokens; ++t) seen_.push_back(pass.positions()[t] + 1);
  }
  for (const Layer& layer : layers_) {
    layer.attention_norm.Run(hidden, num_tokens, normed, pool);
    LinearCpu(layer.qkv, {normed}, num_tokens, qkv, /*accumulate=*/false, pool);
    if (kind_ == Kind::kText) {
      AttendToPast(pass, layer, pool);
    } else {
      AttendToAll(pass, layer, pool);
    }
    LinearCpu(layer.output.weight, {attended}, num_tokens, hidden, /*accumulate=*/true, pool);
    AddBiasCpu(hidden, layer.output.bias.floats(), num_tokens, width, pool);
    layer.mlp_norm.Run(hidden, num_tokens, normed, pool);
    ActivatedLinearCpu(layer.up.weight, layer.up.bias.floats(), {normed}, num_tokens,
                       config_.activation, inner, pool);
    LinearCpu(layer.down.weight, {inner}, num_tokens, hidden, /*accumulate=*/true, pool);
    AddBiasCpu(hidden, layer.down.bias.floats(), num_tokens, width, pool);
  }
}

}  // namespace shortlist
