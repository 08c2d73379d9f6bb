#ifndef SHORTLIST_VOCAB_COUNTING_PAIR_COUNTS_H_
#define SHORTLIST_VOCAB_COUNTING_PAIR_COUNTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace shortlist {

/// How often which token follows which, of the most frequent pairs: beyond a bound on pairs, the
/// rarest are dropped (lossy counting, Manku and Motwani 2002), and a count may then be short by up
/// to max_missed(). It depends on the order of pairs alone. 18 bytes a pair at most, in hash tables
/// that grow.
///
/// Pairs lie in shards by their hash; threads may add to different shards at the same time.
class PairCounts {
 public:
  static constexpr int kNumShards = 16;

  /// At most about `max_pairs` are held.
  explicit PairCounts(int64_t max_pairs);

  /// A pair as one number, never 0.
  static uint64_t KeyOf(TokenId last, TokenId next) {
    return (static_cast<uint64_t>(Raw(last)) << 32 | static_cast<uint32_t>(Raw(next))) + 1;
  }
  static TokenId LastOf(uint64_t key) { return TokenId{static_cast<int32_t>((key - 1) >> 32)}; }
  static TokenId NextOf(uint64_t key) {
    return TokenId{static_cast<int32_t>((key - 1) & 0xFFFFFFFF)};
  }
  static int ShardOf(uint64_t key) { return static_cast<int>(Hash(key) >> 60); }

  /// Counts saturate at 2^32 - 1.
  void Add(uint64_t key, uint32_t count = 1);

  int64_t size() const;
  int64_t max_missed() const;

  /// Calls visit(key, count) for each pair, in an order that depends on the pairs added alone.
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
    std::vector<uint64_t> keys;  // 0: a free slot; a power of two of them
    std::vector<uint32_t> counts;
    size_t size = 0;
    int64_t max_missed = 0;

    void Add(uint64_t key, uint32_t count, size_t max_size);
    /// Keeps the pairs that were counted more than `floor` times, in tables of `num_slots`.
    void Rebuild(size_t num_slots, uint32_t floor);
    void Prune();
  };

  size_t max_shard_size_;
  std::array<Shard, kNumShards> shards_;
};

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_COUNTING_PAIR_COUNTS_H_
