#ifndef SHORTLIST_DRAFT_TARGET_HEAD_H_
#define SHORTLIST_DRAFT_TARGET_HEAD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "draft/verifier.h"
#include "head/pruned_head.h"
#include "kernels/head.h"
#include "kernels/matrix.h"
#include "request/sequence.h"
#include "vocab/active_vocab.h"

namespace shortlist {

/// What verification needs of a row; each value includes the previous ones.
enum class RowDetail {
  kBest,      // the best token
  kLogits,    // the logits of all tokens
  kLogprobs,  // the logits of the padding too
};

/// Detail required to choose the next token of `sequence`.
RowDetail DetailFor(const Sequence& sequence);

/// The target's LM head. Rows from emit_size on are padding without a token: they are never chosen
/// or reported and only count in log-probabilities. Not thread-safe.
class TargetHead {
 public:
  struct Verdict {
    RowDetail detail = RowDetail::kBest;
    std::vector<PrunedHead::Best> best;  // [num_tokens], only for kBest
    TokenLogits logits;                  // for kLogits and kLogprobs
    TokenLogits padding;                 // for kLogprobs, if there are padding rows

    /// Returns a view of this object.
    TargetRows From(int64_t first_row) const;
  };

  /// `weight` must outlive this object. Returns InvalidArgument if emit_size is not in [1,
  /// weight.vocab_size].
  static absl::StatusOr<TargetHead> Create(const HeadWeight& weight, int64_t emit_size,
                                           ThreadPool& pool);

  /// hidden: [num_tokens, hidden] f32. Reuses the memory of `storage`, an earlier or empty verdict.
  absl::StatusOr<Verdict> Judge(const Matrix& hidden, RowDetail detail, Verdict storage);

 private:
  TargetHead(PrunedHead tokens, std::optional<PrunedHead> padding,
             std::shared_ptr<const ActiveVocab> all_rows)
      : tokens_(std::move(tokens)), padding_(std::move(padding)), all_rows_(std::move(all_rows)) {}

  PrunedHead tokens_;
  std::optional<PrunedHead> padding_;
  std::shared_ptr<const ActiveVocab> all_rows_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_TARGET_HEAD_H_
