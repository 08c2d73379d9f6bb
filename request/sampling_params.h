#ifndef SHORTLIST_REQUEST_SAMPLING_PARAMS_H_
#define SHORTLIST_REQUEST_SAMPLING_PARAMS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"
#include "request/token_bans.h"
#include "request/token_constraint.h"

namespace shortlist {

/// How one request's tokens are chosen and when it ends. Applied to the target's logits in this
/// order: repetition, presence and frequency penalty; logit bias; bans; stop tokens before
/// min_new_tokens; grammar; temperature; top-k; top-p; min-p.
struct SamplingParams {
  // 0: greedy, the filters below then have no effect; at most 100. Dialects of the server have
  // defaults of their own (docs/http-api.md).
  double temperature = 0.0;
  int64_t top_k = 0;   // keeps the k most likely; 0: all
  double top_p = 1.0;  // keeps the fewest whose probabilities reach this; in (0, 1]
  // Keeps those with at least min_p times the best probability; in [0, 1].
  double min_p = 0.0;
  // Divides positive and multiplies negative logits of tokens in the prompt or output; in (0, 100],
  // 1: none.
  double repetition_penalty = 1.0;
  double presence_penalty = 0.0;   // subtracted once for a token of the output; in [-100, 100]
  double frequency_penalty = 0.0;  // subtracted per occurrence in the output; in [-100, 100]
  std::vector<std::pair<TokenId, float>> logit_bias;  // added; finite
  std::shared_ptr<const TokenBans> bans;              // null: none
  // What the output must follow, and where it may end; in addition to bans. Null: nothing.
  std::shared_ptr<const TokenConstraint> grammar;
  uint64_t seed = 0;  // of the request's noise; the output depends only on it and the history
  int64_t max_new_tokens = 128;  // at least 1
  // Stop tokens are not emitted before this many tokens; in [0, max_new_tokens].
  int64_t min_new_tokens = 0;
  // These tokens end the request and are emitted last. The caller adds EOS.
  std::vector<TokenId> stop_token_ids;
  // For TokenInfo. -1: no log-probability; n in [0, 20]: those of the token and of the n most
  // likely.
  int64_t num_logprobs = -1;
  // If at least 0, log-probabilities are also reported for the prompt's tokens after this position,
  // and num_logprobs must not be -1. -1: for none of them.
  int64_t prompt_logprobs_start = -1;

  /// InvalidArgument names the field, its value and its bound (NaN included).
  absl::Status Validate(int64_t vocab_size) const;

  bool greedy() const { return temperature == 0.0; }
  /// True if penalties or bias change logits.
  bool ChangesLogits() const;
  /// True if logits are used as the head returns them: no penalty, bias, ban or grammar applies at
  /// `num_output` tokens.
  bool UsesRawLogits(int64_t num_output) const;
};

}  // namespace shortlist

#endif  // SHORTLIST_REQUEST_SAMPLING_PARAMS_H_
