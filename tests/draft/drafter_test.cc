#include "draft/drafter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "draft/speculation.h"

namespace shortlist {
namespace {

class DraftTaskTest : public testing::Test {
 protected:
  void SetUp() override {
    sequence_ = *Sequence::Create({TokenId{0}}, {}, /*vocab_size=*/10);
    task_.sequence = sequence_.get();
    task_.num_draft_tokens = 4;
  }
  void Append(double probability) {
    ASSERT_TRUE(task_.Weigh(TokenId{1}, probability));
    task_.tokens.push_back(TokenId{1});
  }
  /// A request whose text is `ids`, and a task for it that may copy.
  void SetText(const std::vector<int32_t>& ids) {
    std::vector<TokenId> prompt;
    for (int32_t id : ids) prompt.push_back(TokenId{id});
    sequence_ = *Sequence::Create(prompt, {}, /*vocab_size=*/10);
    task_.sequence = sequence_.get();
    task_.p_min = 0.35;
    task_.looks_up = true;
  }
  const AcceptanceForecast& Forecast(DraftSource source) const {
    return SpeculationOf(*sequence_).forecasts[static_cast<size_t>(source)];
  }
  std::vector<int32_t> Chain() const {
    std::vector<int32_t> ids;
    for (TokenId id : task_.tokens) ids.push_back(Raw(id));
    return ids;
  }

  std::unique_ptr<Sequence> sequence_;
  DraftTask task_;
};

TEST_F(DraftTaskTest, ChainContinuesWhileProbabilityReachesMinimum) {
  task_.p_min = 0.25;
  Append(0.25);  // a forecast that has learned nothing yet takes square roots
  EXPECT_TRUE(task_.WantsMore());
  Append(0.25);
  EXPECT_TRUE(task_.WantsMore());
  Append(0.99);
  EXPECT_FALSE(task_.WantsMore());
}

TEST_F(DraftTaskTest, NumDraftTokensBoundsChain) {
  task_.p_min = 0.25;
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(task_.WantsMore());
    Append(1.0);
  }
  EXPECT_FALSE(task_.WantsMore());
}

TEST_F(DraftTaskTest, CoverageLowersEveryTokensForecast) {
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

TEST_F(DraftTaskTest, LearnsFromEveryVerifiedToken) {
  task_.p_min = 0.1;
  for (int i = 0; i < 3; ++i) Append(0.5);
  AcceptanceForecast expected;
  expected.Learn(0.5, true);
  expected.Learn(0.5, false);  // the third was not judged
  task_.Learn(/*num_accepted=*/1);
  EXPECT_EQ(Forecast(DraftSource::kDraft).Of(0.3), expected.Of(0.3));
  for (int i = 0; i < 3; ++i) expected.Learn(0.5, true);
  task_.Learn(/*num_accepted=*/3);
  EXPECT_EQ(Forecast(DraftSource::kDraft).Of(0.3), expected.Of(0.3));
}

TEST_F(DraftTaskTest, NanProbabilityEndsChain) {
  task_.p_min = 0.1;
  Append(std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(task_.WantsMore());
}

TEST_F(DraftTaskTest, CopiesRepeatedText) {
  SetText({5, 6, 7, 8, 9, 4, 3, 5, 6});
  Append(0.9);  // 5 6 1: nothing to copy
  task_.Copy(/*wants_distributions=*/false);
  EXPECT_EQ(Chain(), std::vector<int32_t>({1}));

  SetText({5, 6, 7, 8, 9, 4, 3, 5, 6});
  task_ = {.sequence = sequence_.get(), .num_draft_tokens = 4, .p_min = 0.35, .looks_up = true};
  EXPECT_TRUE(task_.Weigh(TokenId{7}, 0.5));
  task_.tokens.push_back(TokenId{7});
  task_.distributions.push_back({{7}, {1.0f}});
  task_.Copy(/*wants_distributions=*/true);
  EXPECT_EQ(Chain(), std::vector<int32_t>({7, 8, 9, 4}));  // num_draft_tokens of them
  EXPECT_EQ(task_.num_copied, 3);
  ASSERT_EQ(task_.distributions.size(), 4u);
  EXPECT_EQ(task_.distributions[3].Probability(TokenId{4}), 1.0f);
  ASSERT_EQ(task_.evidence.size(), 4u);
  EXPECT_EQ(task_.evidence[0].source, DraftSource::kDraftAndText);
  EXPECT_EQ(task_.evidence[1].source, DraftSource::kText);
  EXPECT_LT(task_.evidence[1].probability, task_.evidence[3].probability);  // a longer match
}

TEST_F(DraftTaskTest, CopiesNothingUnlessAskedTo) {
  for (bool looks_up : {false, true}) {
    SetText({5, 6, 7, 8, 5, 6});
    task_.looks_up = looks_up;
    if (looks_up) task_.p_min = 0.0;
    task_.Copy(/*wants_distributions=*/false);
    EXPECT_EQ(Chain(), std::vector<int32_t>());
  }
}

TEST_F(DraftTaskTest, CopiesLessAfterRejections) {
  SetText({5, 6, 7, 8, 9, 4, 3, 5, 6});
  task_.Copy(/*wants_distributions=*/false);
  EXPECT_EQ(Chain(), std::vector<int32_t>({7, 8, 9, 4}));
  for (int i = 0; i < 12; ++i) task_.Learn(/*num_accepted=*/0);
  task_.tokens.clear();
  task_.evidence.clear();
  task_.probability = 1.0;
  task_.Copy(/*wants_distributions=*/false);
  EXPECT_GT(task_.tokens.size(), 0u);
  EXPECT_LT(task_.tokens.size(), 4u);
}

TEST_F(DraftTaskTest, UnsureDraftYieldsToLongMatch) {
  SetText({4, 5, 6, 7, 8, 4, 5, 6});
  EXPECT_FALSE(task_.Weigh(TokenId{1}, 0.1));
  EXPECT_TRUE(task_.evidence.empty());
  EXPECT_EQ(task_.probability, 1.0);
  EXPECT_TRUE(task_.Weigh(TokenId{7}, 0.1));  // the text agrees
  SetText({4, 5, 6, 7, 8, 4, 5, 6});
  task_.evidence.clear();
  EXPECT_TRUE(task_.Weigh(TokenId{1}, 0.3));  // the draft is sure
  SetText({5, 6, 7, 8, 5, 6});
  task_.evidence.clear();
  EXPECT_TRUE(task_.Weigh(TokenId{1}, 0.1));  // the match is short
}

TEST_F(DraftTaskTest, UnweighedTokensAreNotLearned) {
  SetText({5, 6, 7, 8, 9, 4, 3, 5, 6});
  task_.num_draft_tokens = 3;
  task_.tokens.push_back(TokenId{7});  // by a drafter that weighs none
  task_.Copy(/*wants_distributions=*/false);
  ASSERT_EQ(Chain(), std::vector<int32_t>({7, 8, 9}));
  const double untaught = AcceptanceForecast().Of(0.5);
  task_.Learn(/*num_accepted=*/0);  // the copied tokens were not judged
  EXPECT_EQ(Forecast(DraftSource::kText).Of(0.5), untaught);
  task_.Learn(/*num_accepted=*/3);
  EXPECT_GT(Forecast(DraftSource::kText).Of(0.5), untaught);
  EXPECT_EQ(Forecast(DraftSource::kDraft).Of(0.5), untaught);
}

TEST_F(DraftTaskTest, EverySourceHasItsOwnForecast) {
  SetText({5, 6, 7, 8, 9, 4, 3, 5, 6});
  task_.num_draft_tokens = 3;
  EXPECT_TRUE(task_.Weigh(TokenId{7}, 0.5));
  task_.tokens.push_back(TokenId{7});
  task_.Copy(/*wants_distributions=*/false);
  task_.Learn(/*num_accepted=*/1);
  const double untaught = AcceptanceForecast().Of(0.5);
  EXPECT_EQ(Forecast(DraftSource::kDraft).Of(0.5), untaught);
  EXPECT_GT(Forecast(DraftSource::kDraftAndText).Of(0.5), untaught);
  EXPECT_LT(Forecast(DraftSource::kText).Of(0.5), untaught);
}

TEST_F(DraftTaskTest, ZeroMinimumNeverEndsChain) {
  Append(0.0);
  EXPECT_TRUE(task_.WantsMore());
  Append(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(task_.WantsMore());
}

}  // namespace
}  // namespace shortlist
