#include "draft/engine_options.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace shortlist {
namespace {

TEST(EngineOptionsTest, BoundsAreInclusive) {
  EXPECT_TRUE((EngineOptions{.num_slots = 1}).Validate().ok());
  EXPECT_TRUE((EngineOptions{.num_draft_tokens = 0,
                             .draft_p_min = 0.0,
                             .coverage_floor = 1.0,
                             .continuation_rows = 0,
                             .num_slots = 1})
                  .Validate()
                  .ok());
  EXPECT_TRUE(
      (EngineOptions{.num_draft_tokens = 64, .draft_p_min = 1.0, .num_slots = 1}).Validate().ok());
}

TEST(EngineOptionsTest, RejectsOutOfRangeWithBound) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<EngineOptions, std::string>> refused = {
      {{.num_draft_tokens = -1, .num_slots = 8}, "num_draft_tokens -1 not in [0, 64]"},
      {{.num_draft_tokens = 65, .num_slots = 8}, "num_draft_tokens 65 not in [0, 64]"},
      {{.draft_p_min = -0.1, .num_slots = 8}, "draft_p_min -0.1 not in [0, 1]"},
      {{.draft_p_min = kNan, .num_slots = 8}, "draft_p_min nan not in [0, 1]"},
      {{.coverage_floor = 1.1, .num_slots = 8}, "coverage_floor 1.1 not in [0, 1]"},
      {{.coverage_floor = kNan, .num_slots = 8}, "coverage_floor nan not in [0, 1]"},
      {{.continuation_rows = -1, .num_slots = 8}, "continuation_rows -1 not in [0, 1048576]"},
      {{.continuation_rows = (1 << 20) + 1, .num_slots = 8},
       "continuation_rows 1048577 not in [0, 1048576]"},
      {{.num_slots = 0}, "num_slots 0 below 1"},
  };
  for (const auto& [options, message] : refused) {
    EXPECT_EQ(options.Validate(), absl::InvalidArgumentError(message));
  }
}

}  // namespace
}  // namespace shortlist
