#include "draft/token_logprobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace shortlist {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(TokenLogprobsTest, ReturnsLogSoftmaxAndLargest) {
  constexpr uint64_t kSeed = 20261121;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  for (int64_t size : {1, 2, 21, 1000}) {
    for (int64_t num_top : {0, 1, 5, 20}) {
      std::vector<float> logits(size);
      // Few values, so that ties are frequent.
      for (float& logit : logits) logit = static_cast<float>(random() % 16) - 8.0f;
      const TokenId token{static_cast<int32_t>(random() % size)};
      TokenInfo info;
      AddLogprobs(logits, RowIds(size), token, num_top, info);

      double sum = 0.0;
      for (float logit : logits) sum += std::exp(static_cast<double>(logit));
      EXPECT_NEAR(info.logprob, logits[Raw(token)] - std::log(sum), 1e-5);
      std::vector<int32_t> order(size);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
      ASSERT_EQ(static_cast<int64_t>(info.top.size()), std::min(num_top, size));
      for (size_t i = 0; i < info.top.size(); ++i) {
        EXPECT_EQ(Raw(info.top[i].first), order[i]);
        EXPECT_NEAR(info.top[i].second, logits[order[i]] - std::log(sum), 1e-5);
      }
    }
  }
}

TEST(TokenLogprobsTest, PaddingTakesItsShareButIsNotReported) {
  const std::vector<float> logits = {1.0f, 2.0f};
  TokenInfo info;
  AddLogprobs(logits, RowIds(2), TokenId{0}, /*num_top=*/3, info, std::vector<float>{5.0f, kNaN});
  const double sum = std::exp(1.0) + std::exp(2.0) + std::exp(5.0);
  EXPECT_NEAR(info.logprob, 1.0 - std::log(sum), 1e-6);
  ASSERT_EQ(info.top.size(), 2u);
  EXPECT_NEAR(info.top[0].second, 2.0 - std::log(sum), 1e-6);
  for (const float nothing : {kNaN, -kInfinity}) {
    AddLogprobs(logits, RowIds(2), TokenId{0}, /*num_top=*/1, info, std::vector<float>{nothing});
    EXPECT_NEAR(info.logprob, 1.0 - std::log(std::exp(1.0) + std::exp(2.0)), 1e-6);
  }
  AddLogprobs(logits, RowIds(2), TokenId{0}, /*num_top=*/1, info, std::vector<float>{kInfinity});
  EXPECT_EQ(info.logprob, -kInfinity);
  AddLogprobs(std::vector<float>{kNaN}, RowIds(1), TokenId{0}, /*num_top=*/1, info,
              std::vector<float>{0.0f});
  EXPECT_EQ(info.logprob, -kInfinity);
}

TEST(TokenLogprobsTest, TokenWithoutRowHasNoProbability) {
  TokenInfo info;
  AddLogprobs(std::vector<float>{1.0f, 2.0f}, RowIds(2), TokenId{2}, /*num_top=*/1, info);
  EXPECT_EQ(info.logprob, -kInfinity);
  EXPECT_EQ(info.top[0].first, TokenId{1});
}

TEST(TokenLogprobsTest, NanHasNoProbability) {
  TokenInfo info;
  AddLogprobs(std::vector<float>{kNaN, 1.0f, -kInfinity, 1.0f}, RowIds(4), TokenId{3},
              /*num_top=*/4, info);
  EXPECT_NEAR(info.logprob, std::log(0.5), 1e-6);
  ASSERT_EQ(info.top.size(), 2u);
  EXPECT_EQ(info.top[0].first, TokenId{1});
  EXPECT_EQ(info.top[1].first, TokenId{3});

  AddLogprobs(std::vector<float>{0.0f, kInfinity}, RowIds(2), TokenId{1}, /*num_top=*/2, info);
  EXPECT_EQ(info.logprob, 0.0f);
  ASSERT_EQ(info.top.size(), 2u);
  EXPECT_EQ(info.top[1].second, -kInfinity);
}

}  // namespace
}  // namespace shortlist
