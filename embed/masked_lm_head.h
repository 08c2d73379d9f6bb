#ifndef SHORTLIST_EMBED_MASKED_LM_HEAD_H_
#define SHORTLIST_EMBED_MASKED_LM_HEAD_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "kernels/linear.h"
#include "kernels/matrix.h"
#include "model/checkpoint.h"
#include "model/checkpoint/encoder_config.h"
#include "model/encoder_layer.h"

namespace shortlist {

/// The head of a masked language model: logits over the vocabulary for each token's hidden state x:
///
///   decoder(norm(act(dense(x)))) + bias
///
/// The decoder's weight is that of the token embeddings, unless the checkpoint has a separate one.
/// Supports the heads of BERT (cls.predictions), DistilBERT (vocab_*) and RoBERTa (lm_head).
/// Immutable.
class MaskedLmHead {
 public:
  /// Name of a tensor that is in the checkpoint of such an encoder if the head is; empty for a
  /// family whose head is not supported.
  static std::string TensorName(const EncoderConfig& config);
  static bool IsIn(const Checkpoint& checkpoint, const EncoderConfig& config);

  /// `dtype`: type in which the two weights are stored, not quantised. Errors and exceptions as for
  /// Checkpoint::Load; Unimplemented for ModernBERT.
  static absl::StatusOr<MaskedLmHead> Load(Checkpoint& checkpoint, const EncoderConfig& config,
                                           DType dtype, ThreadPool& pool);

  int64_t hidden() const { return config_.hidden; }
  int64_t vocab_size() const { return config_.vocab_size; }

  /// states: [num_tokens, hidden] f32; logits: [num_tokens, vocab_size]. A row has the same bits
  /// regardless of the other rows and the number of threads.
  void Logits(const float* states, int64_t num_tokens, float* logits, ThreadPool& pool) const;

 private:
  explicit MaskedLmHead(const EncoderConfig& config) : config_(config) {}

  EncoderConfig config_;
  PackedLinear dense_;
  Matrix dense_bias_;  // [hidden] f32
  NormWeight norm_;
  PackedLinear decoder_;  // [vocab_size, hidden]
  Matrix bias_;           // [vocab_size] f32
};

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_MASKED_LM_HEAD_H_
