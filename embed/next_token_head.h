#ifndef SHORTLIST_EMBED_NEXT_TOKEN_HEAD_H_
#define SHORTLIST_EMBED_NEXT_TOKEN_HEAD_H_

#include <ATen/core/Tensor.h>

#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "head/lm_head.h"

namespace shortlist {

/// How likely a decoder goes on with each of some tokens, without going on: what SGLang's
/// /v1/score asks of a generating model. Not thread-safe, as LmHead is not.
class NextTokenHead {
 public:
  /// `head`, on the CPU, scores all rows of its weight.
  explicit NextTokenHead(LmHead head) : head_(std::move(head)) {}

  /// Of one sequence.
  struct Question {
    std::span<const TokenId> tokens;  // below head.vocab_size(); at least one
    bool among_themselves = false;    // softmax over their logits alone, not over all rows'
  };

  /// last_hidden: [num_seqs, hidden] f32, contiguous, in host memory: the state of each sequence's
  /// last token. The result: [num_seqs], probabilities of its question's tokens; Internal where a
  /// state or a logit is NaN or infinite, which does not touch the others; InvalidArgument for a
  /// token without a row. The call's own status: errors of LmHead.
  ///
  /// A probability has the same bits alone or in any batch, and with any number of threads.
  absl::StatusOr<std::vector<absl::StatusOr<std::vector<float>>>> Answer(
      const at::Tensor& last_hidden, std::span<const Question> questions);

 private:
  LmHead head_;
};

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_NEXT_TOKEN_HEAD_H_
