#include "base/thread_pool.h"

#include <chrono>

#include "base/check.h"

namespace shortlist {
namespace {

// Long enough to bridge the host work between two loops of a decode step: a draw from 16,384 logits
// and the work after it sometimes took more than 40 us, and waking a parked worker takes at least
// as long. Short enough that an idle engine is idle.
constexpr std::chrono::microseconds kSpinTime{200};

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

/// Spins until done() holds or kSpinTime has passed; returns true if done() holds.
template <typename Done>
bool SpinUntil(Done&& done) {
  const auto spin = [&] {
    for (int i = 0; i < 64; ++i) {
      if (done()) return true;
      Pause();
    }
    return false;
  };
  if (spin()) return true;  // the common case, without reading the clock
  const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
  do {
    if (spin()) return true;
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

constexpr uint32_t NextTask(uint64_t ticket) { return static_cast<uint32_t>(ticket); }
constexpr uint32_t NumTasks(uint64_t ticket) { return static_cast<uint32_t>(ticket >> 32); }
constexpr bool HasTask(uint64_t ticket) { return NextTask(ticket) < NumTasks(ticket); }

}  // namespace

ThreadPool::ThreadPool(int num_threads) : num_threads_(num_threads) {
  SHORTLIST_CHECK(num_threads >= 1);
  workers_.reserve(num_threads - 1);
  try {
    for (int i = 1; i < num_threads; ++i) workers_.emplace_back([this] { WorkerLoop(); });
  } catch (...) {
    Stop();  // the workers already started wait for work
    throw;
  }
}

ThreadPool::~ThreadPool() { Stop(); }

void ThreadPool::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Run(int64_t num_tasks, Task task, void* context) {
  SHORTLIST_CHECK(num_tasks < (int64_t{1} << 31));
  if (num_tasks <= 1 || workers_.empty()) {
    for (int64_t i = 0; i < num_tasks; ++i) task(context, i);
    return;
  }
  task_.store(task, std::memory_order_relaxed);
  context_.store(context, std::memory_order_relaxed);
  // This thread runs the first task. The store is sequentially consistent with num_parked_: either
  // this thread sees the parked worker, or the worker sees the work.
  ticket_.store(static_cast<uint64_t>(num_tasks) << 32 | 1);
  if (num_parked_.load() > 0) {
    { std::lock_guard lock(mutex_); }
    wake_.notify_all();
  }
  task(context, 0);
  int64_t num_own = 1;
  while (RunOneTask()) ++num_own;
  num_awaited_ += static_cast<uint64_t>(num_tasks - num_own);
  const auto finished = [this] {
    return num_finished_.load(std::memory_order_acquire) == num_awaited_;
  };
  while (!SpinUntil(finished)) std::this_thread::yield();
}

bool ThreadPool::RunOneTask() {
  if (!HasTask(ticket_.load(std::memory_order_acquire))) return false;
  const uint64_t claim = ticket_.fetch_add(1, std::memory_order_acq_rel);
  if (!HasTask(claim)) return false;
  task_.load(std::memory_order_relaxed)(context_.load(std::memory_order_relaxed), NextTask(claim));
  return true;
}

void ThreadPool::WorkerLoop() {
  const auto has_work = [this] { return HasTask(ticket_.load()) || stopping_.load(); };
  while (true) {
    while (RunOneTask()) num_finished_.fetch_add(1, std::memory_order_release);
    if (stopping_.load()) return;
    if (SpinUntil(has_work)) continue;
    std::unique_lock lock(mutex_);
    ++num_parked_;
    wake_.wait(lock, has_work);
    --num_parked_;
  }
}

}  // namespace shortlist
