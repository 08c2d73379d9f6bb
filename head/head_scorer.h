#ifndef SHORTLIST_HEAD_HEAD_SCORER_H_
#define SHORTLIST_HEAD_HEAD_SCORER_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"
#include "vocab/active_vocab.h"

namespace shortlist {

/// Hidden states that a head scores: [num_tokens, hidden of the head] f32, dense, in the memory
/// where its rows lie. A view.
struct HeadInput {
  const float* data = nullptr;
  int64_t num_tokens = 0;
};

/// Which rows a head scores: those of `active`, then each token's own tail, ids that are distinct
/// and not in `active`. Of the full head tails are ignored.
struct HeadSelection {
  const ActiveVocab& active;
  // [num_tokens] ids of the tail's rows; or empty: no token has one.
  std::span<const std::span<const int32_t>> tails = {};
};

/// The noise of one token, and how much of it counts.
struct HeadDraw {
  static constexpr double kMaxTemperature = 1e30;

  double temperature = 0.0;  // in [0, kMaxTemperature]; 0: no noise
  uint64_t seed = 0;
  int64_t position = 0;

  /// What the token's logits are divided by: the temperature, but at least 1e-30, which leaves the
  /// logits of a model finite; 1 without noise.
  float Divisor() const {
    return temperature > 0.0 ? static_cast<float>(std::max(temperature, 1e-30)) : 1.0f;
  }
};

/// The noise of a call.
struct HeadDraws {
  std::span<const HeadDraw> of_tokens = {};  // [num_tokens]; or empty: none has noise
  // As UniformNoise (kernels/sampling.h) takes it. 0: what TokenChooser chooses by.
  uint32_t stream = 0;
};

/// The part of a PrunedHead (head/pruned_head.h) that differs from device to device. PrunedHead has
/// checked the arguments: ids are in [0, vocab_size()). Results are in host memory. Not
/// thread-safe.
///
/// A row's logit has the same bits in all calls, whatever rows, tails and tokens are with it.
class HeadScorer {
 public:
  virtual ~HeadScorer() = default;

  virtual int64_t vocab_size() const = 0;
  virtual int64_t hidden() const = 0;

  /// (*logits)[m * stride + s] is the logit of row s of token m; what stands behind a token's
  /// rows is unspecified. Grows `logits` where needed and sets `stride`.
  virtual absl::Status Logits(HeadInput hidden, const HeadSelection& selection,
                              std::vector<float>& logits, int64_t& stride) = 0;

  /// The k best rows of each token as token ids, best first, ties to the lower id, and their
  /// logits: both [num_tokens, k]; id -1 and -infinity where no further logit is a number above
  /// -infinity. The log-sum-exp over the token's rows, unless null: [num_tokens]. k is in
  /// [1, PrunedHead::kMaxTopK], and no token has fewer rows.
  ///
  /// Of a token with noise: k draws from softmax(logits / temperature) without replacement, in
  /// order: the first k to arrive in the race of kernels/sampling.h, for k = 1 the choice of
  /// SampleRaceCpu. `logits` are divided by its Divisor(), and log_sum_exp is of such logits, over
  /// all its rows. On the CPU the draws are exact; a device, which adds the noise to the divided
  /// logits, may tell apart what arrives at nearly the same time in another way. A token without
  /// noise has the same bits whatever others draw.
  virtual absl::Status TopK(HeadInput hidden, const HeadSelection& selection, int64_t k,
                            const HeadDraws& draws, int32_t* ids, float* logits,
                            float* log_sum_exp) = 0;

  /// logits[m]: of row ids[m], read from the weight itself.
  virtual absl::Status RowLogits(HeadInput hidden, std::span<const TokenId> ids, float* logits) = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_HEAD_SCORER_H_
