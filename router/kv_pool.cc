#include "router/kv_pool.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace shortlist {

KvPool::KvPool(int64_t capacity) {
  SHORTLIST_CHECK(capacity >= 1 && capacity <= std::numeric_limits<int32_t>::max());
  held_.resize(capacity);
  free_.resize(capacity);
  // The lowest slot is on top, so that neighbours in a sequence are at first neighbours in memory.
  for (int64_t i = 0; i < capacity; ++i) free_[i] = static_cast<int32_t>(capacity - 1 - i);
}

bool KvPool::Allocate(std::span<int32_t> slots) {
  if (slots.size() > free_.size()) return false;
  std::copy_n(free_.rbegin(), slots.size(), slots.begin());
  free_.resize(free_.size() - slots.size());
  for (const int32_t slot : slots) held_[slot] = 1;
  return true;
}

void KvPool::Free(std::span<const int32_t> slots) {
  for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot) {
    SHORTLIST_CHECK(*slot >= 0 && *slot < capacity() && held_[*slot]);
    held_[*slot] = 0;
    free_.push_back(*slot);  // within the capacity reserved at the start
  }
}

}  // namespace shortlist
