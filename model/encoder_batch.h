#ifndef SHORTLIST_MODEL_ENCODER_BATCH_H_
#define SHORTLIST_MODEL_ENCODER_BATCH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "kernels/attention.h"
#include "model/checkpoint/encoder_config.h"

namespace shortlist {

/// Whole sequences, one after the other, without padding. Points to its owner's arrays.
///
/// Example: sequences of two and three tokens: seq_begin 0 2 5.
struct EncoderBatch {
  std::span<const int32_t> token_ids;       // [num_tokens]
  std::span<const int32_t> token_type_ids;  // [num_tokens]; empty: all 0
  std::span<const int32_t> seq_begin;       // [num_seqs + 1] indptr, first 0, last num_tokens
};

/// InvalidArgument names the first sequence whose length is not in [1, context_len], or token whose
/// id or type is not in its table (a model without token types knows type 0), with value and bound.
/// Arrays that contradict one another are a broken invariant.
absl::Status CheckEncoderBatch(const EncoderConfig& config, const EncoderBatch& batch);

/// The sequences that go through the layers together: where each token stands and what it sees.
/// Token t of the pass keeps its key and value in slot t. Owned by one thread; reuse it.
class EncoderPass {
 public:
  /// seq_begin: [num_seqs + 1], ascending; the pass's tokens are counted from its first.
  /// `local_radius`: how far a token of a local layer sees.
  void Assign(std::span<const int32_t> seq_begin, int64_t local_radius);

  int64_t num_tokens() const { return static_cast<int64_t>(positions_.size()); }
  int64_t max_seq_len() const { return max_seq_len_; }
  const int32_t* positions() const { return positions_.data(); }  // [num_tokens] in its sequence
  const int32_t* slots() const { return slots_.data(); }          // [num_tokens]
  /// Of a layer whose tokens see their whole sequence, or of a local one. Points into this pass:
  /// valid until the next Assign.
  AttentionLayout layout(bool is_local) const;

 private:
  int64_t max_seq_len_ = 0;
  std::vector<int32_t> positions_, slots_, seq_of_token_, kv_indptr_;
  std::vector<int32_t> seq_len_;                // [num_tokens] of the token's sequence
  std::vector<int32_t> near_begin_, near_end_;  // [num_tokens] what a local layer's token sees
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_ENCODER_BATCH_H_
