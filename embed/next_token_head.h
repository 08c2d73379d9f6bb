#ifndef SHORTLIST_EMBED_NEXT_TOKEN_HEAD_H_
#define SHORTLIST_EMBED_NEXT_TOKEN_HEAD_H_

#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "head/pruned_head.h"
#include "kernels/matrix.h"

namespace shortlist {

/// Computes how likely a decoder continues with each of some tokens, without generating: what
/// SGLang's /v1/score requests of a generating model. Not thread-safe, because PrunedHead is not.
class NextTokenHead {
 public:
  /// `head` must be on the CPU and score all rows of its weight.
  explicit NextTokenHead(PrunedHead head) : head_(std::move(head)) {}

  /// The tokens to score for one sequence.
  struct Question {
    std::span<const TokenId> tokens;  // below head.vocab_size(); at least one
    bool among_themselves = false;    // softmax over these tokens' logits only
  };

  /// last_hidden: [num_seqs, hidden] f32, contiguous, in host memory: the state of each sequence's
  /// last token. Returns, for each of [num_seqs] questions, the probabilities of its tokens.
  /// Internal, for that sequence only, if a state or a logit is NaN or infinite; InvalidArgument
  /// for a token without a row. The status of the call is an error of PrunedHead.
  ///
  /// A probability has the same bits alone or in any batch, and with any number of threads.
  absl::StatusOr<std::vector<absl::StatusOr<std::vector<float>>>> Answer(
      const Matrix& last_hidden, std::span<const Question> questions);

 private:
  PrunedHead head_;
};

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_NEXT_TOKEN_HEAD_H_
