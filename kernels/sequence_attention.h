#ifndef SHORTLIST_KERNELS_SEQUENCE_ATTENTION_H_
#define SHORTLIST_KERNELS_SEQUENCE_ATTENTION_H_

#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "base/thread_pool.h"

namespace shortlist {

/// Attention of an encoder: whole sequences at once, each token seeing both directions. Keeps
/// nothing from one call to the next.
struct SequenceAttention {
  std::span<const int32_t> seq_begin;  // [num_seqs + 1] indptr, first 0; no sequence is empty
  int64_t num_heads = 0;
  int64_t head_dim = 0;
  int64_t radius = -1;          // how far a token sees in either direction; negative: everything
  const float* bias = nullptr;  // [num_heads, 3, head_dim], added to each row; null: no bias
  // Queries and keys are rotated as QkvProjection describes, by their position in the sequence.
  // [longest sequence, head_dim / 2]; null: not rotated.
  const float* cos = nullptr;
  const float* sin = nullptr;
  float scale = 1.0f;
  // Dtype of the model's weights. Unless it is kF32, a matrix unit (Isa::kAmx) represents queries,
  // keys, values and exponentials by two bf16 each. Their error is at most 2^-17, less than that of
  // the surrounding layers.
  DType dtype = DType::kF32;
};

/// out[t, h] = sum over the tokens u that t sees of softmax_u(scale * query[t, h] . key[u, h]) *
/// value[u, h], all in f32 except as SequenceAttention::dtype describes.
///
/// rows: [num_tokens, num_heads, 3, head_dim]: query, key and value of each head, as a linear layer
/// wrote them; overwritten. out: [num_tokens, num_heads * head_dim]. A token's result depends only
/// on its own sequence, bit for bit. num_tokens = 0 does nothing.
void SequenceAttentionCpu(const SequenceAttention& attention, float* rows, float* out,
                          ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_SEQUENCE_ATTENTION_H_
