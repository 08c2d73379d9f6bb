#ifndef SHORTLIST_ROUTER_BOUNDED_QUEUE_H_
#define SHORTLIST_ROUTER_BOUNDED_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace shortlist {

/// A first-in first-out queue between threads, of at most `capacity` (at least 1) values.
/// Thread-safe. A closed queue accepts no more values; its remaining values can still be popped.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  /// Waits while the queue is full. Drops `value` and returns false if the queue is closed.
  bool Push(T value) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [this] { return closed_ || values_.size() < capacity_; });
    if (closed_) return false;
    values_.push_back(std::move(value));
    has_values_.notify_one();
    return true;
  }

  /// Waits for a value; returns nullopt if the queue is closed and empty.
  std::optional<T> Pop() {
    std::unique_lock lock(mutex_);
    has_values_.wait(lock, [this] { return closed_ || !values_.empty(); });
    if (values_.empty()) return std::nullopt;
    std::optional<T> value(std::move(values_.front()));
    values_.pop_front();
    has_room_.notify_one();
    return value;
  }

  /// Moves all values to the end of `out`, first waiting for a value if `wait`. Returns false if
  /// the queue is closed and was empty.
  bool PopAll(bool wait, std::vector<T>& out) {
    std::unique_lock lock(mutex_);
    if (wait) has_values_.wait(lock, [this] { return closed_ || !values_.empty(); });
    if (closed_ && values_.empty()) return false;
    for (T& value : values_) out.push_back(std::move(value));
    values_.clear();
    has_room_.notify_all();
    return true;
  }

  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    has_room_.notify_all();
    has_values_.notify_all();
  }

 private:
  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable has_room_, has_values_;
  std::deque<T> values_;
  bool closed_ = false;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_BOUNDED_QUEUE_H_
