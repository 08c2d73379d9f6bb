#ifndef SHORTLIST_EMBED_YES_NO_HEAD_H_
#define SHORTLIST_EMBED_YES_NO_HEAD_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "embed/score_function.h"
#include "head/pruned_head.h"
#include "kernels/matrix.h"
#include "vocab/active_vocab.h"

namespace shortlist {

/// Scores the answer of a decoder that was asked yes or no (embed/yes_no_format.h) with one or two
/// rows of its LM head: the logit of `yes`, less that of `no`. Its sigmoid is the softmax
/// probability of `yes`. Not thread-safe, because PrunedHead is not.
class YesNoHead {
 public:
  /// `no` is nullopt if the format has none. Returns InvalidArgument for an id that is not below
  /// head.vocab_size(), and for two equal ids.
  static absl::StatusOr<YesNoHead> Create(PrunedHead head, TokenId yes, std::optional<TokenId> no);

  /// last_hidden: [num_seqs, hidden] f32, contiguous, on the head's device: the state of each
  /// sequence's last token. Returns [num_seqs] scores; Internal, for that sequence only, if a logit
  /// (or a state on the CPU) is NaN or infinite. The call returns InvalidArgument for an unsuitable
  /// tensor, or for softmax without a `no`, which is always 1; and errors of PrunedHead.
  ///
  /// A score has the same bits alone or in any batch, and with any number of threads.
  absl::StatusOr<std::vector<absl::StatusOr<float>>> Score(const Matrix& last_hidden,
                                                           ScoreFunction function);

 private:
  YesNoHead(PrunedHead head, std::shared_ptr<const VocabBase> rows, DraftId yes,
            std::optional<DraftId> no)
      : head_(std::move(head)),
        rows_(/*version=*/0, std::move(rows), /*dynamic=*/{}),
        yes_(yes),
        no_(no) {}

  PrunedHead head_;
  ActiveVocab rows_;
  DraftId yes_;
  std::optional<DraftId> no_;
};

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_YES_NO_HEAD_H_
