#include "draft/drafter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

namespace shortlist {
namespace {

class DraftTaskTest : public testing::Test {
 protected:
  void SetUp() override {
    sequence_ = *Sequence::Create({TokenId{0}}, {}, /*vocab_size=*/10);
    task_.sequence = sequence_.get();
    task_.num_draft_tokens = 4;
  }
  void Append(double largest_probability) {
    task_.Weigh(largest_probability);
    task_.tokens.push_back(TokenId{1});
  }

  std::unique_ptr<Sequence> sequence_;
  DraftTask task_;
};

TEST_F(DraftTaskTest, ChainGoesOnWhileItsProbabilityReachesTheMinimum) {
  task_.p_min = 0.25;
  Append(0.25);  // a forecast that has learned nothing yet takes square roots
  EXPECT_TRUE(task_.WantsMore());
  Append(0.25);
  EXPECT_TRUE(task_.WantsMore());
  Append(0.99);
  EXPECT_FALSE(task_.WantsMore());
}

TEST_F(DraftTaskTest, ChainIsAtMostNumDraftTokensLong) {
  task_.p_min = 0.25;
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(task_.WantsMore());
    Append(1.0);
  }
  EXPECT_FALSE(task_.WantsMore());
}

TEST_F(DraftTaskTest, CoverageSoFarCountsAgainstEveryToken) {
  task_.p_min = 0.8;
  sequence_->stats.num_step_tokens = 10;
  sequence_->stats.num_covered = 8;
  Append(0.9);
  EXPECT_DOUBLE_EQ(task_.probability, std::sqrt(0.72));
  EXPECT_TRUE(task_.WantsMore());
  Append(0.9);
  EXPECT_DOUBLE_EQ(task_.probability, 0.72);
  EXPECT_FALSE(task_.WantsMore());
}

TEST_F(DraftTaskTest, LearnsFromEveryTokenThatWasJudged) {
  task_.p_min = 0.1;
  for (int i = 0; i < 3; ++i) Append(0.5);
  AcceptanceForecast expected;
  expected.Learn(0.5, true);
  expected.Learn(0.5, false);  // the third was not judged
  task_.Learn(/*num_accepted=*/1);
  EXPECT_EQ(sequence_->forecast.Of(0.3), expected.Of(0.3));
  for (int i = 0; i < 3; ++i) expected.Learn(0.5, true);
  task_.Learn(/*num_accepted=*/3);
  EXPECT_EQ(sequence_->forecast.Of(0.3), expected.Of(0.3));
}

TEST_F(DraftTaskTest, AProbabilityThatIsNoNumberEndsTheChain) {
  task_.p_min = 0.1;
  Append(std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(task_.WantsMore());
}

TEST_F(DraftTaskTest, MinimumZeroNeverEndsTheChain) {
  Append(0.0);
  EXPECT_TRUE(task_.WantsMore());
  Append(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(task_.WantsMore());
}

}  // namespace
}  // namespace shortlist
