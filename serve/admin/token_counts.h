#ifndef SHORTLIST_SERVE_ADMIN_TOKEN_COUNTS_H_
#define SHORTLIST_SERVE_ADMIN_TOKEN_COUNTS_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "router/messages.h"

namespace shortlist {

/// How often each token was emitted by this server, and behind which: ids and counts, no text. Any
/// thread.
class TokenCounts {
 public:
  explicit TokenCounts(int64_t vocab_size) : counts_(vocab_size) {}

  /// The new tokens of one step. By one thread at a time.
  void Add(const BatchTokenIdOut& out);

  /// Tokens that were emitted, most frequent first, ties by lower id.
  std::vector<std::pair<TokenId, int64_t>> Ranked() const;

  /// [vocab_size] for each token the at most `max_successors` that followed it most often, ties by
  /// lower id. Pairs that are rare were forgotten where there were more than kMaxPairs.
  std::vector<std::vector<TokenId>> Successors(int64_t max_successors) const;

  static constexpr size_t kMaxPairs = size_t{1} << 20;

 private:
  void CountPair(TokenId last, TokenId next);

  std::vector<std::atomic<int64_t>> counts_;  // [vocab_size]
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, int64_t> pairs_;     // guarded by mutex_; by (last, next)
  std::unordered_map<std::string, TokenId> lasts_;  // Add's: of requests that go on, by id
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_ADMIN_TOKEN_COUNTS_H_
