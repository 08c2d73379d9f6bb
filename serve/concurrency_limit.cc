#include "serve/concurrency_limit.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace shortlist {

namespace asio = boost::asio;

ConcurrencyLimit::Ticket::Ticket(ConcurrencyLimit& limit) : limit_(limit), timer_(limit.executor_) {
  if (limit_.available_ > 0) {
    --limit_.available_;
    admitted_ = true;
  } else {
    limit_.waiters_.push_back(this);
  }
}

ConcurrencyLimit::Ticket::~Ticket() {
  if (!admitted_) {
    limit_.waiters_.remove(this);
  } else if (limit_.waiters_.empty()) {
    ++limit_.available_;
  } else {
    Ticket* const next = limit_.waiters_.front();
    limit_.waiters_.pop_front();
    next->Admit();
  }
}

void ConcurrencyLimit::Ticket::Admit() {
  admitted_ = true;
  timer_.cancel();
}

asio::awaitable<bool> ConcurrencyLimit::Ticket::WaitWithin(std::chrono::milliseconds wait) {
  if (!admitted_) {
    timer_.expires_after(wait);
    co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  co_return admitted_;
}

}  // namespace shortlist
