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
  kForced,      // likewise, where the constraint allowed no other token
  kCorrection,  // from the target, in place of a drafted token
  kBonus,       // from the target, after all drafted tokens were accepted
};

inline bool WasAccepted(TokenOrigin origin) {
  return origin == TokenOrigin::kAccepted || origin == TokenOrigin::kForced;
}

/// Information about one emitted token, in addition to its id.
struct TokenInfo {
  TokenOrigin origin = TokenOrigin::kPlain;
  bool escape = false;  // SequenceStats::num_escapes counts it
  // Log-softmax of the target's raw logits over all rows, before penalties, temperature and
  // filters. NaN if not requested (SamplingParams::num_logprobs); `top` is empty then.
  float logprob = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::pair<TokenId, float>> top;  // most likely first, ties to the lower id
};

}  // namespace shortlist

#endif  // SHORTLIST_REQUEST_TOKEN_INFO_H_
