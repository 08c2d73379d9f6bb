#ifndef SHORTLIST_DRAFT_TARGET_HEAD_H_
#define SHORTLIST_DRAFT_TARGET_HEAD_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "draft/verifier.h"
#include "head/lm_head.h"
#include "kernels/head.h"
#include "request/sequence.h"
#include "vocab/active_vocab.h"

namespace shortlist {

/// What verification needs of a row, each more than the one before.
enum class RowDetail {
  kBest,      // its best token
  kLogits,    // the logits of all tokens
  kLogprobs,  // those of the padding too
};

/// What the next token of `sequence` needs.
RowDetail DetailFor(const Sequence& sequence);

/// The target's LM head. Its rows from emit_size on are padding, nobody's tokens: they are neither
/// chosen nor told, and count in log-probabilities alone. Not thread-safe.
class TargetHead {
 public:
  struct Verdict {
    RowDetail detail = RowDetail::kBest;
    std::vector<LmHead::Best> best;  // [num_tokens], for kBest alone
    TokenLogits logits;              // for the others
    TokenLogits padding;             // for kLogprobs, where there are such rows

    /// A view of this.
    TargetRows From(int64_t first_row) const;
  };

  /// `weight` must outlive this.
  /// InvalidArgument when emit_size is not in [1, weight.vocab_size].
  static absl::StatusOr<TargetHead> Create(const HeadWeight& weight, int64_t emit_size,
                                           ThreadPool& pool);

  /// hidden: [num_tokens, hidden] f32. The memory of `storage`, an earlier verdict or an empty one,
  /// is used again.
  absl::StatusOr<Verdict> Judge(const at::Tensor& hidden, RowDetail detail, Verdict storage);

 private:
  TargetHead(LmHead tokens, std::optional<LmHead> padding,
             std::shared_ptr<const ActiveVocab> all_rows)
      : tokens_(std::move(tokens)), padding_(std::move(padding)), all_rows_(std::move(all_rows)) {}

  LmHead tokens_;
  std::optional<LmHead> padding_;
  std::shared_ptr<const ActiveVocab> all_rows_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_TARGET_HEAD_H_
