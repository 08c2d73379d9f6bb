#ifndef SHORTLIST_ROUTER_KV_POOL_H_
#define SHORTLIST_ROUTER_KV_POOL_H_

#include <cstdint>
#include <span>
#include <vector>

namespace shortlist {

/// Tracks which KV slots of a model (0 .. capacity - 1) are free or held. A held slot belongs to
/// one request or to the radix cache; the pool does not record which. Not thread-safe.
class KvPool {
 public:
  /// `capacity` in [1, 2^31).
  explicit KvPool(int64_t capacity);

  /// Fills `slots` with free slots and marks them held. Returns false and changes nothing if there
  /// are fewer free slots. Never throws.
  bool Allocate(std::span<int32_t> slots);

  /// Frees held slots. Freeing a free slot is a broken invariant. Never throws.
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
