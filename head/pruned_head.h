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
#include "vocab/head_rows.h"

namespace shortlist {

/// Token ids of the rows that one token scores: the active vocabulary, then the token's own tail;
/// for the full head the first `size` tokens that have a row. A view; the snapshot, the tail and
/// the head's rows must outlive it.
class RowIds {
 public:
  /// The first `size` rows of the full head. head_rows: of which tokens; null: of 0 .. size - 1.
  explicit RowIds(int64_t size, const HeadRows* head_rows = nullptr)
      : head_rows_(head_rows), size_(size) {}
  /// `active` is not the full head.
  RowIds(const ActiveVocab& active, std::span<const int32_t> tail)
      : active_(&active), tail_(tail), size_(active.size() + static_cast<int64_t>(tail.size())) {}

  int64_t size() const { return size_; }
  TokenId TokenAt(DraftId row) const;
  /// Sets `ids` to the token ids of all rows in order; empty if row s is token s.
  void CopyTo(std::vector<int32_t>& ids) const;
  /// Returns nullopt if `id` has no row. O(1), except for a linear search of the tail.
  std::optional<DraftId> Find(TokenId id) const;

 private:
  const ActiveVocab* active_ = nullptr;  // null: the full head
  const HeadRows* head_rows_ = nullptr;
  std::span<const int32_t> tail_;
  int64_t size_ = 0;
};

/// Logits of several tokens. Token m has ids[m].size() logits, one for each of its rows.
struct TokenLogits {
  std::vector<float> values;  // [num_tokens, stride], and possibly unused ones after these
  int64_t stride = 0;
  std::vector<RowIds> ids;  // [num_tokens]

  std::span<const float> of_token(int64_t m) const {
    return std::span<const float>(values).subspan(m * stride, ids[m].size());
  }
};

/// Scores rows of an LM head, all of them or an active vocabulary: checks its arguments, lets a
/// HeadScorer compute, and returns token ids. For engines with their own memory.
///
/// Not thread-safe. Snapshots and tails must stay valid until a call returns, and as long as views
/// in its result are used.
class PrunedHead {
 public:
  /// Scores on the CPU. weight.rows and `pool` must outlive the head. The full head scores rows 0
  /// .. num_rows - 1. head_rows: the tokens of the weight's rows; null: row i is token i. All ids
  /// in arguments and results are token ids, and those in arguments must have a row.
  /// InvalidArgument for a null weight, sizes outside [1, 2^31), num_rows not in [1,
  /// weight.vocab_size], or another number of head rows than weight.vocab_size.
  static absl::StatusOr<PrunedHead> Create(const HeadWeight& weight, int64_t num_rows,
                                           ThreadPool& pool,
                                           std::shared_ptr<const HeadRows> head_rows = nullptr);
  /// Scores by `scorer`. InvalidArgument for a null scorer, or num_rows not in [1,
  /// scorer->vocab_size()].
  static absl::StatusOr<PrunedHead> Create(std::unique_ptr<HeadScorer> scorer, int64_t num_rows);

  static constexpr int64_t kMaxTopK = 32;

  struct Best {
    TokenId id{-1};      // -1: no further logit is a number above -infinity
    float logit = 0.0f;  // with noise: divided by HeadDraw::Divisor()
    // Softmax of the logits (or divided logits) over the token's rows; 0 if id is -1; TopK only.
    float probability = 0.0f;
  };

  // InvalidArgument for null states, a number of tails other than that of tokens, or an active id
  // or an id of a tail that has no row in the weight. Internal reports an error of a device.

  /// Views in the result refer to the selection's active vocabulary and tails. Reuses the memory of
  /// `storage`: a caller that passes the last result allocates nothing.
  absl::StatusOr<TokenLogits> Logits(HeadInput hidden, const HeadSelection& selection,
                                     TokenLogits storage = {});
  /// Returns the token with the largest logit for each token, ties to the lower id: [num_tokens].
  /// InvalidArgument for a token without rows.
  absl::StatusOr<std::vector<Best>> Argmax(HeadInput hidden, const HeadSelection& selection);
  /// Returns the k best of each token, best first: [num_tokens, k]. InvalidArgument names k if it
  /// is not in [1, kMaxTopK], or the token with fewer rows than k.
  ///
  /// For a token with noise: k draws without replacement, in order (HeadScorer::TopK). On the CPU
  /// and with draws.stream 0, the first is TokenChooser's choice from raw logits at the same seed,
  /// position and temperature; a device may differ in near-ties. InvalidArgument for a number of
  /// draws other than that of tokens, or a temperature not in [0, HeadDraw::kMaxTemperature].
  absl::StatusOr<std::vector<Best>> TopK(HeadInput hidden, const HeadSelection& selection,
                                         int64_t k, const HeadDraws& draws = {});
  /// Where TopK writes: ids and logits [num_tokens, k], log_sum_exp [num_tokens] over all rows of a
  /// token, or null.
  struct Targets {
    int32_t* ids;
    float* logits;
    float* log_sum_exp;
  };
  /// Same as TopK() above, but writes to the caller's arrays.
  absl::Status TopK(HeadInput hidden, const HeadSelection& selection, int64_t k,
                    const HeadDraws& draws, const Targets& targets);
  /// Returns the logit of token ids[m] for hidden state m, read from the weight itself:
  /// [num_tokens]. Its bits equal those of Logits and Argmax, which may read a copy.
  absl::StatusOr<std::vector<float>> RowLogits(HeadInput hidden, std::span<const TokenId> ids);

  int64_t vocab_size() const { return scorer_->vocab_size(); }  // all token ids are below this
  int64_t hidden() const { return scorer_->hidden(); }
  int64_t num_rows() const { return num_rows_; }  // of the full head
  /// Null: row i of the weight is token i.
  const std::shared_ptr<const HeadRows>& head_rows() const { return head_rows_; }
  /// True if `id`, any number, is a token whose row the full head scores.
  bool Scores(TokenId id) const {
    if (Raw(id) < 0 || Raw(id) >= vocab_size()) return false;
    const int32_t row = head_rows_ != nullptr ? head_rows_->RowOf(id) : Raw(id);
    return row >= 0 && row < num_rows_;
  }

 private:
  PrunedHead(std::unique_ptr<HeadScorer> scorer, int64_t num_rows,
             std::shared_ptr<const HeadRows> head_rows)
      : scorer_(std::move(scorer)), num_rows_(num_rows), head_rows_(std::move(head_rows)) {}

  absl::Status Check(HeadInput hidden, const HeadSelection& selection) const;
  absl::Status CheckHeadRows(const HeadSelection& selection) const;
  absl::Status CheckK(const HeadSelection& selection, int64_t num_tokens, int64_t k) const;

  std::unique_ptr<HeadScorer> scorer_;
  int64_t num_rows_;
  std::shared_ptr<const HeadRows> head_rows_;
};

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_PRUNED_HEAD_H_
