#include "cli/generated_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace shortlist {
namespace {

TEST(ParseTraceShapeTest, EveryPartIsOptional) {
  const auto shape = ParseTraceShape("requests=12,rate=0.5,groups=3,shared=100,own=7");
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->num_requests, 12);
  EXPECT_EQ(shape->rate, 0.5);
  EXPECT_EQ(shape->num_groups, 3);
  EXPECT_EQ(shape->shared_len, 100);
  EXPECT_EQ(shape->own_len, 7);
  const auto most_by_default = ParseTraceShape("rate=2");
  ASSERT_TRUE(most_by_default.ok()) << most_by_default.status();
  EXPECT_EQ(most_by_default->num_requests, TraceShape().num_requests);
}

TEST(ParseTraceShapeTest, RejectsByPartAndBound) {
  for (const auto& [text, message] : {
           std::pair("requests=0", "requests 0 not in [1, 1048576]"),
           std::pair("requests=-3", "requests -3 not in"),
           std::pair("requests=99999999999999999999", "requests 9999"),
           std::pair("requests=2.5", "requests 2.5 not in"),
           std::pair("requests", "requests  not in"),
           std::pair("rate=-1", "rate -1 not in [0, 1e+09]"),
           std::pair("rate=nan", "rate nan not in"),
           std::pair("rate=1e300", "rate 1e300 not in"),
           std::pair("rate=inf", "rate inf not in"),
           std::pair("shared=-1", "shared -1 not in [0, 1048576]"),
           std::pair("own=0", "own 0 not in [1, 1048576]"),
           std::pair("own=1=2", "own 1=2 not in"),
           std::pair("groups=65", "groups 65 not in [1, 64], the requests"),
           std::pair("requests=1048576,own=1048576", "exceed 134217728 in all"),
           std::pair("poisson=3", "\"poisson\" is none of requests"),
           std::pair("", "\"\" is none of"),
           std::pair("rate=1,", "\"\" is none of"),
       }) {
    const absl::Status status = ParseTraceShape(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(message));
  }
}

TEST(GenerateTraceTest, ArrivalsArePoisson) {
  const auto requests =
      GenerateTrace({.num_requests = 20'000, .rate = 50.0, .own_len = 1}, /*vocab_size=*/9, 1);
  double gap_sum = 0.0, square_sum = 0.0, last_s = 0.0;
  for (const GeneratedRequest& request : requests) {
    const double gap = request.arrival_s - last_s;
    EXPECT_GE(gap, 0.0);
    gap_sum += gap;
    square_sum += gap * gap;
    last_s = request.arrival_s;
  }
  const double mean = gap_sum / 20'000;
  EXPECT_NEAR(mean, 0.02, 0.001);
  EXPECT_NEAR(std::sqrt(square_sum / 20'000 - mean * mean), 0.02, 0.001);  // exponential gaps
}

TEST(GenerateTraceTest, GroupsShareOnlyTheirPrefix) {
  const TraceShape shape{.num_requests = 12, .num_groups = 3, .shared_len = 20, .own_len = 10};
  const auto requests = GenerateTrace(shape, /*vocab_size=*/1000, /*seed=*/2);
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(requests[i].arrival_s, 0.0);
    ASSERT_EQ(requests[i].prompt.size(), 30u);
    for (const TokenId token : requests[i].prompt) {
      EXPECT_GE(Raw(token), 0);
      EXPECT_LT(Raw(token), 1000);
    }
    for (size_t j = 0; j < i; ++j) {
      const auto begin = requests[i].prompt.begin(), other = requests[j].prompt.begin();
      const auto differ = std::mismatch(begin, requests[i].prompt.end(), other).first - begin;
      EXPECT_EQ(differ >= 20, i % 3 == j % 3);
      EXPECT_LT(differ, 30);
    }
  }
  EXPECT_EQ(GenerateTrace(shape, 1000, 2)[5].prompt, requests[5].prompt);
  EXPECT_NE(GenerateTrace(shape, 1000, 3)[5].prompt, requests[5].prompt);
}

}  // namespace
}  // namespace shortlist
