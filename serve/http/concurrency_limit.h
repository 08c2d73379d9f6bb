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

/// Lets at most `limit` requests run at a time; the others wait: first those of clients with fewest
/// that run, of equals first come, first served. A semaphore whose permits cannot be lost. Used on
/// the I/O thread alone.
class ConcurrencyLimit {
 public:
  /// A place: first in the queue, then among those that run. Given back by its destruction.
  class Ticket {
   public:
    /// `limit` must outlive this.
    Ticket(ConcurrencyLimit& limit, std::string client);
    ~Ticket();
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;

    /// True as soon as it may run, false when it may not after `wait`. The place is kept.
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
  std::list<Ticket*> waiters_;                            // in the order in which they came
  std::unordered_map<std::string, int64_t> num_running_;  // by client
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_CONCURRENCY_LIMIT_H_
