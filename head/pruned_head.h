#ifndef SHORTLIST_HEAD_PRUNED_HEAD_H_
#define SHORTLIST_HEAD_PRUNED_HEAD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/thread_pool.h"
#include "head/head_scorer.h"
#include "kernels/head.h"
#include "vocab/active_vocab.h"

namespace shortlist {

/// What the rows that one token scores stand for: the active vocabulary, then the token's own
/// tail; or, for the full head, the token ids 0 .. size - 1 themselves. A view; the snapshot and
/// the tail must outlive it.
class RowIds {
 public:
  /// Full head over `size` tokens.
  explicit RowIds(int64_t size) : size_(size) {}
  /// `active` is not the full head.
  RowIds(const ActiveVocab& active, std::span<const int32_t> tail)
      : active_(&active), tail_(tail), size_(active.size() + static_cast<int64_t>(tail.size())) {}

  int64_t size() const { return size_; }
  TokenId TokenAt(DraftId row) const;
  /// The token ids of all rows in order; empty for the full head.
  void CopyTo(std::vector<int32_t>& ids) const;
  /// nullopt when `id` has no row. O(1) but for the tail, which is searched.
  std::optional<DraftId> Find(TokenId id) const;

 private:
  const ActiveVocab* active_ = nullptr;
  std::span<const int32_t> tail_;
  int64_t size_ = 0;
};

/// Logits of several tokens, each over its rows: token m has ids[m].size().
struct TokenLogits {
  std::vector<float> values;  // [num_tokens, stride], and maybe more behind
  int64_t stride = 0;
  std::vector<RowIds> ids;  // [num_tokens]

  std::span<const float> of_token(int64_t m) const {
    return std::span<const float>(values).subspan(m * stride, ids[m].size());
  }
};

/// The rows of an LM head that are scored, all of them or an active vocabulary: checks what it is
/// asked, lets a HeadScorer compute it, and gives token ids. For an engine of one's own over plain
/// memory; LmHead (head/lm_head.h) is the same for libtorch's tensors.
///
/// Not thread-safe. Snapshots and tails of a call are read until it returns, and by views in its
/// result.
class PrunedHead {
 public:
  /// On the CPU. weight.rows must outlive this, as must `pool`. The full head scores rows 0 ..
  /// num_rows - 1. InvalidArgument for a null weight, sizes outside [1, 2^31), or num_rows not in
  /// [1, weight.vocab_size].
  static absl::StatusOr<PrunedHead> Create(const HeadWeight& weight, int64_t num_rows,
                                           ThreadPool& pool);
  /// The same over the rows of `scorer`.
  static absl::StatusOr<PrunedHead> Create(std::unique_ptr<HeadScorer> scorer, int64_t num_rows);

  static constexpr int64_t kMaxTopK = 32;

  struct Best {
    TokenId id{-1};      // -1: no logit is a number
    float logit = 0.0f;  // of a token that draws: divided by HeadDraw::Divisor()
    // softmax over the token's rows, of logits so divided; 0 where id is -1; TopK only
    float probability = 0.0f;
  };

  // InvalidArgument for null states, tails that are not as many as tokens, an id of a tail that is
  // not in [0, vocab_size()) or an active one that the weight has no row of. On a device, Internal
  // tells what went wrong there.

  /// Views in the result point to the selection's active vocabulary and tails. Takes over the
  /// memory of `storage`, so that a caller who hands back the last result allocates nothing.
  absl::StatusOr<TokenLogits> Logits(HeadInput hidden, const HeadSelection& selection,
                                     TokenLogits storage = {});
  /// The token with the largest logit for each token; ties go to the lower id. [num_tokens] Refuses
  /// a token without rows, as TopK does.
  absl::StatusOr<std::vector<Best>> Argmax(HeadInput hidden, const HeadSelection& selection);
  /// The k best of each, best first: [num_tokens, k]. InvalidArgument when k is not in
  /// [1, kMaxTopK] or passes the rows of a token, which it names.
  ///
  /// Of a token with noise: k draws without replacement, in order (HeadScorer::TopK). On the CPU
  /// the first is TokenChooser's choice from raw logits at the same seed, position and temperature,
  /// where draws.stream is 0; a device may differ in what nearly ties. InvalidArgument when draws
  /// are not as many as tokens, or a temperature is not in [0, HeadDraw::kMaxTemperature].
  absl::StatusOr<std::vector<Best>> TopK(HeadInput hidden, const HeadSelection& selection,
                                         int64_t k, const HeadDraws& draws = {});
  /// Where TopK's results go: ids and logits are [num_tokens, k], log_sum_exp, over all rows of a
  /// token, [num_tokens] or null.
  struct Targets {
    int32_t* ids;
    float* logits;
    float* log_sum_exp;
  };
  /// The same into the caller's arrays.
  absl::Status TopK(HeadInput hidden, const HeadSelection& selection, int64_t k,
                    const HeadDraws& draws, const Targets& targets);
  /// The logit of token ids[m] for hidden state m, read from the weight itself: the very bits that
  /// Logits and Argmax give for that token, whatever copy they read. [num_tokens]
  absl::StatusOr<std::vector<float>> RowLogits(HeadInput hidden, std::span<const TokenId> ids);

  int64_t vocab_size() const { return scorer_->vocab_size(); }  // rows of the weight
  int64_t hidden() const { return scorer_->hidden(); }
  int64_t num_rows() const { return num_rows_; }  // of the full head

 private:
  PrunedHead(std::unique_ptr<HeadScorer> scorer, int64_t num_rows)
      : scorer_(std::move(scorer)), num_rows_(num_rows) {}

  absl::Status Check(HeadInput hidden, const HeadSelection& selection) const;
  absl::Status CheckK(const HeadSelection& selection, int64_t num_tokens, int64_t k) const;

  std::unique_ptr<HeadScorer> scorer_;
  int64_t num_rows_;
};

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_PRUNED_HEAD_H_
