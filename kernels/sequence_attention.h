#ifndef SHORTLIST_KERNELS_SEQUENCE_ATTENTION_H_
#define SHORTLIST_KERNELS_SEQUENCE_ATTENTION_H_

#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "base/thread_pool.h"

namespace shortlist {

/// Attention of an encoder: whole sequences at once, each token seeing both sides of itself.
/// Nothing is kept from one call to the next.
struct SequenceAttention {
  std::span<const int32_t> seq_begin;  // [num_seqs + 1] indptr, first 0; no sequence is empty
  int64_t num_heads = 0;
  int64_t head_dim = 0;
  int64_t radius = -1;          // how far a token sees to either side; negative: everything
  const float* bias = nullptr;  // [num_heads, 3, head_dim], added to each row; null: none
  // Queries and keys are rotated as QkvProjection tells, by their place in the sequence. [longest
  // sequence, head_dim / 2]; null: they are not.
  const float* cos = nullptr;
  const float* sin = nullptr;
  float scale = 1.0f;
  // Of the model's weights. Unless kF32, a matrix unit (Isa::kAmx) takes queries, keys, values and
  // exponentials as two bf16 each, within 2^-17: more than the layers around them keep.
  DType dtype = DType::kF32;
};

/// out[t, h] = sum over the tokens u that t sees of softmax_u(scale * query[t, h] . key[u, h]) *
/// value[u, h], all in f32 but for what SequenceAttention::dtype tells.
///
/// rows: [num_tokens, num_heads, 3, head_dim]: query, key and value of each head, as a linear layer
/// left them; overwritten. out: [num_tokens, num_heads * head_dim]. A token's result depends on its
/// own sequence alone, bit for bit. num_tokens = 0 does nothing.
void SequenceAttentionCpu(const SequenceAttention& attention, float* rows, float* out,
                          ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_SEQUENCE_ATTENTION_H_
