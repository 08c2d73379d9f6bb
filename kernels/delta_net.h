#ifndef SHORTLIST_KERNELS_DELTA_NET_H_
#define SHORTLIST_KERNELS_DELTA_NET_H_

#include <cstdint>
#include <span>

#include "base/thread_pool.h"

namespace shortlist {

/// The shape of a gated delta net, the recurrent layer of Qwen3-Next and Qwen3.5 (Yang, Kautz and
/// Hatamizadeh 2024, "Gated Delta Networks").
struct DeltaNetShape {
  int64_t num_key_heads = 0;    // of queries too
  int64_t num_value_heads = 0;  // a multiple of num_key_heads
  int64_t key_dim = 0;          // of a head
  int64_t value_dim = 0;        // of a head
  int64_t conv_len = 0;         // tokens that the convolution sees; at least 1
  // Whose key head value head j uses: j * num_key_heads / num_value_heads, or, tiled, j modulo
  // num_key_heads, as in GGUF files.
  bool is_tiled = false;

  /// Channels of a token's row: queries, keys, values; each by head.
  int64_t num_channels() const { return 2 * num_key_heads * key_dim + value_width(); }
  int64_t value_width() const { return num_value_heads * value_dim; }

  /// A head's state is [key_dim, value_dim], in panels of this many columns, padded with zeros.
  static constexpr int64_t kPanelColumns = 16;
  int64_t head_state_floats() const {
    return (value_dim + kPanelColumns - 1) / kPanelColumns * kPanelColumns * key_dim;
  }
  int64_t state_floats() const { return num_value_heads * head_state_floats(); }
};

struct DeltaNetWeights {
  const float* conv = nullptr;        // [conv_len, num_channels], the oldest token first
  const float* decay_rate = nullptr;  // [num_value_heads], positive
  const float* dt_bias = nullptr;     // [num_value_heads]
  const float* norm = nullptr;        // [value_dim]
  float norm_epsilon = 0;
};

/// Consecutive tokens of one sequence.
struct DeltaNetChain {
  // In: the state after the tokens before these; all zero at the start of a sequence. Out: the
  // state after the first num_final of these tokens. [num_value_heads, head_state_floats], the
  // heads of one key head side by side.
  float* state = nullptr;
  // Channels before the convolution, of the conv_len - 1 tokens before these (zeros at the start of
  // a sequence), then of these. [conv_len - 1 + num_tokens] pointers to [num_channels]
  std::span<const float* const> rows;
  // For each of these tokens, a, then b. [num_tokens] pointers to [2 * num_value_heads]
  std::span<const float* const> gates;
  int64_t num_final = 0;     // at most num_tokens
  int64_t num_replayed = 0;  // first tokens of these without a result; at most num_tokens
  // [num_tokens - num_replayed, value_width], dense: gates of the results, and the results
  const float* output_gates = nullptr;
  float* out = nullptr;

  int64_t num_tokens() const { return static_cast<int64_t>(gates.size()); }
};

/// Runs the chains. For each token, with u = SiLU of the convolution over its conv_len last rows,
/// q, k = a key head's part of u divided by its Euclidean norm (epsilon 1e-6 below the root), q
/// also by the root of key_dim, and for each of its value heads, with v its part of u:
///   decay = exp(-decay_rate * softplus(a + dt_bias)),  beta = 1 / (1 + e^-b)
///   d = beta * (v - decay * k^T S),  S becomes decay * S + k d^T,  o = q^T S
///   out = RMS norm of o (RmsNormCpu) * SiLU(output gate)
/// Each token is one step of the recurrence, in one order of arithmetic: a token's result has the
/// same bits however its sequence is cut into chains, replayed or batched.
void DeltaNetCpu(const DeltaNetShape& shape, const DeltaNetWeights& weights,
                 std::span<const DeltaNetChain> chains, ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_DELTA_NET_H_
