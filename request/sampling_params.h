#ifndef SHORTLIST_REQUEST_SAMPLING_PARAMS_H_
#define SHORTLIST_REQUEST_SAMPLING_PARAMS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"

namespace shortlist {

/// Tokens that are not emitted. Shared by the generations of a request, since it may be large.
struct TokenBans {
  std::vector<TokenId> allowed_token_ids;  // no others are emitted; ascending; empty: all may be
  // Sequences of tokens that the output does not hold: the last of one is not emitted behind the
  // others. None of them is empty.
  std::vector<std::vector<TokenId>> bad_words;
};

/// How one request's tokens are chosen and when it ends. Applied in this order to the target's
/// logits: repetition, presence and frequency penalty, logit bias, bans and stop
/// tokens before min_new_tokens, temperature, top-k, top-p, min-p.
struct SamplingParams {
  double temperature = 0.0;  // 0: greedy, the filters below then change nothing; at most 100
  int64_t top_k = 0;         // keep the k likeliest; 0: all
  double top_p = 1.0;        // keep the fewest whose probabilities reach this; in (0, 1]
  double min_p = 0.0;        // keep those with at least min_p times the best probability; in [0, 1]
  double repetition_penalty = 1.0;  // divides positive and multiplies negative logits of tokens in
                                    // the prompt or output; in (0, 100], 1: none
  double presence_penalty = 0.0;    // subtracted once for a token of the output; in [-100, 100]
  double frequency_penalty = 0.0;   // subtracted per occurrence in the output; in [-100, 100]
  std::vector<std::pair<TokenId, float>> logit_bias;  // added; finite
  std::shared_ptr<const TokenBans> bans;              // null: none
  uint64_t seed = 0;  // the request's noise; outputs are a function of it and the history
  int64_t max_new_tokens = 128;  // at least 1
  int64_t min_new_tokens = 0;    // stop_token_ids are not emitted before; at most max_new_tokens
  std::vector<TokenId> stop_token_ids;  // end the request, emitted last; EOS is the caller's to add
  int64_t num_logprobs = -1;  // what TokenInfo tells: -1: no log-probability; n in [0, 20]: the
                              // token's and those of the n likeliest
  int64_t prompt_logprobs_start = -1;  // at least 0: they are told of the prompt's tokens behind
                                       // this position too, num_logprobs is not -1 then; -1: of
                                       // none of them

  /// InvalidArgument names the field, its value and its bound (NaN included).
  absl::Status Validate(int64_t vocab_size) const;

  bool greedy() const { return temperature == 0.0; }
  /// True when logits are used as they come from the head (no penalty, bias or ban at `num_output`
  /// tokens).
  bool UsesRawLogits(int64_t num_output) const;
};

}  // namespace shortlist

#endif  // SHORTLIST_REQUEST_SAMPLING_PARAMS_H_
