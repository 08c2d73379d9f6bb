#include "base/running_clock.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace shortlist {
namespace {

class RunningClockTest : public testing::Test {
 protected:
  /// The process runs for `wall_s`, and its threads use `cpu_s` of processor time.
  double After(double wall_s, double cpu_s) {
    wall_s_ += wall_s;
    cpu_s_ += cpu_s;
    return clock_.Now();
  }

  double wall_s_ = 1000.0, cpu_s_ = 50.0;
  RunningClock clock_{[this] { return wall_s_; }, [this] { return cpu_s_; }};
};

TEST_F(RunningClockTest, ShortGapsCountAsWallTime) {
  EXPECT_NEAR(After(0.0, 0.0), 0.0, 1e-9);
  EXPECT_NEAR(After(0.01, 0.0), 0.01, 1e-9);  // waits for a device
  EXPECT_NEAR(After(0.02, 0.16), 0.03, 1e-9);
}

TEST_F(RunningClockTest, PauseCountsAsOneGap) {
  EXPECT_NEAR(After(30.0, 0.004), RunningClock::kLongestGap, 1e-9);
  EXPECT_NEAR(After(0.008, 0.008), RunningClock::kLongestGap + 0.008, 1e-9);
}

TEST_F(RunningClockTest, LongPassCountsButItsPauseDoesNot) {
  EXPECT_NEAR(After(10.0, 10.0), 10.0, 1e-9);   // one thread
  EXPECT_NEAR(After(10.0, 75.0), 20.0, 1e-9);   // eight
  EXPECT_NEAR(After(600.0, 10.0), 30.0, 1e-9);  // one, and ten minutes of a pause
}

TEST_F(RunningClockTest, NeverGoesBack) {
  double last = After(0.0, 0.0);
  for (const double wall_s : {0.0, 1e-9, 5.0, 0.05, 3600.0, 0.0}) {
    for (const double cpu_s : {0.0, 1e-9, 0.2, 100.0}) {
      const double now = After(wall_s, cpu_s);
      EXPECT_GE(now, last);
      EXPECT_LE(now - last, wall_s + 1e-9);
      last = now;
    }
  }
}

TEST_F(RunningClockTest, StarvedProcessContinues) {
  // It wanted to run for all five seconds, and did for a tenth of one.
  EXPECT_NEAR(After(5.0, 0.1 + 4.9), 5.0, 1e-9);
}

TEST_F(RunningClockTest, StarvedProcessReachesDeadlineWithoutSystemCounters) {
  double now = 0.0;
  int num_gaps = 0;
  for (; now < 60.0 && num_gaps < 10'000; ++num_gaps) now = After(5.0, 0.001);
  EXPECT_EQ(num_gaps, 600);
}

/// Runs for `seconds` of wall time.
void Spin(double seconds) {
  const double begin = SteadySeconds();
  while (SteadySeconds() - begin < seconds) {
  }
}

TEST(OwnClocksTest, LongGapCountsWhenBusyAndNotWhenAsleep) {
  RunningClock clock;
  Spin(3 * RunningClock::kLongestGap);
  const double busy = clock.Now();
  EXPECT_GT(busy, 2.5 * RunningClock::kLongestGap);

  std::this_thread::sleep_for(std::chrono::duration<double>(10 * RunningClock::kLongestGap));
  const double asleep = clock.Now() - busy;
  EXPECT_GE(asleep, RunningClock::kLongestGap - 1e-9);
  EXPECT_LT(asleep, 5 * RunningClock::kLongestGap);
}

TEST(OwnClocksTest, ThreadSharingProcessorCountsAsReady) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const int cpu = sched_getcpu();
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  std::atomic<bool> ended = false;
  std::thread other([&ended] {  // on the same processor: it inherits the set
    while (!ended) {
    }
  });
  const double begin = SteadySeconds(), ready = ThreadReadySeconds(), cpu_s = ProcessCpuSeconds();
  Spin(0.5);
  const double ready_s = ThreadReadySeconds() - ready, wall_s = SteadySeconds() - begin;
  ended = true;
  other.join();
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_GT(ProcessCpuSeconds() - cpu_s, 0.05);
  if (ThreadReadySeconds() == 0.0) GTEST_SKIP() << "the system does not count it";
  EXPECT_GT(ready_s, 0.1);
  EXPECT_LT(ready_s, wall_s);
}

}  // namespace
}  // namespace shortlist
