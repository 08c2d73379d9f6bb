#ifndef SHORTLIST_GRAMMAR_BYTE_LRU_H_
#define SHORTLIST_GRAMMAR_BYTE_LRU_H_

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace shortlist {

/// Values by key, up to a number of bytes; the least recently used go first. A caller that holds a
/// value keeps it. Thread-safe.
template <typename Key, typename Value>
class ByteLru {
 public:
  explicit ByteLru(int64_t max_bytes) : max_bytes_(max_bytes) {}

  /// null: not present.
  std::shared_ptr<const Value> Find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->value;
  }

  /// Keeps what another thread added before. A value above the limit is not kept.
  void Add(const Key& key, std::shared_ptr<const Value> value, int64_t num_bytes) {
    const std::lock_guard lock(mutex_);
    if (num_bytes > max_bytes_ || entries_.contains(key)) return;
    order_.push_front({key, std::move(value), num_bytes});
    entries_.emplace(key, order_.begin());
    num_bytes_ += num_bytes;
    while (num_bytes_ > max_bytes_) {
      num_bytes_ -= order_.back().num_bytes;
      entries_.erase(order_.back().key);
      order_.pop_back();
    }
  }

  int64_t num_bytes() const {
    const std::lock_guard lock(mutex_);
    return num_bytes_;
  }

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const Value> value;
    int64_t num_bytes;
  };

  const int64_t max_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> order_;  // most recently used first
  absl::flat_hash_map<Key, typename std::list<Entry>::iterator> entries_;
  int64_t num_bytes_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_BYTE_LRU_H_
