#ifndef SHORTLIST_EMBED_MASKED_LM_HEAD_H_
#define SHORTLIST_EMBED_MASKED_LM_HEAD_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "kernels/linear.h"
#include "model/checkpoint.h"
#include "model/checkpoint/encoder_config.h"
#include "model/encoder_layer.h"

namespace shortlist {

/// The head of a masked language model: logits over the vocabulary of each token's hidden state,
///
///   decoder(norm(act(dense(x)))) + bias
///
/// where the decoder's weight is that of the token embeddings, unless the checkpoint has one of its
/// own. BERT's (cls.predictions), DistilBERT's (vocab_*) and RoBERTa's (lm_head). Immutable.
class MaskedLmHead {
 public:
  /// A tensor that the checkpoint of such an encoder holds where it holds the head; empty for a
  /// family whose head is not known here.
  static std::string TensorName(const EncoderConfig& config);
  static bool IsIn(const Checkpoint& checkpoint, const EncoderConfig& config);

  /// `dtype`: what the two weights are kept in, not quantised. Errors as Checkpoint::Load, and
  /// Unimplemented for ModernBERT; throws what that throws.
  static absl::StatusOr<MaskedLmHead> Load(Checkpoint& checkpoint, const EncoderConfig& config,
                                           DType dtype, ThreadPool& pool);

  int64_t hidden() const { return config_.hidden; }
  int64_t vocab_size() const { return config_.vocab_size; }

  /// states: [num_tokens, hidden] f32; logits: [num_tokens, vocab_size]. A row has the same bits
  /// whatever the others and the number of threads are.
  void Logits(const float* states, int64_t num_tokens, float* logits, ThreadPool& pool) const;

 private:
  explicit MaskedLmHead(const EncoderConfig& config) : config_(config) {}

  EncoderConfig config_;
  PackedLinear dense_;
  at::Tensor dense_bias_;  // [hidden] f32
  NormWeight norm_;
  PackedLinear decoder_;  // [vocab_size, hidden]
  at::Tensor bias_;       // [vocab_size] f32
};

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_MASKED_LM_HEAD_H_
