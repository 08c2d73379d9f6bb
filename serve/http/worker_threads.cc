#include "serve/http/worker_threads.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <memory>
#include <new>

namespace shortlist {

namespace asio = boost::asio;

namespace {

/// The part of the awaiting coroutine; used on its thread only.
struct Waiter {
  asio::steady_timer wake;
  bool done = false;
};

// Each waiting coroutine has a connection, so their number is bounded.
constexpr int64_t kMaxJobs = 1 << 20;

}  // namespace

/// Shared by the awaiting coroutine and the worker thread.
struct WorkerThreads::Job {
  enum class State { kWaiting, kBegun, kWithdrawn };

  /// The first call sets the state and returns true; later calls return false.
  bool Set(State next) {
    State expected = State::kWaiting;
    return state.compare_exchange_strong(expected, next);
  }

  void Execute() {
    if (!Set(State::kBegun)) return;
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    asio::post(executor, [weak = waiter] {
      const std::shared_ptr<Waiter> locked = weak.lock();
      if (locked == nullptr) return;
      locked->done = true;
      locked->wake.cancel();
    });
  }

  std::function<void()> work;
  asio::any_io_executor executor;
  std::weak_ptr<Waiter> waiter;
  std::atomic<State> state = State::kWaiting;
  std::exception_ptr thrown;  // written by the worker, read by the waiter after `done`
};

WorkerThreads::WorkerThreads(int num_threads) : jobs_(kMaxJobs) {
  try {
    for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { RunThread(); });
  } catch (...) {
    Stop();
    throw;
  }
}

WorkerThreads::~WorkerThreads() { Stop(); }

void WorkerThreads::Stop() {
  ending_ = true;
  jobs_.Close();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerThreads::RunThread() {
  while (const std::optional<std::shared_ptr<Job>> job = jobs_.Pop()) {
    if (!ending_) (*job)->Execute();
  }
}

/// Without this, each thread's heap would keep the memory of its largest work.
void WorkerThreads::ReturnMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// co_spawn on a thread pool is not used: to cancel it, Boost 1.81 sends the pool a signal of the
// awaiting coroutine, which may be destroyed before the signal arrives.
asio::awaitable<void> WorkerThreads::RunJob(const std::string& client, std::function<void()> work) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto waiter = std::make_shared<Waiter>(
      Waiter{asio::steady_timer(executor, asio::steady_timer::time_point::max())});
  auto job = std::make_shared<Job>();
  job->work = std::move(work);
  job->executor = executor;
  job->waiter = waiter;
  std::shared_ptr<Job> queued = job;
  if (!jobs_.TryPush(client, queued)) throw std::bad_alloc();
  bool is_cancelled = false;
  while (!waiter->done) {
    co_await waiter->wake.async_wait(asio::as_tuple(asio::use_awaitable));
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() == asio::cancellation_type::none) continue;
    is_cancelled = true;
    if (job->Set(Job::State::kWithdrawn)) break;
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  }
  if (is_cancelled) throw boost::system::system_error(asio::error::operation_aborted);
  if (job->thrown) std::rethrow_exception(job->thrown);
}

}  // namespace shortlist
