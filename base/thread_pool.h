#ifndef SHORTLIST_BASE_THREAD_POOL_H_
#define SHORTLIST_BASE_THREAD_POOL_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace shortlist {

/// A persistent pool that runs one data-parallel loop at a time.
///
/// The calling thread works too, so a pool of one thread has no workers and runs in place. Workers
/// wait for the next loop by spinning for a fraction of a millisecond, then park. A decode step
/// issues dozens of loops in succession; an idle engine uses no processor time.
///
/// One thread at a time may call Run or ParallelFor; loops do not nest. Tasks must not throw.
class ThreadPool {
 public:
  /// `num_threads` includes the caller; at least 1. Throws std::system_error if the system has no
  /// more threads.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return num_threads_; }

  using Task = void (*)(void* context, int64_t task);

  /// Calls task(context, i) once for each i in [0, num_tasks), in any order and on any thread.
  /// Returns when all have finished. num_tasks <= 1 runs in place and wakes no worker. num_tasks is
  /// below 2^31.
  void Run(int64_t num_tasks, Task task, void* context);

  /// Cuts [0, count) into at most num_threads contiguous ranges and calls body(begin, end) once for
  /// each. Each length but the last is a multiple of `grain`. The cut depends on `count`, `grain`
  /// and num_threads alone.
  template <typename Body>
  void ParallelFor(int64_t count, int64_t grain, Body&& body) {
    if (count <= 0) return;
    const int64_t num_grains = (count + grain - 1) / grain;
    const int64_t num_ranges = num_grains < num_threads_ ? num_grains : num_threads_;
    struct Context {
      std::remove_reference_t<Body>* body;
      int64_t count, grain, num_grains, num_ranges;
    } context{&body, count, grain, num_grains, num_ranges};
    Run(
        num_ranges,
        [](void* raw, int64_t range) {
          const auto& c = *static_cast<const Context*>(raw);
          const int64_t begin = c.num_grains * range / c.num_ranges * c.grain;
          const int64_t end = c.num_grains * (range + 1) / c.num_ranges * c.grain;
          (*c.body)(begin, end < c.count ? end : c.count);
        },
        &context);
  }

 private:
  /// Ends all workers started so far. They must have no task.
  void Stop();
  void WorkerLoop();
  /// Claims one task of the current loop and runs it. Returns false if none is left to claim.
  bool RunOneTask();

  const int num_threads_;
  std::vector<std::thread> workers_;
  // Total number of worker tasks that Run has waited for.
  uint64_t num_awaited_ = 0;

  // The current loop, in one cache line. Task and context are written before `ticket_` publishes
  // them, and are stable until every claim has finished. The ticket is num_tasks (high 32 bits) and
  // the next task to claim (low 32 bits). They are one word, so a late worker cannot combine a
  // claim with another loop's count.
  alignas(64) std::atomic<uint64_t> ticket_{0};
  std::atomic<Task> task_{nullptr};
  std::atomic<void*> context_{nullptr};

  // Total number of tasks that workers have finished.
  alignas(64) std::atomic<uint64_t> num_finished_{0};
  alignas(64) std::atomic<int> num_parked_{0};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace shortlist

#endif  // SHORTLIST_BASE_THREAD_POOL_H_
