#include "kernels/cpu/kth_largest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace shortlist {
namespace {

TEST(KthLargestTest, MatchesSort) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<float> values(1 + random() % (round % 3 == 0 ? 20'000 : 600));
    std::normal_distribution<float> normal(0.0f, std::pow(10.0f, random() % 8 - 4.0f));
    for (float& value : values) value = normal(random);
    if (round % 4 == 0) {  // equal ones
      for (float& value : values) value = std::round(value);
    }
    if (round % 5 == 0) values[random() % values.size()] = std::numeric_limits<float>::max();
    if (round % 6 == 0) values[random() % values.size()] = std::numeric_limits<float>::lowest();
    if (round % 7 == 0) values[random() % values.size()] = -std::numeric_limits<float>::infinity();
    std::vector<float> sorted = values;
    std::ranges::sort(sorted, std::greater<>());
    for (int i = 0; i < 20; ++i) {
      const size_t k = 1 + random() % values.size();
      ASSERT_EQ(KthLargest(values, static_cast<int64_t>(k)), sorted[k - 1]) << k;
    }
    ASSERT_EQ(KthLargest(values, 1), sorted.front());
    ASSERT_EQ(KthLargest(values, std::ssize(values)), sorted.back());
  }
}

TEST(KthLargestTest, EqualValuesReturnThatValue) {
  const std::vector<float> values(5000, -2.5f);
  EXPECT_EQ(KthLargest(values, 1), -2.5f);
  EXPECT_EQ(KthLargest(values, 5000), -2.5f);
}

}  // namespace
}  // namespace shortlist
