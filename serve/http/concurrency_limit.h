#ifndef SHORTLIST_SERVE_HTTP_CONCURRENCY_LIMIT_H_
#define SHORTLIST_SERVE_HTTP_CONCURRENCY_LIMIT_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

namespace shortlist {

/// Runs at most `limit` requests at a time. Of the waiting ones, those of clients with the fewest
/// running requests go first; among equals, first come, first served. A semaphore whose permits
/// cannot be lost. Used on the I/O thread only.
class ConcurrencyLimit {
 public:
  /// A place: first in the queue, then among the running requests. The destructor gives it back.
  class Ticket {
   public:
    /// `limit` must outlive this.
    Ticket(ConcurrencyLimit& limit, std::string client);
    ~Ticket();
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;

    /// Returns true as soon as the request may run, false if it may not after `wait`; it then keeps
    /// its place in the queue.
    boost::asio::awaitable<bool> WaitWithin(std::chrono::milliseconds wait);

   private:
    friend class ConcurrencyLimit;
    void Admit();

    ConcurrencyLimit& limit_;
    const std::string client_;
    bool admitted_ = false;
    boost::asio::steady_timer timer_;
  };

  ConcurrencyLimit(boost::asio::any_io_executor executor, int64_t limit)
      : executor_(std::move(executor)), limit_(limit), available_(limit) {}

  int64_t NumRunning(const std::string& client) const;
  int64_t limit() const { return limit_; }

 private:
  const boost::asio::any_io_executor executor_;
  const int64_t limit_;
  int64_t available_;
  std::list<Ticket*> waiters_;                            // in order of arrival
  std::unordered_map<std::string, int64_t> num_running_;  // by client
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_CONCURRENCY_LIMIT_H_
