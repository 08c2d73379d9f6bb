#include "cli/model_size.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/weight_block.h"
#include "kernels/quant.h"

namespace shortlist {
namespace {

constexpr int64_t kVectorBytes = 4;  // norms and biases are kept in f32

/// A weight matrix of a model, and the number of such matrices.
struct Matrix {
  int64_t rows;
  int64_t columns;
  int64_t count;
};

/// The linear layers, to which --quantize applies. An EAGLE head shares the target's head.
std::vector<Matrix> LinearLayers(const ModelConfig& c) {
  const int64_t q = c.num_heads * c.head_dim, kv = c.num_kv_heads * c.head_dim;
  const DeltaNetShape& d = c.delta_net;
  const int64_t num_recurrent = c.num_recurrent_layers();
  const int64_t num_attention = c.num_layers - num_recurrent;
  const ExpertShape& e = c.experts;
  const int64_t num_mixtures = std::ranges::count(e.layers, true);
  std::vector<Matrix> matrices = {{(c.output_gate ? 2 : 1) * q + 2 * kv, c.hidden, num_attention},
                                  {c.hidden, q, num_attention},
                                  {d.num_channels() + d.value_width(), c.hidden, num_recurrent},
                                  {c.hidden, d.value_width(), num_recurrent}};
  const auto add_mlps = [&](int64_t intermediate, int64_t count) {
    matrices.push_back({intermediate, c.hidden, 2 * count});
    matrices.push_back({c.hidden, intermediate, count});
  };
  add_mlps(c.intermediate, c.num_layers - num_mixtures);
  add_mlps(e.intermediate, num_mixtures * e.num_experts);
  if (e.shared_intermediate > 0) add_mlps(e.shared_intermediate, num_mixtures);
  if (c.is_eagle) matrices.push_back({c.hidden, 2 * c.hidden, 1});
  std::erase_if(matrices, [](const Matrix& matrix) { return matrix.count == 0; });
  return matrices;
}

/// Elements of norms, biases and routers.
int64_t NumVectorElements(const ModelConfig& c) {
  const int64_t attention_bias =
      (c.qkv_bias ? (c.num_heads + 2 * c.num_kv_heads) * c.head_dim : 0) +
      (c.output_bias ? c.hidden : 0);
  const int64_t mlp_bias = c.mlp_bias ? 2 * c.intermediate + c.hidden : 0;
  const NormNames& n = c.norms;
  const int64_t num_norms =
      std::ranges::count_if(std::array{n.mixer_input, n.mixer_output, n.mlp_input, n.mlp_output},
                            [](const char* name) { return name != nullptr; });
  const int64_t num_normed_heads = c.norms_all_heads ? c.num_heads + c.num_kv_heads : 2;
  const int64_t qk_norms = c.qk_norm ? num_normed_heads * c.head_dim : 0;
  // The convolution, and what is not quantised.
  const DeltaNetShape& d = c.delta_net;
  const int64_t delta_net =
      d.conv_len * d.num_channels() + 2 * d.num_value_heads * (c.hidden + 1) + d.value_dim;
  const int64_t num_recurrent = c.num_recurrent_layers();
  // Routers and gates of shared experts, which are never quantised.
  const int64_t routers =
      (c.experts.num_experts + (c.experts.shared_intermediate > 0 ? 1 : 0)) * c.hidden;
  const int64_t num_mixtures = std::ranges::count(c.experts.layers, true);
  // An EAGLE head's first layer has no input norm, and it has no final one.
  const int64_t ends = c.is_eagle ? (c.fc_bias ? c.hidden : 0) - c.hidden : c.hidden;
  return c.num_layers * (num_norms * c.hidden + mlp_bias) +
         (c.num_layers - num_recurrent) * (attention_bias + qk_norms) + num_recurrent * delta_net +
         num_mixtures * routers + ends;
}

}  // namespace

int64_t NumParameters(const ModelConfig& c) {
  int64_t count = NumVectorElements(c);
  for (const Matrix& m : LinearLayers(c)) count += m.rows * m.columns * m.count;
  if (c.is_eagle) return count;
  return count + (c.tie_word_embeddings ? 1 : 2) * c.vocab_size * c.hidden;
}

int64_t WeightBytes(const ModelConfig& c, DType dtype, DType weight_dtype) {
  int64_t bytes = NumVectorElements(c) * kVectorBytes;
  for (const Matrix& m : LinearLayers(c)) {
    bytes += m.count * (IsQuantized(weight_dtype)
                            ? (m.rows + 31) / 32 * QuantPanelBytes(weight_dtype, m.columns)
                            : m.rows * m.columns * DTypeBytes(weight_dtype));
  }
  if (c.is_eagle) return bytes;
  bytes += c.vocab_size * c.hidden * DTypeBytes(dtype);
  const bool shares = c.tie_word_embeddings && !IsQuantized(weight_dtype);
  return shares ? bytes : bytes + c.vocab_size * RowBytes(weight_dtype, c.hidden);
}

BlockSizes SizesInBlocks(const WeightFiles& weights, DType dtype) {
  BlockSizes sizes;
  for (const auto& [name, location] : weights.tensors()) {
    const TensorEntry& entry = *location.entry;
    if (const std::optional<DType> blocks = entry.block_type()) {
      const int64_t width = entry.shape.back();
      sizes.types.insert(*blocks);
      sizes.bytes += entry.num_elements / width * RowBytes(*blocks, width);
    } else {
      const bool is_vector = entry.shape.size() <= 1;
      sizes.bytes += entry.num_elements * (is_vector ? kVectorBytes : DTypeBytes(dtype));
    }
  }
  return sizes;
}

BlockSizes LargestPackedSizes(const ModelConfig& c, DType dtype) {
  const WeightPacking& packing = c.packing;
  const bool fits = packing.kind != WeightPacking::Kind::kNone && !packing.act_order &&
                    packing.group_size % BlockType::kGroup == 0;
  if (!fits || c.is_eagle) return {};
  BlockSizes sizes = {.types = {DType::kQ40, DType::kQ50},
                      .bytes = NumVectorElements(c) * kVectorBytes};
  for (const Matrix& m : LinearLayers(c)) {
    const bool is_whole = m.columns % BlockType::kGroup == 0;
    sizes.bytes += m.count * m.rows *
                   (is_whole ? RowBytes(DType::kQ50, m.columns) : m.columns * DTypeBytes(dtype));
  }
  const int64_t num_tables = c.tie_word_embeddings ? 1 : 2;
  sizes.bytes += num_tables * c.vocab_size * c.hidden * DTypeBytes(dtype);
  return sizes;
}

}  // namespace shortlist
