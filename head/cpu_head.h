#ifndef SHORTLIST_HEAD_CPU_HEAD_H_
#define SHORTLIST_HEAD_CPU_HEAD_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "head/head_scorer.h"
#include "kernels/arena.h"
#include "kernels/head.h"
#include "vocab/head_rows.h"

namespace shortlist {

/// Scores by the kernels of kernels/head.h. Memory is read fastest in contiguous ranges. So for a
/// large weight, packed copies of the base rows are kept for the kMaxPacked most recent bases. All
/// other rows are read in place. So are those of a new base until they are copied,
/// kPackedBytesOfCall by each call.
///
/// A head without rows for some tokens is addressed by token ids like any other: this class alone
/// knows which row of the weight is whose.
class CpuHead final : public HeadScorer {
 public:
  static constexpr int64_t kMaxPacked = 4;
  static constexpr int64_t kPackedBytesOfCall = int64_t{1} << 20;
  static constexpr int64_t kCallsInUse = 256;  // a base scored within so many calls is in use

  /// The full head scores rows 0 .. num_rows - 1, num_rows in [1, weight.vocab_size]. `pool` and
  /// the weight's memory must outlive the head. head_rows: of weight.vocab_size tokens, those of
  /// the rows; null: row i is token i.
  CpuHead(const HeadWeight& weight, int64_t num_rows, bool packs_base, ThreadPool& pool,
          std::shared_ptr<const HeadRows> head_rows = nullptr)
      : weight_(weight),
        num_rows_(num_rows),
        packs_base_(packs_base),
        pool_(pool),
        head_rows_(std::move(head_rows)) {}

  int64_t vocab_size() const override {
    return head_rows_ != nullptr ? head_rows_->vocab_size() : weight_.vocab_size;
  }
  int64_t hidden() const override { return weight_.hidden; }

  absl::Status Logits(HeadInput hidden, const HeadSelection& selection, std::vector<float>& logits,
                      int64_t& stride) override;
  absl::Status TopK(HeadInput hidden, const HeadSelection& selection, int64_t k,
                    const HeadDraws& draws, int32_t* ids, float* logits,
                    float* log_sum_exp) override;
  absl::Status RowLogits(HeadInput hidden, std::span<const TokenId> ids, float* logits) override;

  /// Number of times a base was packed.
  int64_t num_packings() const { return num_packings_; }
  int64_t num_packed() const { return static_cast<int64_t>(packed_.size()); }

 private:
  /// TopK if at least one token has noise.
  void Draw(const HeadArgs& args, int64_t k, const HeadDraws& draws, int32_t* ids, float* logits,
            float* log_sum_exp);
  HeadArgs Arguments(HeadInput hidden, const HeadSelection& selection);
  /// Row of the weight of `id`, which has one.
  int32_t RowOf(int32_t id) const {
    return head_rows_ != nullptr ? head_rows_->RowOf(TokenId{id}) : id;
  }
  /// Replaces rows of the weight by their token ids; -1 stays.
  void ToTokenIds(std::span<int32_t> rows) const;
  void CopyTokenIds(const HeadArgs& args, int64_t m, std::vector<int32_t>& ids) const;
  struct Packed {
    std::shared_ptr<const VocabBase> base;
    Arena rows;
    int64_t num_rows;  // leading rows of the base copied so far
    int64_t last_call;
  };
  const Packed* PackedRows(const std::shared_ptr<const VocabBase>& base);
  void PackMore(Packed& packed) const;

  const HeadWeight weight_;
  const int64_t num_rows_;
  const bool packs_base_;
  ThreadPool& pool_;
  const std::shared_ptr<const HeadRows> head_rows_;
  std::vector<Packed> packed_;
  int64_t num_calls_ = 0, num_packings_ = 0;
  std::vector<int32_t> row_ids_;  // of a call, if there are head_rows_
  std::vector<int32_t> tail_indptr_, tail_ids_;
  std::vector<float> sums_;    // receives sums that are not requested
  std::vector<float> scored_;  // logits from which draws are made
};

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_CPU_HEAD_H_
