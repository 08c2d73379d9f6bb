#ifndef SHORTLIST_TESTS_ROUTER_PREFIX_ORACLE_H_
#define SHORTLIST_TESTS_ROUTER_PREFIX_ORACLE_H_

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "router/kv_pool.h"

namespace shortlist {

/// Expected contents of RadixCache, as one map from each cached prefix to its last position: no
/// tree, no runs, no splits. Token ids below 100.
class PrefixOracle {
 public:
  explicit PrefixOracle(int64_t look_ahead) : look_ahead_(look_ahead) {}

  int64_t MatchLen(char space, std::span<const TokenId> tokens) const;
  std::vector<int32_t> Slots(char space, std::span<const TokenId> tokens, int64_t len) const;
  std::vector<TokenId> Rows(char space, std::span<const TokenId> tokens, int64_t len) const;

  void Lock(char space, std::span<const TokenId> tokens, int64_t len);
  void Unlock(char space, std::span<const TokenId> tokens, int64_t len);
  /// Returns how many leading positions were there.
  int64_t Insert(char space, std::span<const TokenId> tokens, std::span<const int32_t> slots,
                 std::span<const TokenId> rows);
  /// Drops the positions whose slots `pool` no longer holds, and returns how many. They must be
  /// unlocked, nothing after them may stay, and nothing that stays unlocked may be older; else -1.
  int64_t DropFreed(const KvPool& pool);

  int64_t len() const { return static_cast<int64_t>(entries_.size()); }
  int64_t evictable_len() const;

 private:
  struct Entry {
    int32_t slot = -1;
    int64_t num_locks = 0;
    int64_t used = 0;  // when last
    std::vector<TokenId> rows;
  };

  std::string Key(char space, std::span<const TokenId> tokens, int64_t position) const;

  const int64_t look_ahead_;
  int64_t now_ = 0;
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_ROUTER_PREFIX_ORACLE_H_
