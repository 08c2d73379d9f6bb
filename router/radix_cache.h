#ifndef SHORTLIST_ROUTER_RADIX_CACHE_H_
#define SHORTLIST_ROUTER_RADIX_CACHE_H_

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"
#include "router/kv_pool.h"

namespace shortlist {

/// Which token prefixes have keys and values in which slots: a radix tree of token runs (Zheng et
/// al. 2023, "SGLang", section 3), one root per namespace. The tree owns its slots; requests lock
/// the path they use, and eviction takes unlocked slots only, least recently used first.
///
/// With bigram keys position i is found by (t_i, t_i+1) instead of t_i, because an EAGLE draft's
/// keys and values at position i depend on token i + 1 as well. A run then stores one more token
/// than slots, its look-ahead, and key lists have look_ahead() tokens more than positions.
///
/// Every walk is iterative. A mutation that runs out of memory throws std::bad_alloc and leaves the
/// cached prefixes as they were. Not thread-safe.
///
/// Example, unigram keys: after Insert(root, 5 6 7, slots 0 1 2) and Insert(root, 5 6 8, slots 3 4
/// 5) the tree holds run "5 6" with children "7" and "8", slots 0 1, 2 and 5; the second call
/// returned existing_len 2, and slots 3 4 stay its caller's to free.
class RadixCache {
 public:
  struct Options {
    bool bigram_keys = false;
    uint64_t hash_seed = 0;  // of the child table; an unpredictable one resists chosen collisions
  };

  /// Where a prefix ends in the tree. A value: it does not keep anything alive.
  struct Match {
    int32_t node = -1;
    uint64_t born = 0;     // of the node, to tell it from a later one in the same place
    uint64_t version = 0;  // of the node when matched
    int64_t len = 0;       // positions matched
    int64_t offset = 0;    // of these, in the last node
  };

  struct Inserted {
    int32_t node;          // the run ends here
    int64_t existing_len;  // leading positions that the tree held already, in slots of its own
  };

  /// `pool` must outlive this; the tree gives evicted slots back to it.
  RadixCache(KvPool& pool, Options options);

  int64_t look_ahead() const { return look_ahead_; }

  /// The root of namespace `salt`, locked until CloseNamespace. Prefixes are shared inside a
  /// namespace only.
  int32_t OpenNamespace(std::string_view salt);
  void CloseNamespace(int32_t root) { Unlock(root); }

  /// The longest cached prefix of tokens.size() - look_ahead() positions. Changes nothing, recency
  /// included.
  Match MatchPrefix(int32_t root, std::span<const TokenId> tokens) const;

  /// True when MatchPrefix would find the same as it did for `match`. O(1).
  bool IsCurrent(const Match& match) const { return nodes_[match.node].version == match.version; }
  /// MatchPrefix again, from where `match` ended when that is still possible. Changes nothing.
  Match Rematch(const Match& match, int32_t root, std::span<const TokenId> tokens) const;

  /// Locks the matched positions, no more: a run matched in part is split. `match` is current.
  /// Returns the node to Unlock.
  int32_t Lock(const Match& match);
  /// Locks `node` again, and its path.
  void Lock(int32_t node);
  /// Takes one lock off; positions without one become the most recently used.
  void Unlock(int32_t node);

  /// Adds slots.size() positions with tokens.size() = slots.size() + look_ahead() tokens, at least
  /// one position. The tree takes over slots[existing_len ..); the rest stay the caller's. `rows`,
  /// unless empty, are kept at the end of the run in place of those there: the dynamic vocabulary
  /// rows of this prefix.
  Inserted Insert(int32_t root, std::span<const TokenId> tokens, std::span<const int32_t> slots,
                  std::span<const TokenId> rows);

  /// Writes the slots of the path to the end of `node`, from position `first` on, to `slots`
  /// [end of node - first].
  void CopySlots(int32_t node, int64_t first, std::span<int32_t> slots) const;
  /// Appends the rows kept along the path to the end of `node`, from the root on.
  void AppendRows(int32_t node, std::vector<TokenId>& rows) const;

  /// Appends tokens that the tree holds behind the end of `match`: at most `max_tokens`, nearest
  /// last, of branches the one that came last counts as the nearest. O(max_tokens).
  void AppendContinuations(const Match& match, int64_t max_tokens,
                           std::vector<TokenId>& tokens) const;

  /// Frees min(num_slots, evictable_len()) slots to the pool, whole runs from the leaves on and the
  /// end of the last one. O(1) per node besides its slots. Never throws.
  int64_t Evict(int64_t num_slots);

  /// Positions held, all namespaces; of these, unlocked.
  int64_t len() const { return len_; }
  int64_t evictable_len() const { return evictable_len_; }
  /// Positions of `match` that nobody locks now. O(nodes of the path).
  int64_t EvictableLen(const Match& match) const;
  int64_t num_nodes() const { return num_nodes_; }
  /// The run before `node`; -1 for a root.
  int32_t Parent(int32_t node) const { return nodes_[node].parent; }
  /// Positions from the root to the end of `node`.
  int64_t EndOf(int32_t node) const { return nodes_[node].end; }

  /// Internal when links, counts, locks or recency contradict each other; tests call it after every
  /// operation. Marks the tree's slots in `seen` [capacity], where none of them is yet.
  /// O(everything).
  absl::Status CheckInvariants(std::vector<bool>& seen) const;

 private:
  struct Node {
    int32_t parent = -1;
    int32_t next_in_bucket = -1;  // or next free node
    int32_t older = -1, newer = -1;
    int32_t num_children = 0;
    int32_t newest_child = -1;  // the others by older_sibling
    int32_t newer_sibling = -1, older_sibling = -1;
    int32_t num_locks = 0;
    int32_t first[2] = {0, 0};  // tokens[0] and, with bigram keys, tokens[1]
    uint64_t born = 0;          // 0: not in use
    uint64_t version = 0;
    int64_t end = 0;
    const std::string* salt = nullptr;  // of a root
    std::vector<int32_t> tokens;        // [slots.size() + look_ahead]; a root has none
    std::vector<int32_t> slots;
    std::vector<TokenId> rows;

    int64_t len() const { return static_cast<int64_t>(slots.size()); }
  };

  Match MatchFrom(Match match, std::span<const TokenId> tokens) const;
  size_t BucketOf(int32_t parent, int32_t first, int32_t second) const;
  int32_t FindChild(int32_t parent, const TokenId* key) const;
  void LinkChild(int32_t node);
  void UnlinkChild(int32_t node);
  int32_t NewNode();
  void DeleteNode(int32_t node);
  void DeleteRootIfUnused(int32_t root);
  int32_t Split(int32_t node, int64_t at);
  int32_t AddLeaf(int32_t parent, std::span<const TokenId> tokens, std::span<const int32_t> slots,
                  std::span<const TokenId> rows);
  void Touch(int32_t node);
  void PushNewest(int32_t node);
  void Unlist(int32_t node);
  absl::Status CheckNode(int32_t index) const;
  absl::Status CheckRecency() const;

  KvPool& pool_;
  const int64_t look_ahead_;
  const uint64_t hash_seed_;
  uint64_t clock_ = 0;  // of births and versions
  std::deque<Node> nodes_;
  int32_t free_nodes_ = -1;
  int64_t num_nodes_ = 0;
  int64_t len_ = 0, evictable_len_ = 0;
  std::vector<int32_t> buckets_;  // a chain of nodes by (parent, first key)
  std::unordered_map<std::string, int32_t> roots_;
  // Unlocked runs by recency. A run stands before its parent, for whoever uses a run uses what is
  // before it; so the oldest is always a leaf.
  int32_t oldest_ = -1, newest_ = -1;
};

/// How many leading values agree, of `count`.
int64_t CommonPrefixLen(const TokenId* a, const TokenId* b, int64_t count);

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_RADIX_CACHE_H_
