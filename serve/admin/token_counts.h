#ifndef SHORTLIST_SERVE_ADMIN_TOKEN_COUNTS_H_
#define SHORTLIST_SERVE_ADMIN_TOKEN_COUNTS_H_

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "router/messages.h"

namespace shortlist {

/// How often each token was emitted by this server: ids and counts, no text, no order. Any thread.
class TokenCounts {
 public:
  explicit TokenCounts(int64_t vocab_size) : counts_(vocab_size) {}

  /// The new tokens of one step.
  void Add(const BatchTokenIdOut& out);

  /// Tokens that were emitted, most frequent first, ties by lower id.
  std::vector<std::pair<TokenId, int64_t>> Ranked() const;

 private:
  std::vector<std::atomic<int64_t>> counts_;  // [vocab_size]
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_ADMIN_TOKEN_COUNTS_H_
