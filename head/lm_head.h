#ifndef SHORTLIST_HEAD_LM_HEAD_H_
#define SHORTLIST_HEAD_LM_HEAD_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/thread_pool.h"
#include "head/device_rows.h"
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

/// An LM head, the target's or a draft's: scores hidden states against the rows of a weight, all of
/// them or an active vocabulary, on the device where the rows lie.
///
/// What crosses to a device and back: the rows once (DeviceRows); the ids of rows when they
/// change; of a call, its tails and draws, and 2 words a token (Argmax), 2k + 1 (TopK) or its
/// logits (Logits). Hidden states are the caller's to move.
///
/// Not thread-safe.
class LmHead {
 public:
  /// On the CPU. weight: [vocab_size, hidden] bf16, f16 or f32, contiguous, in host memory; kept by
  /// reference. The full head scores rows 0 .. num_rows - 1. InvalidArgument names the property
  /// that does not fit.
  static absl::StatusOr<LmHead> Create(const at::Tensor& weight, int64_t num_rows,
                                       ThreadPool& pool);
  /// The same over a model's head, of any dtype, whose memory must outlive this.
  static absl::StatusOr<LmHead> Create(const HeadWeight& weight, int64_t num_rows,
                                       ThreadPool& pool);
  /// On the device of `rows`. ResourceExhausted when it has no room for what a call needs.
  static absl::StatusOr<LmHead> Create(std::shared_ptr<const DeviceRows> rows, int64_t num_rows);

  static constexpr int64_t kMaxTopK = 32;

  using Selection = HeadSelection;

  struct Best {
    TokenId id{-1};      // -1: no logit is a number
    float logit = 0.0f;  // of a token that draws: divided by HeadDraw::Divisor()
    // softmax over the token's rows, of logits so divided; 0 where id is -1; TopK only
    float probability = 0.0f;
  };

  // hidden: [num_tokens, hidden()] f32, contiguous, on device(); else InvalidArgument, as for an
  // active id that the weight has no row of. On a device, Internal tells what went wrong there.

  /// Views in the result point to the selection's active vocabulary and tails. Takes over the
  /// memory of `storage`, so that a caller who hands back the last result allocates nothing.
  absl::StatusOr<TokenLogits> Logits(const at::Tensor& hidden, const Selection& selection,
                                     TokenLogits storage = {});
  /// The token with the largest logit for each token; ties go to the lower id. [num_tokens] Refuses
  /// a token without rows, as TopK does.
  absl::StatusOr<std::vector<Best>> Argmax(const at::Tensor& hidden, const Selection& selection);
  /// The k best of each, best first: [num_tokens, k]. InvalidArgument when k is not in
  /// [1, kMaxTopK] or passes the rows of a token, which it names.
  ///
  /// Of a token with noise: k draws without replacement, in order (HeadScorer::TopK). On the CPU
  /// the first is TokenChooser's choice from raw logits at the same seed, position and temperature,
  /// where draws.stream is 0; a device may differ in what nearly ties. InvalidArgument when draws
  /// are not as many as tokens, or a temperature is not in [0, HeadDraw::kMaxTemperature].
  absl::StatusOr<std::vector<Best>> TopK(const at::Tensor& hidden, const Selection& selection,
                                         int64_t k, const HeadDraws& draws = {});

  /// The logit of token ids[m] for hidden state m, read from the weight itself: the very bits that
  /// Logits and Argmax give for that token, whatever copy they read. [num_tokens]
  absl::StatusOr<std::vector<float>> RowLogits(const at::Tensor& hidden,
                                               std::span<const TokenId> ids);

  at::Device device() const { return scorer_->device(); }
  int64_t vocab_size() const { return scorer_->vocab_size(); }  // rows of the weight
  int64_t hidden() const { return scorer_->hidden(); }

 private:
  static absl::StatusOr<LmHead> OnCpu(const HeadWeight& weight, int64_t num_rows, at::Tensor owner,
                                      ThreadPool& pool);
  LmHead(std::unique_ptr<HeadScorer> scorer, int64_t num_rows)
      : scorer_(std::move(scorer)), num_rows_(num_rows) {}

  absl::Status CheckHidden(const at::Tensor& hidden) const;
  absl::Status Check(const at::Tensor& hidden, const Selection& selection) const;
  absl::Status CheckK(const Selection& selection, int64_t num_tokens, int64_t k) const;

  std::unique_ptr<HeadScorer> scorer_;
  int64_t num_rows_;
};

/// Rows `rows` of a contiguous f32 matrix in host memory, in that order: [rows.size(),
/// source.size(1)].
at::Tensor GatherRows(const at::Tensor& source, std::span<const int64_t> rows);

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_LM_HEAD_H_
