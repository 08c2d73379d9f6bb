#ifndef SHORTLIST_DRAFT_HEAD_SCORER_H_
#define SHORTLIST_DRAFT_HEAD_SCORER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"
#include "vocab/active_vocab.h"

namespace shortlist {

/// Which slots a head scores: those of `active`, then each token's own tail, ids that are distinct
/// and not in `active`. `active` empty: the full head, tails are ignored.
struct HeadSelection {
  const ActiveVocab& active;
  // [num_tokens] ids of the tail's slots; or empty: no token has one.
  std::span<const std::span<const int32_t>> tails = {};
};

/// The part of an LmHead (draft/lm_head.h) that differs from device to device. LmHead has checked
/// the arguments: hidden is [num_tokens, hidden()] f32, contiguous, on device(); ids are in
/// [0, vocab_size()). Results are in host memory. Not thread-safe.
///
/// A row's logit has the same bits in all calls, whatever slots, tails and tokens are with it.
class HeadScorer {
 public:
  virtual ~HeadScorer() = default;

  virtual at::Device device() const = 0;
  virtual int64_t vocab_size() const = 0;
  virtual int64_t hidden() const = 0;

  /// (*logits)[m * stride + s] is the logit of slot s of token m; what stands behind a token's
  /// slots is unspecified. Grows `logits` where needed and sets `stride`.
  virtual absl::Status Logits(const at::Tensor& hidden, const HeadSelection& selection,
                              std::vector<float>& logits, int64_t& stride) = 0;

  /// The token with the largest logit, ties to the lower id, -1 where no logit is a number; its
  /// logit; and the log-sum-exp over the token's slots, unless null. All [num_tokens].
  virtual absl::Status Argmax(const at::Tensor& hidden, const HeadSelection& selection,
                              int32_t* ids, float* logits, float* log_sum_exp) = 0;

  /// logits[m]: of row ids[m], read from the weight itself.
  virtual absl::Status RowLogits(const at::Tensor& hidden, std::span<const TokenId> ids,
                                 float* logits) = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_HEAD_SCORER_H_
