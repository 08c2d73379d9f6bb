#include "model/decoder_layer.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"

namespace shortlist {

void LayerScratch::Reserve(const ModelConfig& config, int64_t num_tokens) {
  ReserveFloats(qkv, num_tokens * (config.num_heads + 2 * config.num_kv_heads) * config.head_dim);
  ReserveFloats(attended, num_tokens * config.num_heads * config.head_dim);
  ReserveFloats(gated, num_tokens * config.intermediate);
  if (config.output_norms) ReserveFloats(branch, num_tokens * config.hidden);
}

absl::StatusOr<Matrix> LoadNorm(Checkpoint& checkpoint, const std::string& name, int64_t size,
                                const ModelConfig& config, ThreadPool& pool) {
  SHORTLIST_ASSIGN_OR_RETURN(Matrix weight, checkpoint.Load(name, {size}, DType::kF32, pool));
  if (config.norm_offset == 0.0) {
    const bool is_zero = std::all_of(weight.floats(), weight.floats() + size,
                                     [](float value) { return value == 0.0f; });
    if (!is_zero) return weight;
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", Excerpt(name),
                     " is all zeros: a norm that lets nothing pass; the "
                     "file is damaged"));
  }
  Matrix sum(weight.rows(), weight.cols());
  std::transform(weight.floats(), weight.floats() + size, sum.floats(),
                 [&](float value) { return value + static_cast<float>(config.norm_offset); });
  return sum;
}

absl::Status DecoderLayer::LoadAttention(Checkpoint& checkpoint, const std::string& prefix,
                                         const ModelConfig& config, int64_t input_width,
                                         DType dtype, ThreadPool& pool) {
  const int64_t q_features = config.num_heads * config.head_dim;
  // A weight, and its number of rows for each key/value head.
  struct Part {
    const char* name;
    int64_t head_rows;
  };
  const std::array parts = {Part{"q_proj", q_features / config.num_kv_heads},
                            Part{"k_proj", config.head_dim}, Part{"v_proj", config.head_dim}};
  // Rows of the three weights alternate. Those in blocks are decoded where they cannot.
  std::array<SourceWeight, 3> weights;
  const auto rows_of_weights = [&] {
    std::vector<MatrixView> rows;
    for (int64_t head = 0; head < config.num_kv_heads; ++head) {
      for (size_t i = 0; i < parts.size(); ++i) {
        rows.push_back(weights[i].Rows(head * parts[i].head_rows, parts[i].head_rows));
      }
    }
    return rows;
  };
  const auto name_of = [&](size_t i) { return absl::StrCat(prefix, parts[i].name, ".weight"); };
  for (size_t i = 0; i < parts.size(); ++i) {
    weights[i].dtype =
        checkpoint
            .StoredBlocks(name_of(i), parts[i].head_rows * config.num_kv_heads, input_width, pool)
            .value_or(dtype);
  }
  const bool decode = !PackedLinear::CanPackBlocks(rows_of_weights());
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t num_rows = parts[i].head_rows * config.num_kv_heads;
    SHORTLIST_ASSIGN_OR_RETURN(
        weights[i], LoadSource(checkpoint, name_of(i), num_rows, input_width, dtype, pool, decode));
  }
  qkv_ = PackRows(checkpoint, rows_of_weights(), input_width, dtype, pool);
  if (config.qkv_bias) {
    std::array<Matrix, 3> biases;
    for (size_t i = 0; i < parts.size(); ++i) {
      SHORTLIST_ASSIGN_OR_RETURN(
          biases[i],
          checkpoint.Load(absl::StrCat(prefix, parts[i].name, ".bias"),
                          {parts[i].head_rows * config.num_kv_heads}, DType::kF32, pool));
    }
    for (int64_t head = 0; head < config.num_kv_heads; ++head) {
      for (size_t i = 0; i < parts.size(); ++i) {
        const float* const bias = biases[i].floats() + head * parts[i].head_rows;
        qkv_bias_.insert(qkv_bias_.end(), bias, bias + parts[i].head_rows);
      }
    }
  }
  SHORTLIST_ASSIGN_OR_RETURN(output_, LoadLinear(checkpoint, absl::StrCat(prefix, "o_proj.weight"),
                                                 config.hidden, q_features, dtype, pool));
  const auto load = [&](const char* name) {
    return LoadNorm(checkpoint, absl::StrCat(prefix, name), config.head_dim, config, pool);
  };
  if (config.qk_norm) {
    SHORTLIST_ASSIGN_OR_RETURN(query_norm_, load("q_norm.weight"));
    SHORTLIST_ASSIGN_OR_RETURN(key_norm_, load("k_norm.weight"));
  }
  return absl::OkStatus();
}

absl::Status DecoderLayer::LoadNorms(Checkpoint& checkpoint, const std::string& prefix,
                                     const ModelConfig& config, bool has_input_norm,
                                     ThreadPool& pool) {
  const auto load = [&](const char* name) {
    return LoadNorm(checkpoint, absl::StrCat(prefix, name), config.hidden, config, pool);
  };
  if (has_input_norm) {
    SHORTLIST_ASSIGN_OR_RETURN(input_norm_, load("input_layernorm.weight"));
  }
  if (!config.output_norms) {
    // Despite its name, the norm of the MLP's input.
    SHORTLIST_ASSIGN_OR_RETURN(mlp_input_norm_, load("post_attention_layernorm.weight"));
    return absl::OkStatus();
  }
  SHORTLIST_ASSIGN_OR_RETURN(attention_norm_, load("post_attention_layernorm.weight"));
  SHORTLIST_ASSIGN_OR_RETURN(mlp_input_norm_, load("pre_feedforward_layernorm.weight"));
  SHORTLIST_ASSIGN_OR_RETURN(mlp_norm_, load("post_feedforward_layernorm.weight"));
  return absl::OkStatus();
}

absl::StatusOr<DecoderLayer> DecoderLayer::Load(Checkpoint& checkpoint, const std::string& prefix,
                                                const ModelConfig& config, int64_t index,
                                                AttentionInput input, DType dtype,
                                                ThreadPool& pool) {
  DecoderLayer layer;
  if (!config.windows.empty()) layer.window_ = config.windows[index];
  const bool has_input_norm = input == AttentionInput::kNormed;
  SHORTLIST_RETURN_IF_ERROR(layer.LoadNorms(checkpoint, prefix, config, has_input_norm, pool));
  const int64_t input_width = (input == AttentionInput::kJoined ? 2 : 1) * config.hidden;
  SHORTLIST_RETURN_IF_ERROR(layer.LoadAttention(checkpoint, absl::StrCat(prefix, "self_attn."),
                                                config, input_width, dtype, pool));
  // GatedLinearCpu gives both weights the same inputs.
  const std::string gate = absl::StrCat(prefix, "mlp.gate_proj.weight");
  const std::string up = absl::StrCat(prefix, "mlp.up_proj.weight");
  const auto in_blocks = [&](const std::string& name) {
    return checkpoint.StoredBlocks(name, config.intermediate, config.hidden, pool).has_value();
  };
  const bool decode = in_blocks(gate) != in_blocks(up);
  SHORTLIST_ASSIGN_OR_RETURN(layer.gate_, LoadLinear(checkpoint, gate, config.intermediate,
                                                     config.hidden, dtype, pool, decode));
  SHORTLIST_ASSIGN_OR_RETURN(layer.up_, LoadLinear(checkpoint, up, config.intermediate,
                                                   config.hidden, dtype, pool, decode));
  SHORTLIST_ASSIGN_OR_RETURN(layer.down_,
                             LoadLinear(checkpoint, absl::StrCat(prefix, "mlp.down_proj.weight"),
                                        config.hidden, config.intermediate, dtype, pool));
  return layer;
}

void DecoderLayer::Forward(const ModelConfig& config, const ForwardBatch& batch,
                           const KvLayer& cache, const RopeTable& rope, float* hidden,
                           LayerScratch& scratch, ThreadPool& pool, const float* joined) const {
  const int64_t num_tokens = batch.num_tokens();
  const float epsilon = static_cast<float>(config.rms_norm_eps);
  const auto normed = [&](const Matrix& weight) -> LinearInput {
    return {hidden, weight.defined() ? weight.floats() : nullptr, epsilon};
  };
  const auto floats_of = [](Arena& arena) { return static_cast<float*>(arena.data()); };
  float* const attended = floats_of(scratch.attended);
  float* const gated = floats_of(scratch.gated);
  const QkvProjection qkv = {
      .weight = &qkv_,
      .input = joined != nullptr ? LinearInput{joined} : normed(input_norm_),
      .num_heads = config.num_heads,
      .bias = qkv_bias_.empty() ? nullptr : qkv_bias_.data(),
      .query_norm = query_norm_.defined() ? query_norm_.floats() : nullptr,
      .key_norm = key_norm_.defined() ? key_norm_.floats() : nullptr,
      .norm_epsilon = epsilon,
      .positions = batch.positions().data(),
      .cos = rope.cos(),
      .sin = rope.sin(),
      .slots = batch.out_slots().data(),
      .rows = floats_of(scratch.qkv),
  };
  // Adds the layer's output to the residual stream, after a norm if there is one.
  const auto add = [&](const PackedLinear& weight, const float* input, const Matrix& norm) {
    if (!norm.defined()) {
      LinearCpu(weight, {input}, num_tokens, hidden, /*accumulate=*/true, pool);
      return;
    }
    float* const branch = floats_of(scratch.branch);
    LinearCpu(weight, {input}, num_tokens, branch, /*accumulate=*/false, pool);
    AddRmsNormCpu(branch, norm.floats(), epsilon, num_tokens, config.hidden, hidden, pool);
  };
  AttentionLayout layout = batch.layout();
  layout.window = window_;
  SelfAttentionCpu(cache, layout, qkv, static_cast<float>(config.attention_scale), attended, pool);
  add(output_, attended, attention_norm_);

  GatedLinearCpu(gate_, up_, normed(mlp_input_norm_), num_tokens, config.activation, gated, pool);
  add(down_, gated, mlp_norm_);
}

void CheckBatch(const ModelConfig& config, DType dtype, const ForwardBatch& batch,
                const KvCache& cache) {
  SHORTLIST_CHECK(cache.num_layers() == config.num_layers);
  const KvLayer& kv = cache.layer(0);
  SHORTLIST_CHECK(kv.dtype == dtype);
  SHORTLIST_CHECK(kv.num_kv_heads == config.num_kv_heads && kv.head_dim == config.head_dim);
  const auto all_below = [](std::span<const int32_t> values, int64_t bound) {
    return std::all_of(values.begin(), values.end(),
                       [bound](int32_t value) { return value >= 0 && value < bound; });
  };
  SHORTLIST_CHECK(all_below(batch.token_ids(), config.vocab_size));
  SHORTLIST_CHECK(all_below(batch.positions(), config.context_len));
  SHORTLIST_CHECK(all_below(batch.out_slots(), cache.num_slots()));
  if (batch.num_tokens() == 0) return;
  const AttentionLayout layout = batch.layout();
  const int32_t num_seqs = layout.seq_of_token[layout.num_tokens - 1] + 1;
  const size_t num_kv_slots = static_cast<size_t>(layout.kv_indptr[num_seqs]);
  SHORTLIST_CHECK(all_below({layout.kv_slots, num_kv_slots}, cache.num_slots()));
}

int64_t PositionsNeeded(const ForwardBatch& batch) {
  int64_t needed = 0;
  for (const int32_t position : batch.positions()) needed = std::max<int64_t>(needed, position + 1);
  return needed;
}

}  // namespace shortlist
