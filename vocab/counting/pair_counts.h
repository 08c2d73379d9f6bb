#ifndef SHORTLIST_VOCAB_COUNTING_PAIR_COUNTS_H_
#define SHORTLIST_VOCAB_COUNTING_PAIR_COUNTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace shortlist {

/// Counts which token follows which, for the most frequent pairs. Beyond a bound on pairs the
/// rarest are dropped (lossy counting, Manku and Motwani 2002), and a count may then be short by up
/// to max_missed(). The result depends only on the order of pairs. Uses hash tables that double: 12
/// bytes a slot, at most three quarters full.
///
/// Pairs are in shards by their hash; threads may add to different shards at the same time.
class PairCounts {
 public:
  static constexpr int kNumShards = 16;

  /// Holds at most about `max_pairs` pairs.
  explicit PairCounts(int64_t max_pairs);

  /// Returns a pair as one number, never 0.
  static uint64_t KeyOf(TokenId last, TokenId next) {
    return (static_cast<uint64_t>(Raw(last)) << 32 | static_cast<uint32_t>(Raw(next))) + 1;
  }
  static TokenId LastOf(uint64_t key) { return TokenId{static_cast<int32_t>((key - 1) >> 32)}; }
  static TokenId NextOf(uint64_t key) {
    return TokenId{static_cast<int32_t>((key - 1) & 0xFFFFFFFF)};
  }
  static int ShardOf(uint64_t key) { return static_cast<int>(Hash(key) >> 60); }

  /// Adds to the count of a pair. Counts saturate at 2^32 - 1.
  void Add(uint64_t key, uint32_t count = 1);

  int64_t size() const;
  int64_t max_missed() const;

  /// Calls visit(key, count) for each pair, in an order that depends only on the pairs added.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (const Shard& shard : shards_) {
      for (size_t slot = 0; slot < shard.keys.size(); ++slot) {
        if (shard.keys[slot] != 0) visit(shard.keys[slot], shard.counts[slot]);
      }
    }
  }

 private:
  static uint64_t Hash(uint64_t key) {
    key *= 0x9E3779B97F4A7C15;
    return key ^ key >> 29;
  }

  struct Shard {
    std::vector<uint64_t> keys;  // 0: a free slot; the size is a power of two
    std::vector<uint32_t> counts;
    size_t size = 0;
    int64_t max_missed = 0;

    void Add(uint64_t key, uint32_t count, size_t max_size);
    /// Keeps the pairs counted more than `floor` times, in tables of `num_slots`.
    void Rebuild(size_t num_slots, uint32_t floor);
    void Prune();
  };

  size_t max_shard_size_;
  std::array<Shard, kNumShards> shards_;
};

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_COUNTING_PAIR_COUNTS_H_
