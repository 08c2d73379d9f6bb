#ifndef SHORTLIST_KERNELS_ATTENTION_H_
#define SHORTLIST_KERNELS_ATTENTION_H_

#include <cstdint>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/linear.h"

namespace shortlist {

/// What each query token of a flat batch sees. Extend, decode and tree verification are one
/// description.
///
/// Token t of sequence s = seq_of_token[t] attends, in this logical order, to
///   the first context_len[t] entries of the sequence's list  kv_slots[kv_indptr[s] .. kv_indptr[s
///   + 1]), then its own tail                                         tail_slots[tail_indptr[t] ..
///   tail_indptr[t + 1]).
/// A chain has no tails and context_len[t] = position + 1 (the token's own slot comes last). A tree
/// node has context_len = the prefix's length and as tail its ancestors in depth order and itself.
/// With a window, only the last `window` of these count (the token's own is one of them).
/// Sums run over logical positions, so the same tokens give the same bits wherever their slots lie.
///
/// Example: a prefix in slots 7 3, a chunk of two tokens in slots 9 4:
///   seq_of_token 0 0, kv_indptr 0 4, kv_slots 7 3 9 4, context_len 3 4.
struct AttentionLayout {
  int64_t num_tokens = 0;
  const int32_t* seq_of_token = nullptr;  // [num_tokens]
  const int32_t* kv_indptr = nullptr;     // [num_seqs + 1], first 0
  const int32_t* kv_slots = nullptr;      // [kv_indptr[num_seqs]], logical order
  const int32_t* context_len = nullptr;   // [num_tokens]
  const int32_t* tail_indptr = nullptr;   // [num_tokens + 1], first 0; null: no token has a tail
  const int32_t* tail_slots = nullptr;
  int64_t window = 0;  // 0: none
  // True: tokens may see slots that other sequences of this batch store, as where prefixes are
  // shared inside it. SelfAttentionCpu alone looks at it.
  bool shares_slots = false;
};

/// One layer's keys and values: [num_slots, num_kv_heads, head_dim] each.
struct KvLayer {
  void* keys = nullptr;
  void* values = nullptr;
  DType dtype = DType::kF32;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
};

/// Stores row t of keys and values into slot slots[t], rounded to the cache's dtype.
/// Row t of `keys` starts at keys + t * row_stride and is [num_kv_heads, head_dim] f32; `values`
/// alike. Slots are distinct. num_tokens = 0 does nothing.
void StoreKvCpu(const KvLayer& cache, const float* keys, const float* values, int64_t row_stride,
                const int32_t* slots, int64_t num_tokens, ThreadPool& pool);

/// out[t, h] = sum over seen positions p of softmax_p(scale * q[t, h] . k[p, h / group]) * v[p, h /
/// group] with group = num_heads / num_kv_heads.
///
/// Row t of `q` starts at q + t * q_stride and is [num_heads, head_dim] f32; out: [num_tokens,
/// num_heads * head_dim], dense. Keys and values are always read as stored, the chunk's own
/// included (call StoreKvCpu first); queries are rounded to bf16 against keys in bf16, as the
/// inputs of linear layers are. A matrix unit (Isa::kAmx) takes each exponential against values in
/// bf16 as two bf16, within 2^-17. `scale` is not negative. A token's result does not depend on the
/// rest of the batch. Every token sees at least one position.
void AttentionCpu(const KvLayer& cache, const AttentionLayout& layout, const float* q,
                  int64_t q_stride, int64_t num_heads, float scale, float* out, ThreadPool& pool);

/// How a layer's input becomes queries, keys and values: what they go through on their way to
/// attention, in this order. Rows lie by key/value head: the group of query heads that share it,
/// the key, the value; so whoever attends to a head projects it in one go.
struct QkvProjection {
  const PackedLinear* weight = nullptr;  // num_kv_heads * (group + 2) * head_dim output rows
  LinearInput input;                     // [num_tokens, in_features]
  int64_t num_heads = 0;
  const float* bias = nullptr;  // [output rows], added; null: none
  // Each query and key head is RMS-normalised (RmsNormCpu); null: not. [head_dim]
  const float* query_norm = nullptr;
  const float* key_norm = nullptr;
  float norm_epsilon = 0;
  // Each query and key head is rotated, half-split as Hugging Face's Llama does: with c =
  // cos[positions[t], i] and s = sin[...],
  //   (a, b) = (head[i], head[i + head_dim / 2])  becomes  (a c - b s, b c + a s).
  // head_dim is even. cos, sin: [max_positions, head_dim / 2]; positions: [num_tokens].
  const int32_t* positions = nullptr;
  const float* cos = nullptr;
  const float* sin = nullptr;
  const int32_t* slots = nullptr;  // [num_tokens], distinct: where keys and values are stored
  float* rows = nullptr;           // scratch, [num_tokens, output rows]: the result of all this
};

/// From a layer's input to its attended heads: projects, stores keys and values, then AttentionCpu.
/// Unless layout.shares_slots, no token sees a slot that another sequence of this batch stores.
void SelfAttentionCpu(const KvLayer& cache, const AttentionLayout& layout, const QkvProjection& qkv,
                      float scale, float* out, ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_ATTENTION_H_
