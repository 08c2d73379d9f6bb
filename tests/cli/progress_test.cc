#include "cli/progress.h"

#include <gtest/gtest.h>

namespace shortlist {
namespace {

TEST(ProgressTest, ReportsRateAndTimeLeft) {
  EXPECT_EQ(FormatProgress(12, 96, "prompt", 4), "12 of 96 prompts, 3.0 a second, 28 s left");
  EXPECT_EQ(FormatProgress(1, 1, "text", 0.5), "1 of 1 text, 2.0 a second, 0 s left");
  EXPECT_EQ(FormatProgress(2, 202, "run", 60), "2 of 202 runs, 30.0 s each, 1.7 h left");
  EXPECT_EQ(FormatProgress(0, 9, "run", 60), "0 of 9 runs");
}

TEST(ProgressTest, TimesAreRounded) {
  EXPECT_EQ(FormatSeconds(8.4), "8 s");
  EXPECT_EQ(FormatSeconds(95), "95 s");
  EXPECT_EQ(FormatSeconds(720), "12 min");
  EXPECT_EQ(FormatSeconds(12'600), "3.5 h");
}

}  // namespace
}  // namespace shortlist
