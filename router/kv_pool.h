#ifndef SHORTLIST_ROUTER_KV_POOL_H_
#define SHORTLIST_ROUTER_KV_POOL_H_

#include <cstdint>
#include <span>
#include <vector>

namespace shortlist {

/// Who holds which KV slot of a model: slots 0 .. capacity - 1, free or held. A held slot belongs
/// to one request or to the radix cache; who it is, they know themselves. Not thread-safe.
class KvPool {
 public:
  /// `capacity` in [1, 2^31).
  explicit KvPool(int64_t capacity);

  /// Fills `slots` with free slots and holds them, or does nothing and returns false when there are
  /// fewer. Never throws.
  bool Allocate(std::span<int32_t> slots);

  /// Gives held slots back. Freeing a slot that is free is a broken invariant. Never throws.
  void Free(std::span<const int32_t> slots);

  int64_t capacity() const { return static_cast<int64_t>(held_.size()); }
  int64_t num_free() const { return static_cast<int64_t>(free_.size()); }
  bool held(int32_t slot) const { return held_[slot] != 0; }

 private:
  std::vector<int32_t> free_;  // a stack
  std::vector<uint8_t> held_;  // [capacity]
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_KV_POOL_H_
