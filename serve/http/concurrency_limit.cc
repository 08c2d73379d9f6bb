#include "serve/http/concurrency_limit.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace shortlist {

namespace asio = boost::asio;

ConcurrencyLimit::Ticket::Ticket(ConcurrencyLimit& limit, std::string client)
    : limit_(limit), client_(std::move(client)), timer_(limit.executor_) {
  if (limit_.available_ > 0) {
    --limit_.available_;
    Admit();
  } else {
    limit_.waiters_.push_back(this);
  }
}

ConcurrencyLimit::Ticket::~Ticket() {
  if (!admitted_) {
    limit_.waiters_.remove(this);
    return;
  }
  const auto own = limit_.num_running_.find(client_);
  if (--own->second == 0) limit_.num_running_.erase(own);
  if (limit_.waiters_.empty()) {
    ++limit_.available_;
    return;
  }
  const auto next = std::min_element(
      limit_.waiters_.begin(), limit_.waiters_.end(), [this](const Ticket* a, const Ticket* b) {
        return limit_.NumRunning(a->client_) < limit_.NumRunning(b->client_);
      });
  Ticket* const admitted = *next;
  limit_.waiters_.erase(next);
  admitted->Admit();
}

void ConcurrencyLimit::Ticket::Admit() {
  admitted_ = true;
  ++limit_.num_running_[client_];
  timer_.cancel();
}

int64_t ConcurrencyLimit::NumRunning(const std::string& client) const {
  const auto found = num_running_.find(client);
  return found == num_running_.end() ? 0 : found->second;
}

asio::awaitable<bool> ConcurrencyLimit::Ticket::WaitWithin(std::chrono::milliseconds wait) {
  if (!admitted_) {
    timer_.expires_after(wait);
    co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  co_return admitted_;
}

}  // namespace shortlist
