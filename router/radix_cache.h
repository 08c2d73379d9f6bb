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

/// Maps token prefixes to the slots of their keys and values: a radix tree of token runs (Zheng et
/// al. 2023, "SGLang", section 3), one root per namespace. The tree owns its slots. Requests lock
/// the path they use; eviction takes only unlocked slots, least recently used first.
///
/// With bigram keys the key of position i is (t_i, t_i+1) instead of t_i, because an EAGLE draft's
/// keys and values at position i also depend on token i + 1. A run then stores one more token than
/// slots (the look-ahead), and key lists have look_ahead() more tokens than positions.
///
/// Every walk is iterative. A mutation that runs out of memory throws std::bad_alloc and does not
/// change the cached prefixes. Not thread-safe.
///
/// Example, unigram keys: after Insert(root, 5 6 7, slots 0 1 2) and Insert(root, 5 6 8, slots 3 4
/// 5) the tree holds run "5 6" (slots 0 1) with children "7" (slot 2) and "8" (slot 5). The second
/// call returned existing_len 2; its caller still owns slots 3 4.
class RadixCache {
 public:
  struct Options {
    bool bigram_keys = false;
    uint64_t hash_seed = 0;  // of the child table; an unpredictable seed resists chosen collisions
  };

  /// Where a prefix ends in the tree. A plain value: it locks nothing.
  struct Match {
    int32_t node = -1;
    uint64_t born = 0;     // of the node; differs for a later node with the same index
    uint64_t version = 0;  // of the node when matched
    int64_t len = 0;       // positions matched
    int64_t offset = 0;    // of `len`, positions in the last node
  };

  struct Inserted {
    int32_t node;          // the run ends in this node
    int64_t existing_len;  // leading positions that the tree already held, in its own slots
  };

  /// `pool` must outlive this object; the tree returns evicted slots to it.
  RadixCache(KvPool& pool, Options options);

  int64_t look_ahead() const { return look_ahead_; }

  /// Returns the root of namespace `salt`, locked until CloseNamespace(). Prefixes are shared
  /// within a namespace only.
  int32_t OpenNamespace(std::string_view salt);
  void CloseNamespace(int32_t root) { Unlock(root); }

  /// Finds the longest cached prefix of the tokens.size() - look_ahead() positions. Changes
  /// nothing, not even recency.
  Match MatchPrefix(int32_t root, std::span<const TokenId> tokens) const;

  /// True if MatchPrefix() would return `match` again. O(1).
  bool IsCurrent(const Match& match) const { return nodes_[match.node].version == match.version; }
  /// Same as MatchPrefix(), but continues from the end of `match` if possible. Changes nothing.
  Match Rematch(const Match& match, int32_t root, std::span<const TokenId> tokens) const;

  /// Locks exactly the matched positions; splits a run that is matched in part. `match` must be
  /// current. Returns the node to pass to Unlock().
  int32_t Lock(const Match& match);
  /// Adds a lock to `node` and its path.
  void Lock(int32_t node);
  /// Removes one lock from `node` and its path. Positions left without a lock become the most
  /// recently used.
  void Unlock(int32_t node);

  /// Adds slots.size() positions (at least one) with tokens.size() = slots.size() + look_ahead()
  /// tokens. The tree takes ownership of slots[existing_len ..); the caller keeps the others.
  /// `rows`: the dynamic vocabulary rows of this prefix. Unless empty, they replace those at the
  /// end of the run.
  Inserted Insert(int32_t root, std::span<const TokenId> tokens, std::span<const int32_t> slots,
                  std::span<const TokenId> rows);

  /// Copies the slots of the path to the end of `node`, from position `first` on, to `slots` [end
  /// of node - first].
  void CopySlots(int32_t node, int64_t first, std::span<int32_t> slots) const;
  /// Appends the rows stored along the path from the root to the end of `node`.
  void AppendRows(int32_t node, std::vector<TokenId>& rows) const;

  /// Appends at most `max_tokens` tokens that follow the end of `match` in the tree, nearest last.
  /// The most recently added branch counts as nearest. `match` must be current. O(max_tokens).
  void AppendContinuations(const Match& match, int64_t max_tokens,
                           std::vector<TokenId>& tokens) const;

  /// Returns min(num_slots, evictable_len()) slots to the pool and their number: whole runs from
  /// the leaves on, and the tail of the last run. O(1) per node in addition to its slots. Never
  /// throws.
  int64_t Evict(int64_t num_slots);

  /// Number of positions in all namespaces; and of the unlocked ones.
  int64_t len() const { return len_; }
  int64_t evictable_len() const { return evictable_len_; }
  /// Number of unlocked positions of `match`. O(nodes of the path).
  int64_t EvictableLen(const Match& match) const;
  int64_t num_nodes() const { return num_nodes_; }
  /// The parent run of `node`; -1 for a root.
  int32_t Parent(int32_t node) const { return nodes_[node].parent; }
  /// Positions from the root to the end of `node`.
  int64_t EndOf(int32_t node) const { return nodes_[node].end; }

  /// Returns Internal if links, counts, locks or recency contradict each other; tests call it after
  /// every operation. Marks the tree's slots in `seen` [capacity], where they must be unmarked.
  /// O(everything).
  absl::Status CheckInvariants(std::vector<bool>& seen) const;

 private:
  struct Node {
    int32_t parent = -1;
    int32_t next_in_bucket = -1;  // or the next free node
    int32_t older = -1, newer = -1;
    int32_t num_children = 0;
    int32_t newest_child = -1;  // head of the list linked by older_sibling
    int32_t newer_sibling = -1, older_sibling = -1;
    int32_t num_locks = 0;
    int32_t first[2] = {0, 0};  // tokens[0] and, with bigram keys, tokens[1]
    uint64_t born = 0;          // 0: not in use
    uint64_t version = 0;
    int64_t end = 0;
    const std::string* salt = nullptr;  // namespace of a root
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
  uint64_t clock_ = 0;  // source of births and versions
  std::deque<Node> nodes_;
  int32_t free_nodes_ = -1;
  int64_t num_nodes_ = 0;
  int64_t len_ = 0, evictable_len_ = 0;
  std::vector<int32_t> buckets_;  // chains of nodes by (parent, first key)
  std::unordered_map<std::string, int32_t> roots_;
  // Unlocked runs by recency. A run is older than its parent, because using a run also uses its
  // ancestors. The oldest run is therefore always a leaf.
  int32_t oldest_ = -1, newest_ = -1;
};

/// Number of equal leading values, at most `count`.
int64_t CommonPrefixLen(const TokenId* a, const TokenId* b, int64_t count);

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_RADIX_CACHE_H_
