#ifndef SHORTLIST_KERNELS_ATTENTION_H_
#define SHORTLIST_KERNELS_ATTENTION_H_

#include <cstdint>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/linear.h"

namespace shortlist {

/// Describes what each query token of a flat batch sees. Extend, decode and tree verification all
/// use this description.
///
/// Token t of sequence s = seq_of_token[t] attends to these slots, in this logical order:
///   1. the first context_len[t] entries of the sequence's list,
///      kv_slots[kv_indptr[s] .. kv_indptr[s + 1])
///   2. the token's own tail, tail_slots[tail_indptr[t] .. tail_indptr[t + 1])
/// A chain has no tails and context_len[t] = position + 1 (the token's own slot comes last). For a
/// tree node, context_len is the prefix's length. The tail holds the node's ancestors in depth
/// order, then the node itself. With a window, only the last `window` of these slots count,
/// including the token's own. Sums run over logical positions, so the same tokens give the same
/// bits wherever their slots lie.
///
/// Example: a prefix in slots 7 3 and a chunk of two tokens in slots 9 4:
///   seq_of_token 0 0, kv_indptr 0 4, kv_slots 7 3 9 4, context_len 3 4.
struct AttentionLayout {
  int64_t num_tokens = 0;
  const int32_t* seq_of_token = nullptr;  // [num_tokens]
  const int32_t* kv_indptr = nullptr;     // [num_seqs + 1], first 0
  const int32_t* kv_slots = nullptr;      // [kv_indptr[num_seqs]], logical order
  const int32_t* context_len = nullptr;   // [num_tokens]
  const int32_t* tail_indptr = nullptr;   // [num_tokens + 1], first 0; null: no token has a tail
  const int32_t* tail_slots = nullptr;
  int64_t window = 0;  // 0: no window
  // True if tokens may see slots that other sequences of this batch store, as with a prefix shared
  // inside the batch. Only SelfAttentionCpu reads this field.
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

/// Stores row t of keys and values into slot slots[t], rounded to the cache's dtype. Row t of
/// `keys` starts at keys + t * row_stride and is [num_kv_heads, head_dim] f32; `values` has the
/// same layout. Slots are distinct. num_tokens = 0 does nothing.
void StoreKvCpu(const KvLayer& cache, const float* keys, const float* values, int64_t row_stride,
                const int32_t* slots, int64_t num_tokens, ThreadPool& pool);

/// out[t, h] = sum over seen positions p of softmax_p(scale * q[t, h] . k[p, h / group]) * v[p, h /
/// group] with group = num_heads / num_kv_heads.
///
/// Row t of `q` starts at q + t * q_stride and is [num_heads, head_dim] f32; out: [num_tokens,
/// num_heads * head_dim], dense. Keys and values are always read as stored, including those of the
/// same chunk (call StoreKvCpu first). Queries are rounded to bf16 if keys are bf16, like the
/// inputs of linear layers. With values in bf16, a matrix unit (Isa::kAmx) represents each
/// exponential by two bf16, within 2^-17. `scale` is not negative. A token's result does not depend
/// on the rest of the batch. Every token sees at least one position.
void AttentionCpu(const KvLayer& cache, const AttentionLayout& layout, const float* q,
                  int64_t q_stride, int64_t num_heads, float scale, float* out, ThreadPool& pool);

/// Describes how a layer's input becomes queries, keys and values. The steps before attention apply
/// in the order of the fields. Output rows are grouped by key/value head: the query heads that
/// share it, its key, its value. So a thread can project and attend to one head in one go.
struct QkvProjection {
  const PackedLinear* weight = nullptr;  // num_kv_heads * (group + 2) * head_dim output rows
  LinearInput input;                     // [num_tokens, in_features]
  int64_t num_heads = 0;
  const float* bias = nullptr;  // [output rows], added; null: no bias
  // Each query and key head is RMS-normalised (RmsNormCpu); null: not normalised. [head_dim]. With
  // norms_all_heads, a token's query heads are normalised as one row, and so are its key heads:
  // [num_heads * head_dim] and [num_kv_heads * head_dim], both or none.
  const float* query_norm = nullptr;
  const float* key_norm = nullptr;
  bool norms_all_heads = false;
  float norm_epsilon = 0;
  // The first rotary_dim dimensions of each query and key head are rotated, half-split as in
  // Hugging Face's Llama: with c = cos[positions[t], i] and s = sin[...],
  //   (a, b) = (head[i], head[i + rotary_dim / 2])  becomes  (a c - b s, b c + a s).
  // rotary_dim is even, at most head_dim; 0: no rotation. cos, sin: [max_positions, rotary_dim /
  // 2]; positions: [num_tokens].
  int64_t rotary_dim = 0;
  const int32_t* positions = nullptr;
  const float* cos = nullptr;
  const float* sin = nullptr;
  // Queries are multiplied by query_scale[positions[t]]; null: by 1. [max_positions]
  const float* query_scale = nullptr;
  const int32_t* slots = nullptr;  // [num_tokens], distinct: where keys and values are stored
  float* rows = nullptr;           // scratch, [num_tokens, output rows]: result of these steps
};

/// Computes attended heads from a layer's input: projects it, stores keys and values, then attends
/// like AttentionCpu. Unless layout.shares_slots, no token sees a slot that another sequence of
/// this batch stores.
void SelfAttentionCpu(const KvLayer& cache, const AttentionLayout& layout, const QkvProjection& qkv,
                      float scale, float* out, ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_ATTENTION_H_
