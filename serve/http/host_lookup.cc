#include "serve/http/host_lookup.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <system_error>
#include <thread>

namespace shortlist {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

struct HostLookup::Answer {
  std::atomic<bool> is_there = false;
  absl::StatusOr<Endpoints> endpoints;  // valid once is_there
};

absl::StatusOr<Endpoints> ResolveHost(const std::string& host, const std::string& port) {
  asio::io_context io;
  asio::ip::tcp::resolver resolver(io);
  boost::system::error_code error;
  const auto found = resolver.resolve(host, port, error);
  if (error) return absl::UnavailableError(error.message());
  Endpoints endpoints;
  for (const auto& entry : found) endpoints.push_back(entry.endpoint());
  return endpoints;
}

asio::awaitable<absl::StatusOr<Endpoints>> HostLookup::Run(std::chrono::milliseconds timeout) {
  if (answer_ == nullptr) {
    answer_ = std::make_shared<Answer>();
    try {
      std::thread([answer = answer_, resolve = resolve_, host = host_, port = port_] {
        answer->endpoints = resolve(host, port);
        answer->is_there = true;
      }).detach();
    } catch (const std::system_error& error) {
      answer_->endpoints = absl::UnavailableError(error.what());
      answer_->is_there = true;
    }
  }
  const std::shared_ptr<Answer> answer = answer_;
  asio::steady_timer timer(co_await asio::this_coro::executor);
  const Clock::time_point deadline = Clock::now() + timeout;
  // Polls the answer: the thread must not use an executor, which may be destroyed before the thread
  // ends.
  for (std::chrono::milliseconds pause{1}; !answer->is_there;
       pause = std::min(2 * pause, std::chrono::milliseconds(50))) {
    if (Clock::now() >= deadline) co_return absl::DeadlineExceededError("the name is not resolved");
    timer.expires_after(pause);
    co_await timer.async_wait(asio::use_awaitable);
  }
  if (answer_ == answer) answer_ = nullptr;
  co_return answer->endpoints;
}

}  // namespace shortlist
