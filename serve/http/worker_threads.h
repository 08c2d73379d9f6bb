#ifndef SHORTLIST_SERVE_HTTP_WORKER_THREADS_H_
#define SHORTLIST_SERVE_HTTP_WORKER_THREADS_H_

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/turn_queue.h"
#include "serve/http/message.h"

namespace shortlist {

/// Threads for what would hold up the I/O thread: reading and writing long JSON, encoding text,
/// sorting vocabularies.
///
/// Work is waited for in any case: a coroutine that is cancelled meanwhile ends, by the exception
/// of that, when work that has begun is done, or at once when it has not begun, which drops it. So
/// work may refer to what the awaiting coroutine holds.
class WorkerThreads {
 public:
  explicit WorkerThreads(int num_threads);
  /// Waits for what has begun; what has not is dropped, with whoever awaits it. The executor of
  /// these must still exist. No thread may call Run meanwhile.
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  /// Calls `work`, of some `num_bytes`, on one of the threads and returns what it returned, or
  /// throws what it threw. Clients take turns; work of one begins in the order of the calls. On an
  /// executor of one thread, to which it comes back. Memory that large work leaves behind goes back
  /// to the system.
  template <typename Work>
  boost::asio::awaitable<std::invoke_result_t<Work>> Run(const Client& client, int64_t num_bytes,
                                                         Work work) {
    std::optional<std::invoke_result_t<Work>> result;
    std::function<void()> job = [&] {
      result.emplace(work());
      if (num_bytes >= kLargeBytes) ReturnMemory();
    };
    co_await RunJob(client.name, std::move(job));
    co_return *std::move(result);
  }

  /// The same, but here where that is cheaper than to change threads: at most kInlineBytes.
  template <typename Work>
  boost::asio::awaitable<std::invoke_result_t<Work>> RunIfLarge(const Client& client,
                                                                int64_t num_bytes, Work work) {
    if (num_bytes <= kInlineBytes) co_return work();
    auto running = Run(client, num_bytes, std::move(work));
    auto result = co_await std::move(running);
    co_return std::move(result);
  }

  /// JSON of this size is read or written in a millisecond or so.
  static constexpr int64_t kInlineBytes = 32 << 10;

 private:
  static constexpr int64_t kLargeBytes = 256 << 10;

  static void ReturnMemory();
  struct Job;

  boost::asio::awaitable<void> RunJob(const std::string& client, std::function<void()> work);
  void RunThread();
  void Stop();

  TurnQueue<std::shared_ptr<Job>> jobs_;
  std::atomic<bool> ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_WORKER_THREADS_H_
