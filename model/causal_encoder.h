#ifndef SHORTLIST_MODEL_CAUSAL_ENCODER_H_
#define SHORTLIST_MODEL_CAUSAL_ENCODER_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "model/decoder.h"
#include "model/encoder_batch.h"
#include "model/forward_batch.h"
#include "model/kv_cache.h"

namespace shortlist {

/// A decoder that is used as an encoder: hidden states of whole sequences, each of which a token
/// sees as far as itself. Keys and values live as long as a pass.
///
/// One call at a time, and none of the decoder's beside it.
class CausalEncoder {
 public:
  /// `decoder`, whose head is not used, must outlive this.
  explicit CausalEncoder(Decoder& decoder) : decoder_(decoder) {}

  /// The hidden states after the final norm: [num_tokens, hidden] f32, a tensor of its own. Row t
  /// depends on the tokens of its sequence up to its own alone, bit for bit. Token types are
  /// ignored. InvalidArgument names a sequence whose length is not in [1, context_len], or a token
  /// whose id has no row; ResourceExhausted without memory for the longest sequence's keys and
  /// values.
  absl::StatusOr<at::Tensor> Forward(const EncoderBatch& batch);

  /// Sequences go through the layers together up to so many tokens.
  static constexpr int64_t kPassTokens = 1024;

 private:
  absl::Status Reserve(int64_t num_slots);

  Decoder& decoder_;
  std::optional<KvCache> cache_;
  ForwardBatch pass_;
  std::vector<int32_t> slots_;  // 0, 1, ...: those of a pass, one sequence after the other
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CAUSAL_ENCODER_H_
