#ifndef SHORTLIST_REQUEST_TOKEN_INFO_H_
#define SHORTLIST_REQUEST_TOKEN_INFO_H_

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace shortlist {

/// Where an emitted token came from.
enum class TokenOrigin : uint8_t {
  kPlain,       // nothing was drafted in its step
  kAccepted,    // drafted, and the target agreed
  kCorrection,  // the target's, in place of a drafted token
  kBonus,       // the target's, after all drafted tokens were accepted
};

/// What is known of one emitted token beyond its id.
struct TokenInfo {
  TokenOrigin origin = TokenOrigin::kPlain;
  bool escape = false;  // SequenceStats::num_escapes counts it
  // Log-softmax of the target's raw logits, those of all its rows, before penalties, temperature
  // and filters. Not asked for (SamplingParams::num_logprobs): NaN and empty.
  float logprob = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::pair<TokenId, float>> top;  // likeliest first, ties by lower id
};

}  // namespace shortlist

#endif  // SHORTLIST_REQUEST_TOKEN_INFO_H_
