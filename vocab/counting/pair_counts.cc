#include "vocab/counting/pair_counts.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace shortlist {
namespace {

constexpr size_t kFirstSlots = 256;

}  // namespace

PairCounts::PairCounts(int64_t max_pairs)
    : max_shard_size_(static_cast<size_t>(std::max<int64_t>(max_pairs / kNumShards, 2))) {}

void PairCounts::Add(uint64_t key, uint32_t count) {
  shards_[ShardOf(key)].Add(key, count, max_shard_size_);
}

void PairCounts::Shard::Add(uint64_t key, uint32_t count, size_t max_size) {
  if (keys.empty()) Rebuild(kFirstSlots, /*floor=*/0);
  size_t slot = Hash(key) & (keys.size() - 1);
  while (keys[slot] != 0 && keys[slot] != key) slot = (slot + 1) & (keys.size() - 1);
  if (keys[slot] == key) {
    const uint32_t room = std::numeric_limits<uint32_t>::max() - counts[slot];
    counts[slot] += std::min(count, room);
    return;
  }
  keys[slot] = key;
  counts[slot] = count;
  ++size;
  if (size > max_size) {
    Prune();
  } else if (size * 4 > keys.size() * 3) {
    Rebuild(2 * keys.size(), /*floor=*/0);
  }
}

void PairCounts::Shard::Rebuild(size_t num_slots, uint32_t floor) {
  const std::vector<uint64_t> old_keys = std::exchange(keys, std::vector<uint64_t>(num_slots));
  const std::vector<uint32_t> old_counts = std::exchange(counts, std::vector<uint32_t>(num_slots));
  size = 0;
  for (size_t i = 0; i < old_keys.size(); ++i) {
    if (old_keys[i] == 0 || old_counts[i] <= floor) continue;
    size_t slot = Hash(old_keys[i]) & (num_slots - 1);
    while (keys[slot] != 0) slot = (slot + 1) & (num_slots - 1);
    keys[slot] = old_keys[i];
    counts[slot] = old_counts[i];
    ++size;
  }
}

void PairCounts::Shard::Prune() {
  // The smallest floor that frees a quarter of the pairs.
  std::vector<uint32_t> sorted;
  for (size_t slot = 0; slot < keys.size(); ++slot) {
    if (keys[slot] != 0) sorted.push_back(counts[slot]);
  }
  const auto quarter = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 4);
  std::nth_element(sorted.begin(), quarter, sorted.end());
  max_missed += *quarter;
  Rebuild(keys.size(), *quarter);
}

int64_t PairCounts::size() const {
  int64_t size = 0;
  for (const Shard& shard : shards_) size += static_cast<int64_t>(shard.size);
  return size;
}

int64_t PairCounts::max_missed() const {
  int64_t most = 0;
  for (const Shard& shard : shards_) most = std::max(most, shard.max_missed);
  return most;
}

}  // namespace shortlist
