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

/// Threads for work that would block the I/O thread: reading and writing long JSON, encoding text,
/// sorting vocabularies.
///
/// The awaiting coroutine never ends before its work. If it is cancelled, work that has not begun
/// is dropped and the coroutine ends at once. Work that has begun is finished first. In both cases
/// the coroutine ends by the exception of the cancellation. So work may refer to data of the
/// awaiting coroutine.
class WorkerThreads {
 public:
  explicit WorkerThreads(int num_threads);
  /// Waits for work that has begun, and drops other work with the coroutines that await it. Their
  /// executor must still exist. No thread may call Run meanwhile.
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  /// Calls `work`, which handles about `num_bytes`, on one of the threads. Returns its result, or
  /// throws its exception. Clients take turns; work of one client begins in the order of calls.
  /// Call it on an executor with one thread; the coroutine resumes there. Memory freed by large
  /// work is returned to the system.
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

  /// Same as Run(), but runs `work` on the calling thread if `num_bytes` is at most kInlineBytes,
  /// when changing threads would cost more.
  template <typename Work>
  boost::asio::awaitable<std::invoke_result_t<Work>> RunIfLarge(const Client& client,
                                                                int64_t num_bytes, Work work) {
    if (num_bytes <= kInlineBytes) co_return work();
    auto running = Run(client, num_bytes, std::move(work));
    auto result = co_await std::move(running);
    co_return std::move(result);
  }

  /// JSON of this size is read or written in about a millisecond.
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
