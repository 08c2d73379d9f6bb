#ifndef SHORTLIST_REQUEST_TOKEN_HISTORY_H_
#define SHORTLIST_REQUEST_TOKEN_HISTORY_H_

#include <cstdint>
#include <span>
#include <unordered_map>

#include "base/ids.h"

namespace shortlist {

/// Number of occurrences of each token in a request so far, for penalties.
class TokenHistory {
 public:
  struct Count {
    bool in_prompt = false;
    int32_t in_output = 0;
  };

  explicit TokenHistory(std::span<const TokenId> prompt) {
    for (TokenId id : prompt) counts_[Raw(id)].in_prompt = true;
  }

  /// Counts a token of the output.
  void Add(TokenId id) { ++counts_[Raw(id)].in_output; }

  const std::unordered_map<int32_t, Count>& counts() const { return counts_; }

 private:
  std::unordered_map<int32_t, Count> counts_;
};

}  // namespace shortlist

#endif  // SHORTLIST_REQUEST_TOKEN_HISTORY_H_
