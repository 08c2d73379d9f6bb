#ifndef SHORTLIST_MODEL_ENCODER_BATCH_H_
#define SHORTLIST_MODEL_ENCODER_BATCH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "model/checkpoint/encoder_config.h"

namespace shortlist {

/// Whole sequences, concatenated, without padding. Does not own the arrays.
///
/// Example: sequences of two and three tokens: seq_begin 0 2 5.
struct EncoderBatch {
  std::span<const int32_t> token_ids;       // [num_tokens]
  std::span<const int32_t> token_type_ids;  // [num_tokens]; empty: all 0
  std::span<const int32_t> seq_begin;       // [num_seqs + 1] indptr, first 0, last num_tokens
};

/// InvalidArgument names the first sequence whose length is not in [1, context_len], or the first
/// token whose id or type is not in its table, with value and bound. A model without token types
/// accepts only type 0. Arrays of contradictory sizes are a broken invariant.
absl::Status CheckEncoderBatch(const EncoderConfig& config, const EncoderBatch& batch);

/// The sequences that pass through the layers together. Owned by one thread and reused.
class EncoderPass {
 public:
  /// seq_begin: [num_seqs + 1], ascending. Tokens of the pass are counted from seq_begin[0].
  void Assign(std::span<const int32_t> seq_begin);

  int64_t num_tokens() const { return static_cast<int64_t>(positions_.size()); }
  int64_t max_seq_len() const { return max_seq_len_; }
  std::span<const int32_t> seq_begin() const { return seq_begin_; }  // [num_seqs + 1], first 0
  const int32_t* positions() const { return positions_.data(); }     // [num_tokens] in its sequence

 private:
  int64_t max_seq_len_ = 0;
  std::vector<int32_t> seq_begin_, positions_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_ENCODER_BATCH_H_
