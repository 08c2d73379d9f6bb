#ifndef SHORTLIST_HEAD_HEAD_SCORER_H_
#define SHORTLIST_HEAD_HEAD_SCORER_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"
#include "kernels/matrix.h"
#include "vocab/active_vocab.h"

namespace shortlist {

/// Hidden states to score: [num_tokens, hidden of the head] f32, contiguous, in host memory. A
/// view.
struct HeadInput {
  const float* data = nullptr;
  int64_t num_tokens = 0;

  /// The rows of an f32 matrix.
  static HeadInput Of(const Matrix& states) { return {states.floats(), states.rows()}; }
};

/// The rows to score: those of `active`, then each token's own tail of distinct ids that are not in
/// `active`. The full head ignores tails.
struct HeadSelection {
  const ActiveVocab& active;
  // [num_tokens] ids of each token's tail; or empty: no token has one.
  std::span<const std::span<const int32_t>> tails = {};
};

/// The noise of one token, and its temperature.
struct HeadDraw {
  static constexpr double kMaxTemperature = 1e30;

  double temperature = 0.0;  // in [0, kMaxTemperature]; 0: no noise
  uint64_t seed = 0;
  int64_t position = 0;

  /// Returns the divisor of the token's logits: the temperature, but at least 1e-30, which keeps
  /// the logits of a model finite; 1 without noise.
  float Divisor() const {
    return temperature > 0.0 ? static_cast<float>(std::max(temperature, 1e-30)) : 1.0f;
  }
};

/// The noise of a call.
struct HeadDraws {
  std::span<const HeadDraw> of_tokens = {};  // [num_tokens]; or empty: none has noise
  // Stream of UniformNoise (kernels/sampling.h). 0: the one that TokenChooser uses.
  uint32_t stream = 0;
};

/// The device-specific part of a PrunedHead (head/pruned_head.h). PrunedHead has checked the
/// arguments: ids are in [0, vocab_size()). Results are in host memory. Not thread-safe.
///
/// A row's logit has the same bits in all calls, regardless of the other rows, tails and tokens.
class HeadScorer {
 public:
  virtual ~HeadScorer() = default;

  virtual int64_t vocab_size() const = 0;
  virtual int64_t hidden() const = 0;

  /// (*logits)[m * stride + s] is the logit of row s of token m; values after a token's rows are
  /// unspecified. Enlarges `logits` if needed and sets `stride`.
  virtual absl::Status Logits(HeadInput hidden, const HeadSelection& selection,
                              std::vector<float>& logits, int64_t& stride) = 0;

  /// Returns the k best rows of each token as token ids, best first, ties to the lower id, and
  /// their logits: both [num_tokens, k]. Places without a logit above -infinity have id -1 and
  /// -infinity. `log_sum_exp`: [num_tokens] over the token's rows, or null. k is in [1,
  /// PrunedHead::kMaxTopK], and no token has fewer rows.
  ///
  /// For a token with noise: k draws from softmax(logits / temperature) without replacement, in
  /// order. They are the first k to arrive in the race of kernels/sampling.h; for k = 1 the choice
  /// of SampleRaceCpu. `logits` are divided by the token's Divisor(); log_sum_exp is that of such
  /// logits over all its rows. On the CPU the draws are exact. A device adds the noise to the
  /// divided logits, so it may order near-ties differently. A token without noise has the same bits
  /// regardless of other tokens' draws.
  virtual absl::Status TopK(HeadInput hidden, const HeadSelection& selection, int64_t k,
                            const HeadDraws& draws, int32_t* ids, float* logits,
                            float* log_sum_exp) = 0;

  /// logits[m] is that of row ids[m], read from the weight itself.
  virtual absl::Status RowLogits(HeadInput hidden, std::span<const TokenId> ids, float* logits) = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_HEAD_SCORER_H_
