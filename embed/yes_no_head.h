#ifndef SHORTLIST_EMBED_YES_NO_HEAD_H_
#define SHORTLIST_EMBED_YES_NO_HEAD_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "embed/score_function.h"
#include "head/lm_head.h"
#include "vocab/active_vocab.h"

namespace shortlist {

/// Scores the answer of a decoder that was asked yes or no (embed/yes_no_format.h) by one or two
/// rows of its LM head: the logit of `yes`, less that of `no`. Its sigmoid is what softmax over the
/// two gives `yes`. Not thread-safe, as LmHead is not.
class YesNoHead {
 public:
  /// nullopt for `no`: the format knows none. InvalidArgument for an id that is not below
  /// head.vocab_size(), and for two that are one.
  static absl::StatusOr<YesNoHead> Create(LmHead head, TokenId yes, std::optional<TokenId> no);

  /// last_hidden: [num_seqs, hidden] f32, contiguous, on the head's device: the state of each
  /// sequence's last token. The result: [num_seqs]; Internal where a logit is NaN or infinite,
  /// which does not touch the others. The call's own status: InvalidArgument for another tensor, or
  /// softmax without a `no`, which is always 1; errors of LmHead.
  ///
  /// A score has the same bits alone or in any batch, and with any number of threads.
  absl::StatusOr<std::vector<absl::StatusOr<float>>> Score(const at::Tensor& last_hidden,
                                                           ScoreFunction function);

 private:
  YesNoHead(LmHead head, std::shared_ptr<const VocabBase> rows, DraftId yes,
            std::optional<DraftId> no)
      : head_(std::move(head)),
        rows_(/*version=*/0, std::move(rows), /*dynamic=*/{}),
        yes_(yes),
        no_(no) {}

  LmHead head_;
  ActiveVocab rows_;
  DraftId yes_;
  std::optional<DraftId> no_;
};

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_YES_NO_HEAD_H_
