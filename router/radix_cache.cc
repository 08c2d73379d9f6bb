#include "router/radix_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace shortlist {
namespace {

int64_t CommonPrefixLen(const int32_t* a, const int32_t* b, int64_t count) {
  // memcmp runs at memory speed; only the block that differs is compared by token.
  constexpr int64_t kBlock = 128;
  int64_t i = 0;
  while (i < count) {
    const int64_t block = std::min(kBlock, count - i);
    if (std::memcmp(a + i, b + i, block * sizeof(int32_t)) != 0) break;
    i += block;
  }
  while (i < count && a[i] == b[i]) ++i;
  return i;
}

}  // namespace

static_assert(sizeof(TokenId) == sizeof(int32_t));

int64_t CommonPrefixLen(const TokenId* a, const TokenId* b, int64_t count) {
  return CommonPrefixLen(reinterpret_cast<const int32_t*>(a), reinterpret_cast<const int32_t*>(b),
                         count);
}

RadixCache::RadixCache(KvPool& pool, Options options)
    : pool_(pool),
      look_ahead_(options.bigram_keys ? 1 : 0),
      hash_seed_(options.hash_seed),
      // Every run holds at least one slot, so chains stay short although the table never grows.
      buckets_(std::bit_ceil(static_cast<size_t>(pool.capacity())), -1) {}

size_t RadixCache::BucketOf(int32_t parent, int32_t first, int32_t second) const {
  // splitmix64 over the three values.
  uint64_t x = hash_seed_;
  for (const int32_t value : {parent, first, second}) {
    x += static_cast<uint32_t>(value) + 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
  }
  return x & (buckets_.size() - 1);
}

int32_t RadixCache::FindChild(int32_t parent, const TokenId* key) const {
  const int32_t first = Raw(key[0]);
  const int32_t second = look_ahead_ > 0 ? Raw(key[1]) : 0;
  int32_t node = buckets_[BucketOf(parent, first, second)];
  while (node >= 0 && !(nodes_[node].parent == parent && nodes_[node].first[0] == first &&
                        nodes_[node].first[1] == second)) {
    node = nodes_[node].next_in_bucket;
  }
  return node;
}

void RadixCache::LinkChild(int32_t node) {
  Node& child = nodes_[node];
  child.first[0] = child.tokens[0];
  child.first[1] = look_ahead_ > 0 ? child.tokens[1] : 0;
  int32_t& head = buckets_[BucketOf(child.parent, child.first[0], child.first[1])];
  child.next_in_bucket = std::exchange(head, node);
  Node& parent = nodes_[child.parent];
  child.newer_sibling = -1;
  child.older_sibling = std::exchange(parent.newest_child, node);
  if (child.older_sibling >= 0) nodes_[child.older_sibling].newer_sibling = node;
  ++parent.num_children;
  parent.version = ++clock_;
}

void RadixCache::UnlinkChild(int32_t node) {
  const Node& child = nodes_[node];
  int32_t* link = &buckets_[BucketOf(child.parent, child.first[0], child.first[1])];
  while (*link != node) link = &nodes_[*link].next_in_bucket;
  *link = child.next_in_bucket;
  Node& parent = nodes_[child.parent];
  (child.newer_sibling >= 0 ? nodes_[child.newer_sibling].older_sibling : parent.newest_child) =
      child.older_sibling;
  if (child.older_sibling >= 0) nodes_[child.older_sibling].newer_sibling = child.newer_sibling;
  --parent.num_children;
}

int32_t RadixCache::NewNode() {
  int32_t node = free_nodes_;
  if (node >= 0) {
    free_nodes_ = nodes_[node].next_in_bucket;
  } else {
    node = static_cast<int32_t>(nodes_.size());
    nodes_.emplace_back();
  }
  nodes_[node].next_in_bucket = -1;
  nodes_[node].born = nodes_[node].version = ++clock_;
  ++num_nodes_;
  return node;
}

void RadixCache::DeleteNode(int32_t node) {
  nodes_[node] = Node();
  nodes_[node].version = ++clock_;
  nodes_[node].next_in_bucket = std::exchange(free_nodes_, node);
  --num_nodes_;
}

int32_t RadixCache::OpenNamespace(std::string_view salt) {
  const auto [entry, is_new] = roots_.try_emplace(std::string(salt), -1);
  if (is_new) {
    try {
      entry->second = NewNode();
    } catch (...) {
      roots_.erase(entry);
      throw;
    }
    nodes_[entry->second].salt = &entry->first;
  }
  ++nodes_[entry->second].num_locks;
  return entry->second;
}

void RadixCache::DeleteRootIfUnused(int32_t root) {
  if (nodes_[root].num_children > 0 || nodes_[root].num_locks > 0) return;
  roots_.erase(roots_.find(*nodes_[root].salt));
  DeleteNode(root);
}

RadixCache::Match RadixCache::MatchPrefix(int32_t root, std::span<const TokenId> tokens) const {
  return MatchFrom({.node = root}, tokens);
}

RadixCache::Match RadixCache::Rematch(const Match& match, int32_t root,
                                      std::span<const TokenId> tokens) const {
  const Node& node = nodes_[match.node];
  // The run may have been split or cut. If it still ends where the match did, everything before is
  // unchanged, because a node is never evicted before its descendants.
  if (node.born != match.born || node.end != match.len) return MatchPrefix(root, tokens);
  return MatchFrom({.node = match.node, .len = match.len, .offset = node.len()}, tokens);
}

RadixCache::Match RadixCache::MatchFrom(Match match, std::span<const TokenId> tokens) const {
  const int64_t num_tokens = static_cast<int64_t>(tokens.size());
  const int32_t* const raw = reinterpret_cast<const int32_t*>(tokens.data());
  while (match.len < num_tokens - look_ahead_) {
    const int32_t child = FindChild(match.node, tokens.data() + match.len);
    if (child < 0) break;
    const Node& node = nodes_[child];
    const int64_t count =
        std::min(static_cast<int64_t>(node.tokens.size()), num_tokens - match.len);
    match.node = child;
    match.offset = CommonPrefixLen(node.tokens.data(), raw + match.len, count) - look_ahead_;
    match.len += match.offset;
    if (match.offset < node.len()) break;
  }
  match.born = nodes_[match.node].born;
  match.version = nodes_[match.node].version;
  return match;
}

int32_t RadixCache::Lock(const Match& match) {
  SHORTLIST_CHECK(IsCurrent(match));
  int32_t node = match.node;
  if (match.offset < nodes_[node].len()) node = Split(node, match.offset);
  Lock(node);
  return node;
}

void RadixCache::Lock(int32_t node) {
  for (; node >= 0; node = nodes_[node].parent) {
    Node& n = nodes_[node];
    if (n.num_locks++ == 0 && n.parent >= 0) {
      Unlist(node);
      evictable_len_ -= n.len();
    }
  }
}

void RadixCache::Unlock(int32_t node) {
  int32_t root = node;
  for (; node >= 0; node = nodes_[node].parent) {
    Node& n = nodes_[node];
    SHORTLIST_CHECK(n.num_locks > 0);
    if (--n.num_locks == 0 && n.parent >= 0) {
      PushNewest(node);
      evictable_len_ += n.len();
    }
    root = node;
  }
  DeleteRootIfUnused(root);
}

/// Cuts `node` after `at` of its positions. The first part becomes a new node, which is returned.
/// `node` remains the end of the run, so that its holders still hold the whole path.
int32_t RadixCache::Split(int32_t node, int64_t at) {
  Node& lower = nodes_[node];
  std::vector<int32_t> tokens(lower.tokens.begin(), lower.tokens.begin() + at + look_ahead_);
  std::vector<int32_t> slots(lower.slots.begin(), lower.slots.begin() + at);
  const int32_t index = NewNode();
  Node& upper = nodes_[index];
  UnlinkChild(node);
  upper.tokens = std::move(tokens);
  upper.slots = std::move(slots);
  upper.parent = lower.parent;
  upper.end = lower.end - (lower.len() - at);
  upper.num_locks = lower.num_locks;
  lower.tokens.erase(lower.tokens.begin(), lower.tokens.begin() + at);
  lower.slots.erase(lower.slots.begin(), lower.slots.begin() + at);
  lower.parent = index;
  lower.version = ++clock_;
  LinkChild(index);
  LinkChild(node);
  if (lower.num_locks == 0) {  // directly after the lower part in recency
    upper.older = node;
    upper.newer = std::exchange(lower.newer, index);
    (upper.newer >= 0 ? nodes_[upper.newer].older : newest_) = index;
  }
  return index;
}

RadixCache::Inserted RadixCache::Insert(int32_t root, std::span<const TokenId> tokens,
                                        std::span<const int32_t> slots,
                                        std::span<const TokenId> rows) {
  SHORTLIST_CHECK(!slots.empty() && tokens.size() == slots.size() + look_ahead_);
  const Match match = MatchPrefix(root, tokens);
  int32_t node = match.node;
  if (match.offset < nodes_[node].len()) node = Split(node, match.offset);
  if (match.len < static_cast<int64_t>(slots.size())) {
    node = AddLeaf(node, tokens.subspan(match.len), slots.subspan(match.len), rows);
  } else if (!rows.empty()) {
    nodes_[node].rows.assign(rows.begin(), rows.end());
  }
  Touch(node);
  return {node, match.len};
}

int32_t RadixCache::AddLeaf(int32_t parent, std::span<const TokenId> tokens,
                            std::span<const int32_t> slots, std::span<const TokenId> rows) {
  std::vector<int32_t> raw_tokens(tokens.size());
  std::memcpy(raw_tokens.data(), tokens.data(), tokens.size_bytes());
  std::vector<int32_t> own_slots(slots.begin(), slots.end());
  std::vector<TokenId> own_rows(rows.begin(), rows.end());
  const int32_t index = NewNode();
  Node& leaf = nodes_[index];
  leaf.tokens = std::move(raw_tokens);
  leaf.slots = std::move(own_slots);
  leaf.rows = std::move(own_rows);
  leaf.parent = parent;
  leaf.end = nodes_[parent].end + leaf.len();
  LinkChild(index);
  PushNewest(index);
  len_ += leaf.len();
  evictable_len_ += leaf.len();
  return index;
}

void RadixCache::CopySlots(int32_t node, int64_t first, std::span<int32_t> slots) const {
  SHORTLIST_CHECK(static_cast<int64_t>(slots.size()) == nodes_[node].end - first);
  for (; nodes_[node].end > first; node = nodes_[node].parent) {
    const Node& n = nodes_[node];
    const int64_t begin = n.end - n.len();
    const int64_t skip = std::max<int64_t>(first - begin, 0);
    std::copy(n.slots.begin() + skip, n.slots.end(), slots.begin() + (begin + skip - first));
  }
}

void RadixCache::AppendRows(int32_t node, std::vector<TokenId>& rows) const {
  std::vector<int32_t> path;
  for (; node >= 0; node = nodes_[node].parent) path.push_back(node);
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    rows.insert(rows.end(), nodes_[*step].rows.begin(), nodes_[*step].rows.end());
  }
}

void RadixCache::AppendContinuations(const Match& match, int64_t max_tokens,
                                     std::vector<TokenId>& tokens) const {
  SHORTLIST_CHECK(IsCurrent(match));
  const size_t begin = tokens.size();
  const auto room = [&] { return max_tokens - static_cast<int64_t>(tokens.size() - begin); };
  // Breadth first: tokens that come soon on any branch are nearer than late ones of one branch.
  // Appends the tokens of a run from `first` on. With bigram keys, the run's look-ahead is the next
  // run's first token.
  const auto append = [&](const Node& node, int64_t first) {
    const int64_t count = std::min(node.len() - first, room());
    for (int64_t i = 0; i < count; ++i) tokens.push_back(TokenId{node.tokens[first + i]});
  };
  std::vector<int32_t> runs = {match.node};
  append(nodes_[match.node], match.offset);
  for (size_t i = 0; i < runs.size() && room() > 0; ++i) {
    for (int32_t child = nodes_[runs[i]].newest_child; child >= 0 && room() > 0;
         child = nodes_[child].older_sibling) {
      append(nodes_[child], 0);
      runs.push_back(child);
    }
  }
  std::reverse(tokens.begin() + begin, tokens.end());
}

int64_t RadixCache::EvictableLen(const Match& match) const {
  int64_t len = 0;
  for (int32_t node = match.node; nodes_[node].parent >= 0 && nodes_[node].num_locks == 0;
       node = nodes_[node].parent) {
    len += node == match.node ? match.offset : nodes_[node].len();
  }
  return len;
}

int64_t RadixCache::Evict(int64_t num_slots) {
  int64_t left = std::min(num_slots, evictable_len_);
  const int64_t num_evicted = std::max<int64_t>(left, 0);
  while (left > 0) {
    const int32_t index = oldest_;
    Node& node = nodes_[index];
    SHORTLIST_CHECK(node.num_children == 0 && node.num_locks == 0);
    const int64_t count = std::min(left, node.len());
    pool_.Free(std::span(node.slots).last(count));
    left -= count;
    len_ -= count;
    evictable_len_ -= count;
    if (count < node.len()) {
      node.slots.resize(node.len() - count);
      node.tokens.resize(node.slots.size() + look_ahead_);
      node.rows.clear();  // they belonged to the whole prefix
      node.end -= count;
      node.version = ++clock_;
      break;
    }
    const int32_t parent = node.parent;
    UnlinkChild(index);
    Unlist(index);
    DeleteNode(index);
    if (nodes_[parent].parent < 0) DeleteRootIfUnused(parent);
  }
  return num_evicted;
}

void RadixCache::Touch(int32_t node) {
  for (; nodes_[node].parent >= 0 && nodes_[node].num_locks == 0; node = nodes_[node].parent) {
    Unlist(node);
    PushNewest(node);
  }
}

void RadixCache::PushNewest(int32_t node) {
  nodes_[node].newer = -1;
  nodes_[node].older = newest_;
  (newest_ >= 0 ? nodes_[newest_].newer : oldest_) = node;
  newest_ = node;
}

void RadixCache::Unlist(int32_t node) {
  const auto [older, newer] = std::pair(nodes_[node].older, nodes_[node].newer);
  (older >= 0 ? nodes_[older].newer : oldest_) = newer;
  (newer >= 0 ? nodes_[newer].older : newest_) = older;
}

}  // namespace shortlist
