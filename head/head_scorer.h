#ifndef SHORTLIST_HEAD_HEAD_SCORER_H_
#define SHORTLIST_HEAD_HEAD_SCORER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"
#include "vocab/active_vocab.h"

namespace shortlist {

/// Which rows a head scores: those of `active`, then each token's own tail, ids that are distinct
/// and not in `active`. Of the full head tails are ignored.
struct HeadSelection {
  const ActiveVocab& active;
  // [num_tokens] ids of the tail's rows; or empty: no token has one.
  std::span<const std::span<const int32_t>> tails = {};
};

/// The part of an LmHead (head/lm_head.h) that differs from device to device. LmHead has checked
/// the arguments: hidden is [num_tokens, hidden()] f32, contiguous, on device(); ids are in
/// [0, vocab_size()). Results are in host memory. Not thread-safe.
///
/// A row's logit has the same bits in all calls, whatever rows, tails and tokens are with it.
class HeadScorer {
 public:
  virtual ~HeadScorer() = default;

  virtual at::Device device() const = 0;
  virtual int64_t vocab_size() const = 0;
  virtual int64_t hidden() const = 0;

  /// (*logits)[m * stride + s] is the logit of row s of token m; what stands behind a token's
  /// rows is unspecified. Grows `logits` where needed and sets `stride`.
  virtual absl::Status Logits(const at::Tensor& hidden, const HeadSelection& selection,
                              std::vector<float>& logits, int64_t& stride) = 0;

  /// The k best rows of each token as token ids, best first, ties to the lower id, and their
  /// logits: both [num_tokens, k]; id -1 and -infinity where no further logit is a number. The
  /// log-sum-exp over the token's rows, unless null: [num_tokens]. k is in [1, LmHead::kMaxTopK],
  /// and no token has fewer rows.
  virtual absl::Status TopK(const at::Tensor& hidden, const HeadSelection& selection, int64_t k,
                            int32_t* ids, float* logits, float* log_sum_exp) = 0;

  /// logits[m]: of row ids[m], read from the weight itself.
  virtual absl::Status RowLogits(const at::Tensor& hidden, std::span<const TokenId> ids,
                                 float* logits) = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_HEAD_SCORER_H_
