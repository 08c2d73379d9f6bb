#include "model/attention.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/elementwise.h"
#include "model/linear_weight.h"
#include "model/norm_weight.h"

namespace shortlist {
namespace {

/// A weight, and its number of rows for each key/value head.
struct Part {
  const char* name;
  int64_t head_rows;
};

/// Returns where the rows of a query or key head lie in it: those that rotate together half a head
/// apart, as the kernel wants them, are stored next to each other if config.rotates_neighbours.
std::vector<int64_t> RowsOfHeads(const ModelConfig& config) {
  std::vector<int64_t> rows;
  for (int64_t first : {0, 1}) {
    for (int64_t i = first; i < config.rotary_dim; i += 2) rows.push_back(i);
  }
  for (int64_t i = config.rotary_dim; i < config.head_dim; ++i) rows.push_back(i);
  return rows;
}

/// The weights that become one, query, key and value.
std::array<Part, 3> PartsOf(const ModelConfig& config) {
  const int64_t group = config.num_heads / config.num_kv_heads;
  return {Part{"q_proj", group * config.head_dim}, Part{"k_proj", config.head_dim},
          Part{"v_proj", config.head_dim}};
}

}  // namespace

absl::Status Attention::LoadProjections(Checkpoint& checkpoint, const std::string& prefix,
                                        const ModelConfig& config, int64_t input_width, DType dtype,
                                        ThreadPool& pool) {
  const std::array parts = PartsOf(config);
  const int64_t head_dim = config.head_dim;
  const int64_t group = config.num_heads / config.num_kv_heads;
  const auto name_of = [&](size_t i) { return absl::StrCat(prefix, parts[i].name, ".weight"); };
  if (config.fused_qkv) {
    std::vector<WeightFiles::Rows> rows;
    int64_t num_rows = 0;
    for (const Part& part : parts) {
      rows.push_back(
          {absl::StrCat(prefix, part.name, ".weight"), part.head_rows * config.num_kv_heads});
      num_rows += rows.back().num_rows;
    }
    SHORTLIST_RETURN_IF_ERROR(
        checkpoint.Split(absl::StrCat(prefix, "qkv_proj.weight"), {num_rows, input_width}, rows));
  }
  const auto num_rows = [&](size_t i) {
    const bool has_gate = i == 0 && config.output_gate;
    return parts[i].head_rows * config.num_kv_heads * (has_gate ? 2 : 1);
  };
  // Rows of the three weights alternate. Those in blocks are decoded where they cannot.
  std::array<SourceWeight, 3> weights;
  // With output gates, the rows of each query head are followed by those of its gate.
  const std::vector<int64_t> head_rows = RowsOfHeads(config);
  const auto rows_of_weights = [&] {
    std::vector<MatrixView> rows;
    for (int64_t head = 0; head < config.num_kv_heads; ++head) {
      for (size_t i = 0; i < parts.size(); ++i) {
        if (config.rotates_neighbours && i < 2) {
          for (int64_t first = 0; first < parts[i].head_rows; first += head_dim) {
            for (const int64_t row : head_rows) {
              rows.push_back(weights[i].Rows(head * parts[i].head_rows + first + row, 1));
            }
          }
          continue;
        }
        if (i > 0 || !config.output_gate) {
          rows.push_back(weights[i].Rows(head * parts[i].head_rows, parts[i].head_rows));
          continue;
        }
        for (int64_t q = head * group; q < (head + 1) * group; ++q) {
          rows.push_back(weights[i].Rows(q * 2 * head_dim, head_dim));
        }
      }
    }
    return rows;
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    weights[i].dtype =
        checkpoint.StoredBlocks(name_of(i), num_rows(i), input_width, pool).value_or(dtype);
  }
  const bool decode = !PackedLinear::CanPackBlocks(rows_of_weights());
  for (size_t i = 0; i < parts.size(); ++i) {
    SHORTLIST_ASSIGN_OR_RETURN(weights[i], LoadSource(checkpoint, name_of(i), num_rows(i),
                                                      input_width, dtype, pool, decode));
  }
  qkv_ = PackRows(checkpoint, rows_of_weights(), input_width, dtype, pool);
  if (!config.output_gate) return absl::OkStatus();
  std::vector<MatrixView> gates;
  for (int64_t q = 0; q < config.num_heads; ++q) {
    gates.push_back(weights[0].Rows((2 * q + 1) * head_dim, head_dim));
  }
  gate_ = PackRows(checkpoint, gates, input_width, dtype, pool);
  return absl::OkStatus();
}

absl::Status Attention::LoadBiases(Checkpoint& checkpoint, const std::string& prefix,
                                   const ModelConfig& config, ThreadPool& pool) {
  const std::array parts = PartsOf(config);
  const std::vector<int64_t> head_rows = RowsOfHeads(config);
  std::array<Matrix, 3> biases;
  for (size_t i = 0; i < parts.size(); ++i) {
    SHORTLIST_ASSIGN_OR_RETURN(
        biases[i], checkpoint.Load(absl::StrCat(prefix, parts[i].name, ".bias"),
                                   {parts[i].head_rows * config.num_kv_heads}, DType::kF32, pool));
  }
  for (int64_t head = 0; head < config.num_kv_heads; ++head) {
    for (size_t i = 0; i < parts.size(); ++i) {
      const float* const bias = biases[i].floats() + head * parts[i].head_rows;
      if (!config.rotates_neighbours || i == 2) {
        qkv_bias_.insert(qkv_bias_.end(), bias, bias + parts[i].head_rows);
        continue;
      }
      for (int64_t first = 0; first < parts[i].head_rows; first += config.head_dim) {
        for (const int64_t row : head_rows) qkv_bias_.push_back(bias[first + row]);
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Attention> Attention::Load(Checkpoint& checkpoint, const std::string& prefix,
                                          const ModelConfig& config, int64_t index,
                                          int64_t input_width, DType dtype, ThreadPool& pool) {
  Attention attention;
  if (!config.windows.empty()) attention.window_ = config.windows[index];
  const bool rotates = config.unrotated.empty() || !config.unrotated[index];
  attention.rotary_dim_ = rotates ? config.rotary_dim : 0;
  SHORTLIST_RETURN_IF_ERROR(
      attention.LoadProjections(checkpoint, prefix, config, input_width, dtype, pool));
  if (config.qkv_bias) {
    SHORTLIST_RETURN_IF_ERROR(attention.LoadBiases(checkpoint, prefix, config, pool));
  }
  SHORTLIST_ASSIGN_OR_RETURN(
      attention.output_,
      LoadLinear(checkpoint, absl::StrCat(prefix, "o_proj.weight"), config.hidden,
                 config.num_heads * config.head_dim, dtype, pool));
  if (config.output_bias) {
    SHORTLIST_ASSIGN_OR_RETURN(
        attention.output_bias_,
        checkpoint.Load(absl::StrCat(prefix, "o_proj.bias"), {config.hidden}, DType::kF32, pool));
  }
  if (!config.qk_norm) return attention;
  const auto load = [&](const char* name, int64_t num_heads) {
    const int64_t size = (config.norms_all_heads ? num_heads : 1) * config.head_dim;
    return LoadNorm(checkpoint, absl::StrCat(prefix, name), size, config.norm_offset, pool);
  };
  SHORTLIST_ASSIGN_OR_RETURN(attention.query_norm_, load("q_norm.weight", config.num_heads));
  SHORTLIST_ASSIGN_OR_RETURN(attention.key_norm_, load("k_norm.weight", config.num_kv_heads));
  return attention;
}

const float* Attention::Forward(const ModelConfig& config, const ForwardBatch& batch,
                                const KvLayer& cache, const RopeTable& rope,
                                const LinearInput& input, LayerScratch& scratch,
                                ThreadPool& pool) const {
  const QkvProjection qkv = {
      .weight = &qkv_,
      .input = input,
      .num_heads = config.num_heads,
      .bias = qkv_bias_.empty() ? nullptr : qkv_bias_.data(),
      .query_norm = query_norm_.defined() ? query_norm_.floats() : nullptr,
      .key_norm = key_norm_.defined() ? key_norm_.floats() : nullptr,
      .norms_all_heads = config.norms_all_heads,
      .norm_epsilon = static_cast<float>(config.rms_norm_eps),
      .rotary_dim = rotary_dim_,
      .positions = batch.positions().data(),
      .cos = rope.cos(),
      .sin = rope.sin(),
      .query_scale = rope.query_scale(),
      .slots = batch.out_slots().data(),
      .rows = FloatsOf(scratch.qkv),
  };
  AttentionLayout layout = batch.layout();
  layout.window = window_;
  float* const attended = FloatsOf(scratch.attended);
  SelfAttentionCpu(cache, layout, qkv, static_cast<float>(config.attention_scale), attended, pool);
  if (!config.output_gate) return attended;
  float* const gate = FloatsOf(scratch.gate);
  LinearCpu(gate_, input, batch.num_tokens(), gate, /*accumulate=*/false, pool);
  GateCpu(Activation::kSigmoid, gate, batch.num_tokens(), config.num_heads * config.head_dim,
          attended, pool);
  return attended;
}

}  // namespace shortlist
