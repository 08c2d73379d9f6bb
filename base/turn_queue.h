#ifndef SHORTLIST_BASE_TURN_QUEUE_H_
#define SHORTLIST_BASE_TURN_QUEUE_H_

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace shortlist {

/// Returns the hard limit of a queue of `capacity`: an eighth more, and at least 1 more.
inline int64_t MostQueued(int64_t capacity) {
  return capacity + std::max<int64_t>(capacity / 8, 1);
}

/// True if a queue accepts one more value from a client that has `own` of its `total` values, which
/// come from `num_clients` clients, this one included. The places beyond `capacity` are for clients
/// with less than an even share: a client that fills the queue does not shut out the others.
inline bool QueueHasRoom(int64_t own, int64_t total, int64_t num_clients, int64_t capacity) {
  if (total < capacity) return true;
  return total < MostQueued(capacity) && own < std::max<int64_t>(capacity / num_clients, 1);
}

/// A queue between threads that serves its clients in turn. Values of one client are first come,
/// first served; a client with many values delays itself, not the others. Thread-safe. A closed
/// queue accepts no more values, but its values can still be popped.
template <typename T>
class TurnQueue {
 public:
  /// `capacity` is at least 1.
  explicit TurnQueue(int64_t capacity) : capacity_(capacity) {}

  /// Returns false and keeps `value` if there is no room (QueueHasRoom) or the queue is closed.
  bool TryPush(const std::string& client, T& value) {
    const std::lock_guard lock(mutex_);
    const auto found = of_client_.find(client);
    const bool is_new = found == of_client_.end();
    const int64_t own = is_new ? 0 : std::ssize(found->second->values);
    const int64_t num_clients = std::ssize(of_client_) + (is_new ? 1 : 0);
    if (closed_ || !QueueHasRoom(own, size_, num_clients, capacity_)) return false;
    if (is_new) {
      std::list<Turn> turn;  // built first: nothing has changed if memory runs out
      turn.push_back({client, {}});
      turn.back().values.emplace_back();
      of_client_.emplace(client, turn.begin());
      turns_.splice(turns_.end(), turn);
      turns_.back().values.back() = std::move(value);
    } else {
      found->second->values.push_back(std::move(value));
    }
    ++size_;
    has_values_.notify_one();
    return true;
  }

  /// Waits for a value. Returns nullopt if the queue is closed and empty.
  std::optional<T> Pop() {
    std::unique_lock lock(mutex_);
    has_values_.wait(lock, [this] { return closed_ || size_ > 0; });
    if (size_ == 0) return std::nullopt;
    Turn& next = turns_.front();
    std::optional<T> value(std::move(next.values.front()));
    next.values.pop_front();
    --size_;
    if (next.values.empty()) {
      of_client_.erase(next.client);
      turns_.pop_front();
    } else {
      turns_.splice(turns_.end(), turns_, turns_.begin());
    }
    return value;
  }

  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    has_values_.notify_all();
  }

 private:
  struct Turn {
    std::string client;
    std::deque<T> values;  // at least one
  };

  const int64_t capacity_;
  std::mutex mutex_;
  std::condition_variable has_values_;
  std::list<Turn> turns_;  // the next turn is in front
  std::unordered_map<std::string, typename std::list<Turn>::iterator> of_client_;
  int64_t size_ = 0;
  bool closed_ = false;
};

}  // namespace shortlist

#endif  // SHORTLIST_BASE_TURN_QUEUE_H_
