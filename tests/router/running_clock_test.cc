#include "router/running_clock.h"

#include <gtest/gtest.h>

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

TEST_F(RunningClockTest, LongPassCountsWhollyAndItsPauseDoesNot) {
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

TEST_F(RunningClockTest, OwnClocksAdvance) {
  RunningClock clock;
  const double begin = clock.Now();
  double sum = 0.0;
  while (clock.Now() - begin < 0.02) sum += 1.0;
  EXPECT_GT(sum, 0.0);
  EXPECT_GT(ProcessCpuSeconds(), 0.0);
}

}  // namespace
}  // namespace shortlist
