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

/// Counts how often this server emitted each token, and each pair of consecutive tokens. Stores ids
/// and counts, no text. Any thread.
class TokenCounts {
 public:
  explicit TokenCounts(int64_t vocab_size) : counts_(vocab_size) {}

  /// Counts the new tokens of one step. Called by one thread at a time.
  void Add(const BatchTokenIdOut& out);

  /// Returns the tokens that were emitted, most frequent first, ties by lower id.
  std::vector<std::pair<TokenId, int64_t>> Ranked() const;

  /// Returns for each token, [vocab_size], the at most `max_successors` tokens that followed it
  /// most often, ties by lower id. If there were more than kMaxPairs pairs, rare ones were dropped.
  std::vector<std::vector<TokenId>> Successors(int64_t max_successors) const;

  static constexpr size_t kMaxPairs = size_t{1} << 20;

 private:
  void CountPair(TokenId last, TokenId next);

  std::vector<std::atomic<int64_t>> counts_;  // [vocab_size]
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, int64_t> pairs_;  // guarded by mutex_; by (last, next)
  // Used by Add: the last token of live requests, by id.
  std::unordered_map<std::string, TokenId> lasts_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_ADMIN_TOKEN_COUNTS_H_
