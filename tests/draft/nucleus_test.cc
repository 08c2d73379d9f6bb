#include "draft/nucleus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace shortlist {
namespace {

class NucleusTest : public testing::Test {
 protected:
  bool IsBetter(int32_t a, int32_t b) const {
    if (scores_[a] != scores_[b]) return scores_[a] > scores_[b];
    return token_ids_.empty() ? a < b : token_ids_[a] < token_ids_[b];
  }

  /// Keeps the nucleus of all rows, and checks it against their sorted order: as many best rows as
  /// `top_p` needs, give or take what rounding decides. Returns how many.
  int64_t Check(double top_p) {
    std::vector<int32_t> all(scores_.size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<int32_t> kept = all;
    KeepNucleus(scores_, token_ids_, top_p, kept);
    const auto better = [this](int32_t a, int32_t b) { return IsBetter(a, b); };
    std::ranges::sort(all, better);
    std::ranges::sort(kept, better);
    const auto num_kept = std::ssize(kept);
    EXPECT_TRUE(std::ranges::equal(kept, std::span(all).first(num_kept)));
    const auto mass_of = [&](std::span<const int32_t> rows) {
      double mass = 0.0;
      for (const int32_t row : rows) mass += std::exp(double{scores_[row]} - scores_[all[0]]);
      return mass;
    };
    constexpr double kRounding = 1e-12;
    const double total = mass_of(all);
    EXPECT_GE(num_kept, 1);
    EXPECT_GE(mass_of(kept), (top_p - kRounding) * total);
    EXPECT_LT(mass_of(std::span(kept).first(num_kept - 1)), (top_p + kRounding) * total);
    return num_kept;
  }

  std::vector<float> scores_;
  std::vector<int32_t> token_ids_;
};

TEST_F(NucleusTest, HoldsFewestBestRows) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 400; ++round) {
    const int64_t size = 1 + random() % (round % 10 == 0 ? 20'000 : 300);
    const float spread = std::pow(10.0f, static_cast<float>(random() % 6) - 3.0f);
    std::normal_distribution<float> normal(0.0f, spread);
    scores_.resize(size);
    for (float& score : scores_) score = normal(random);
    if (round % 3 == 0) {  // equal scores
      for (float& score : scores_) score = std::round(score * 4.0f) / 4.0f;
    }
    if (round % 7 == 0) scores_[random() % size] = -1e30f;
    if (round % 11 == 0) scores_[random() % size] = 90.0f;
    token_ids_.clear();
    if (round % 2 == 0) {
      token_ids_.resize(size);
      std::iota(token_ids_.begin(), token_ids_.end(), 0);
      std::ranges::shuffle(token_ids_, random);
    }
    for (const double top_p : {1e-300, 0.05, 0.5, 0.9, 0.99, 0.999999, 1.0}) Check(top_p);
  }
}

TEST_F(NucleusTest, TiesOrderByTokenId) {
  scores_.assign(1000, 2.5f);
  token_ids_.resize(1000);
  std::iota(token_ids_.rbegin(), token_ids_.rend(), 0);
  EXPECT_EQ(Check(0.25), 250);
  EXPECT_EQ(Check(1.0), 1000);
}

TEST_F(NucleusTest, OnlyGivenRowsCount) {
  scores_ = {9.0f, 0.0f, 1.0f, 0.0f};
  std::vector<int32_t> rows = {3, 2, 1};
  KeepNucleus(scores_, {}, /*top_p=*/0.7, rows);
  std::ranges::sort(rows);
  EXPECT_EQ(rows, (std::vector<int32_t>{1, 2}));
  rows.clear();
  KeepNucleus(scores_, {}, /*top_p=*/0.7, rows);
  EXPECT_TRUE(rows.empty());
}

}  // namespace
}  // namespace shortlist
