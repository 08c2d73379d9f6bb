#include "model/encoder_layer.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/sequence_attention.h"

namespace shortlist {
namespace {

using Family = EncoderConfig::Family;

float* Floats(Arena& arena) { return static_cast<float*>(arena.data()); }

/// Names of the tensors in a layer with BERT's structure.
struct BertNames {
  const char* layers;
  std::array<const char*, 3> qkv;
  const char* attention_output;
  const char* attention_norm;
  const char* up;
  const char* down;
  const char* mlp_norm;
};
constexpr BertNames kBertNames = {
    .layers = "encoder.layer.",
    .qkv = {"attention.self.query", "attention.self.key", "attention.self.value"},
    .attention_output = "attention.output.dense",
    .attention_norm = "attention.output.LayerNorm",
    .up = "intermediate.dense",
    .down = "output.dense",
    .mlp_norm = "output.LayerNorm"};
constexpr BertNames kDistilBertNames = {
    .layers = "transformer.layer.",
    .qkv = {"attention.q_lin", "attention.k_lin", "attention.v_lin"},
    .attention_output = "attention.out_lin",
    .attention_norm = "sa_layer_norm",
    .up = "ffn.lin1",
    .down = "ffn.lin2",
    .mlp_norm = "output_layer_norm"};

const BertNames& NamesOf(Family family) {
  return family == Family::kDistilBert ? kDistilBertNames : kBertNames;
}

}  // namespace

void EncoderScratch::Reserve(const EncoderConfig& config, int64_t num_tokens) {
  ReserveFloats(qkv, num_tokens * 3 * config.hidden);
  ReserveFloats(attended, num_tokens * config.hidden);
  if (config.family == Family::kModernBert) ReserveFloats(normed, num_tokens * config.hidden);
  ReserveFloats(inner, num_tokens * config.intermediate);
}

absl::StatusOr<NormWeight> NormWeight::Load(Checkpoint& checkpoint, const std::string& name,
                                            const EncoderConfig& config, ThreadPool& pool) {
  const bool is_old = checkpoint.Contains(absl::StrCat(name, ".gamma"));
  NormWeight norm;
  SHORTLIST_ASSIGN_OR_RETURN(norm.weight,
                             checkpoint.Load(absl::StrCat(name, is_old ? ".gamma" : ".weight"),
                                             {config.hidden}, DType::kF32, pool));
  if (!config.norm_bias) return norm;
  SHORTLIST_ASSIGN_OR_RETURN(
      norm.bias, checkpoint.Load(absl::StrCat(name, is_old ? ".beta" : ".bias"), {config.hidden},
                                 DType::kF32, pool));
  return norm;
}

LayerNorm NormWeight::View(const EncoderConfig& config) const {
  return {weight.floats(), bias.defined() ? bias.floats() : nullptr,
          static_cast<float>(config.norm_eps)};
}

void EncoderLayer::PackHeads(const std::array<HeadRows, 3>& parts, Checkpoint& checkpoint,
                             const EncoderConfig& config, DType dtype, ThreadPool& pool) {
  std::vector<MatrixView> blocks;
  for (int64_t head = 0; head < config.num_heads; ++head) {
    for (const HeadRows& part : parts) {
      blocks.push_back(part.weight->Rows(part.first_row + head * config.head_dim, config.head_dim));
    }
  }
  qkv_ = PackedLinear::Pack(blocks, config.hidden, dtype, pool, &checkpoint.packed_memory());
}

absl::Status EncoderLayer::LoadBert(Checkpoint& checkpoint, const std::string& body,
                                    const EncoderConfig& config, int64_t index, DType dtype,
                                    ThreadPool& pool) {
  const BertNames& names = NamesOf(config.family);
  const std::string prefix = absl::StrCat(body, names.layers, index, ".");
  const auto load_linear = [&](const char* name, int64_t out_features, int64_t in_features,
                               PackedLinear& weight, Matrix& bias) -> absl::Status {
    SHORTLIST_ASSIGN_OR_RETURN(weight, LoadLinear(checkpoint, absl::StrCat(prefix, name, ".weight"),
                                                  out_features, in_features, dtype, pool));
    SHORTLIST_ASSIGN_OR_RETURN(bias, checkpoint.Load(absl::StrCat(prefix, name, ".bias"),
                                                     {out_features}, DType::kF32, pool));
    return absl::OkStatus();
  };
  std::array<SourceWeight, 3> weights;
  std::array<Matrix, 3> biases;
  for (size_t i = 0; i < weights.size(); ++i) {
    const std::string name = absl::StrCat(prefix, names.qkv[i]);
    SHORTLIST_ASSIGN_OR_RETURN(weights[i], LoadSource(checkpoint, absl::StrCat(name, ".weight"),
                                                      config.hidden, config.hidden, dtype, pool));
    SHORTLIST_ASSIGN_OR_RETURN(biases[i], checkpoint.Load(absl::StrCat(name, ".bias"),
                                                          {config.hidden}, DType::kF32, pool));
  }
  PackHeads({{{&weights[0], 0}, {&weights[1], 0}, {&weights[2], 0}}}, checkpoint, config, dtype,
            pool);
  for (int64_t head = 0; head < config.num_heads; ++head) {
    for (const Matrix& bias : biases) {
      const float* const own = bias.floats() + head * config.head_dim;
      qkv_bias_.insert(qkv_bias_.end(), own, own + config.head_dim);
    }
  }
  SHORTLIST_RETURN_IF_ERROR(
      load_linear(names.attention_output, config.hidden, config.hidden, output_, output_bias_));
  SHORTLIST_ASSIGN_OR_RETURN(
      attention_norm_,
      NormWeight::Load(checkpoint, absl::StrCat(prefix, names.attention_norm), config, pool));
  SHORTLIST_RETURN_IF_ERROR(
      load_linear(names.up, config.intermediate, config.hidden, up_, up_bias_));
  SHORTLIST_RETURN_IF_ERROR(
      load_linear(names.down, config.hidden, config.intermediate, down_, down_bias_));
  SHORTLIST_ASSIGN_OR_RETURN(
      mlp_norm_, NormWeight::Load(checkpoint, absl::StrCat(prefix, names.mlp_norm), config, pool));
  return absl::OkStatus();
}

absl::Status EncoderLayer::LoadModernBert(Checkpoint& checkpoint, const std::string& prefix,
                                          const EncoderConfig& config, int64_t index, DType dtype,
                                          ThreadPool& pool) {
  is_local_ = config.is_local[index];
  // Before the first layer, the embeddings' norm takes this place.
  if (index > 0) {
    SHORTLIST_ASSIGN_OR_RETURN(
        attention_norm_,
        NormWeight::Load(checkpoint, absl::StrCat(prefix, "attn_norm"), config, pool));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const SourceWeight qkv,
                             LoadSource(checkpoint, absl::StrCat(prefix, "attn.Wqkv.weight"),
                                        3 * config.hidden, config.hidden, dtype, pool));
  PackHeads({{{&qkv, 0}, {&qkv, config.hidden}, {&qkv, 2 * config.hidden}}}, checkpoint, config,
            dtype, pool);
  SHORTLIST_ASSIGN_OR_RETURN(output_, LoadLinear(checkpoint, absl::StrCat(prefix, "attn.Wo.weight"),
                                                 config.hidden, config.hidden, dtype, pool));
  SHORTLIST_ASSIGN_OR_RETURN(
      mlp_norm_, NormWeight::Load(checkpoint, absl::StrCat(prefix, "mlp_norm"), config, pool));
  SHORTLIST_ASSIGN_OR_RETURN(const SourceWeight up_gate,
                             LoadSource(checkpoint, absl::StrCat(prefix, "mlp.Wi.weight"),
                                        2 * config.intermediate, config.hidden, dtype, pool));
  const auto pack = [&](int64_t first_row) {
    const MatrixView rows = up_gate.Rows(first_row, config.intermediate);
    return PackedLinear::Pack({&rows, 1}, config.hidden, dtype, pool, &checkpoint.packed_memory());
  };
  up_ = pack(0);
  gate_ = pack(config.intermediate);
  SHORTLIST_ASSIGN_OR_RETURN(down_, LoadLinear(checkpoint, absl::StrCat(prefix, "mlp.Wo.weight"),
                                               config.hidden, config.intermediate, dtype, pool));
  return absl::OkStatus();
}

absl::StatusOr<EncoderLayer> EncoderLayer::Load(Checkpoint& checkpoint, const std::string& prefix,
                                                const EncoderConfig& config, int64_t index,
                                                DType dtype, ThreadPool& pool) {
  EncoderLayer layer;
  if (config.family == Family::kModernBert) {
    SHORTLIST_RETURN_IF_ERROR(layer.LoadModernBert(
        checkpoint, absl::StrCat(prefix, "layers.", index, "."), config, index, dtype, pool));
  } else {
    SHORTLIST_RETURN_IF_ERROR(layer.LoadBert(checkpoint, prefix, config, index, dtype, pool));
  }
  return layer;
}

void EncoderLayer::Attend(const EncoderConfig& config, const EncoderPass& pass,
                          const RopeTable* rope, const float* x, EncoderScratch& scratch,
                          ThreadPool& pool) const {
  float* const qkv = Floats(scratch.qkv);
  LinearCpu(qkv_, {x}, pass.num_tokens(), qkv, /*accumulate=*/false, pool);
  const SequenceAttention attention = {
      .seq_begin = pass.seq_begin(),
      .num_heads = config.num_heads,
      .head_dim = config.head_dim,
      .radius = is_local_ ? config.local_radius : -1,
      .bias = qkv_bias_.empty() ? nullptr : qkv_bias_.data(),
      .cos = rope == nullptr ? nullptr : rope->cos(),
      .sin = rope == nullptr ? nullptr : rope->sin(),
      .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim))),
      .dtype = qkv_.dtype(),
  };
  SequenceAttentionCpu(attention, qkv, Floats(scratch.attended), pool);
}

void EncoderLayer::Forward(const EncoderConfig& config, const EncoderPass& pass,
                           const RopeTable* rope, float* hidden, EncoderScratch& scratch,
                           ThreadPool& pool) const {
  const int64_t num_tokens = pass.num_tokens();
  const float* const attended = Floats(scratch.attended);
  float* const inner = Floats(scratch.inner);
  const auto normalise = [&](const NormWeight& norm, const float* addend, float* out) {
    LayerNormCpu(hidden, addend, norm.View(config), num_tokens, config.hidden, out, pool);
  };
  const auto add = [&](const PackedLinear& weight, const float* x) {
    LinearCpu(weight, {x}, num_tokens, hidden, /*accumulate=*/true, pool);
  };
  if (config.family == Family::kModernBert) {
    float* const normed = Floats(scratch.normed);
    const bool has_norm = attention_norm_.weight.defined();
    if (has_norm) normalise(attention_norm_, /*addend=*/nullptr, normed);
    Attend(config, pass, rope, has_norm ? normed : hidden, scratch, pool);
    add(output_, attended);
    normalise(mlp_norm_, /*addend=*/nullptr, normed);
    GatedLinearCpu(up_, gate_, {normed}, num_tokens, config.activation, inner, pool);
    add(down_, inner);
    return;
  }
  Attend(config, pass, rope, hidden, scratch, pool);
  add(output_, attended);
  normalise(attention_norm_, output_bias_.floats(), hidden);
  ActivatedLinearCpu(up_, up_bias_.floats(), {hidden}, num_tokens, config.activation, inner, pool);
  add(down_, inner);
  normalise(mlp_norm_, down_bias_.floats(), hidden);
}

}  // namespace shortlist
