#include "base/thread_pool.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace shortlist {
namespace {

void RunTasks(ThreadPool& pool, std::vector<int>& calls) {
  pool.Run(
      static_cast<int64_t>(calls.size()),
      [](void* context, int64_t task) { ++static_cast<int*>(context)[task]; }, calls.data());
}

TEST(ThreadPoolTest, EveryTaskRunsOnce) {
  for (const int num_threads : {1, 2, 3, 8}) {
    ThreadPool pool(num_threads);
    EXPECT_EQ(pool.num_threads(), num_threads);
    for (const int num_tasks : {0, 1, 2, 7, 1000}) {
      std::vector<int> calls(num_tasks, 0);
      RunTasks(pool, calls);
      EXPECT_EQ(calls, std::vector<int>(num_tasks, 1)) << num_threads << " threads";
    }
  }
}

// A late worker must never pair a claim with another loop's tasks.
TEST(ThreadPoolTest, ManyLoopsInARow) {
  for (const int num_threads : {2, 4}) {
    ThreadPool pool(num_threads);
    for (int loop = 0; loop < 5000; ++loop) {
      std::vector<int> calls(loop % 9, 0);
      RunTasks(pool, calls);
      ASSERT_EQ(calls, std::vector<int>(loop % 9, 1)) << "loop " << loop;
    }
  }
}

TEST(ThreadPoolTest, ParkedWorkersWakeAgain) {
  ThreadPool pool(3);
  for (int loop = 0; loop < 20; ++loop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // far beyond the spinning
    std::atomic<int> started{0};
    // Two tasks that wait for each other need two threads.
    pool.Run(
        2,
        [](void* context, int64_t) {
          auto& count = *static_cast<std::atomic<int>*>(context);
          ++count;
          while (count.load() < 2) std::this_thread::yield();
        },
        &started);
    EXPECT_EQ(started.load(), 2);
  }
}

TEST(ThreadPoolTest, TaskWritesAreVisibleAfterLoop) {
  ThreadPool pool(4);
  int64_t expected = 0;
  std::vector<int64_t> parts(64, 0);
  for (int64_t loop = 1; loop <= 500; ++loop) {
    pool.ParallelFor(64, /*grain=*/1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) parts[i] += loop * i;
    });
    expected += loop;
    for (int64_t i = 0; i < 64; ++i) ASSERT_EQ(parts[i], expected * i);
  }
}

TEST(ThreadPoolTest, ParallelForSplitsIntoGrains) {
  for (const int num_threads : {1, 2, 3, 5}) {
    ThreadPool pool(num_threads);
    for (const int64_t count : {0, 1, 5, 16, 17, 100}) {
      for (const int64_t grain : {1, 4, 1000}) {
        std::vector<std::pair<int64_t, int64_t>> ranges(num_threads);
        std::atomic<int> num_ranges{0};
        std::vector<std::atomic<int>> covered(count);
        pool.ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
          ranges[num_ranges++] = {begin, end};
          for (int64_t i = begin; i < end; ++i) ++covered[i];
        });
        EXPECT_LE(num_ranges.load(), num_threads);
        for (int64_t i = 0; i < count; ++i) EXPECT_EQ(covered[i].load(), 1);
        for (int r = 0; r < num_ranges.load(); ++r) {
          EXPECT_LT(ranges[r].first, ranges[r].second);
          EXPECT_EQ(ranges[r].first % grain, 0);
          EXPECT_TRUE(ranges[r].second % grain == 0 || ranges[r].second == count);
        }
      }
    }
  }
}

TEST(ThreadPoolTest, NegativeCountsDoNothing) {
  ThreadPool pool(2);
  pool.ParallelFor(-3, /*grain=*/1, [](int64_t, int64_t) { FAIL(); });
}

TEST(ThreadPoolTest, PoolMayMoveBetweenThreads) {
  ThreadPool pool(3);
  for (int i = 0; i < 10; ++i) {
    std::vector<int> calls(50, 0);
    std::thread([&] { RunTasks(pool, calls); }).join();
    EXPECT_EQ(calls, std::vector<int>(50, 1));
  }
}

/// Ends the process with 0 if a pool that finds no memory for its threads' stacks throws.
[[noreturn]] void MakeTooManyThreads() {
  const rlimit few = {256 << 20, 256 << 20};
  if (setrlimit(RLIMIT_AS, &few) != 0) _exit(2);
  try {
    ThreadPool pool(1024);
  } catch (const std::system_error&) {
    _exit(0);
  }
  _exit(1);
}

TEST(ThreadPoolDeathTest, TooFewThreadsThrow) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's shadow memory does not fit the bound";
#endif
  EXPECT_EXIT(MakeTooManyThreads(), testing::ExitedWithCode(0), "");
}

TEST(ThreadPoolTest, IdlePoolsStopAtOnce) {
  for (int i = 0; i < 50; ++i) {
    ThreadPool pool(4);
    if (i % 2 == 0) {
      std::vector<int> calls(3, 0);
      RunTasks(pool, calls);
    }
  }
}

}  // namespace
}  // namespace shortlist
