#include "draft/chain_policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "draft/chain_memory.h"
#include "draft/past_outputs.h"

namespace shortlist {
namespace {

class ChainPolicyTest : public testing::Test {
 protected:
  ChainPolicy Policy() { return {memory_, text_, limits_}; }
  void Append(double probability) {
    ASSERT_TRUE(Policy().Weigh(TokenId{1}, probability, chain_));
    chain_.tokens.push_back(TokenId{1});
  }
  void Copy(bool wants_distributions = false) { Policy().Copy(wants_distributions, chain_); }
  bool WantsMore() { return Policy().WantsMore(chain_); }
  /// A request whose text is `ids`, and which may copy.
  void SetText(const std::vector<int32_t>& ids) {
    text_.clear();
    for (int32_t id : ids) text_.push_back(TokenId{id});
    memory_ = {};
    limits_.p_min = 0.35;
    limits_.copies = true;
  }
  const AcceptanceForecast& Forecast(DraftSource source) const {
    return memory_.forecasts[static_cast<size_t>(source)];
  }
  std::vector<int32_t> Chain() const {
    std::vector<int32_t> ids;
    for (TokenId id : chain_.tokens) ids.push_back(Raw(id));
    return ids;
  }

  std::vector<TokenId> text_ = {TokenId{0}};
  ChainMemory memory_;
  ChainPolicy::Limits limits_ = {.max_tokens = 4};
  DraftedChain chain_;
};

TEST_F(ChainPolicyTest, ChainContinuesWhileProbabilityReachesMinimum) {
  limits_.p_min = 0.25;
  Append(0.25);  // a forecast that has learned nothing yet takes square roots
  EXPECT_TRUE(WantsMore());
  Append(0.25);
  EXPECT_TRUE(WantsMore());
  Append(0.99);
  EXPECT_FALSE(WantsMore());
}

TEST_F(ChainPolicyTest, MaxTokensBoundsChain) {
  limits_.p_min = 0.25;
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(WantsMore());
    Append(1.0);
  }
  EXPECT_FALSE(WantsMore());
}

TEST_F(ChainPolicyTest, CoverageLowersEveryTokensForecast) {
  limits_.p_min = 0.8;
  limits_.coverage = 0.8;
  Append(0.9);
  EXPECT_DOUBLE_EQ(chain_.probability, std::sqrt(0.72));
  EXPECT_TRUE(WantsMore());
  Append(0.9);
  EXPECT_DOUBLE_EQ(chain_.probability, 0.72);
  EXPECT_FALSE(WantsMore());
}

TEST_F(ChainPolicyTest, LearnsFromEveryVerifiedToken) {
  limits_.p_min = 0.1;
  for (int i = 0; i < 3; ++i) Append(0.5);
  AcceptanceForecast expected;
  expected.Learn(0.5, true);
  expected.Learn(0.5, false);  // the third was not judged
  memory_.Learn(chain_, /*num_accepted=*/1);
  EXPECT_EQ(Forecast(DraftSource::kDraft).Of(0.3), expected.Of(0.3));
  for (int i = 0; i < 3; ++i) expected.Learn(0.5, true);
  memory_.Learn(chain_, /*num_accepted=*/3);
  EXPECT_EQ(Forecast(DraftSource::kDraft).Of(0.3), expected.Of(0.3));
}

TEST_F(ChainPolicyTest, NanProbabilityEndsChain) {
  limits_.p_min = 0.1;
  Append(std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(WantsMore());
}

TEST_F(ChainPolicyTest, CopiesRepeatedText) {
  SetText({5, 6, 7, 8, 9, 4, 3, 5, 6});
  Append(0.9);  // 5 6 1: nothing to copy
  Copy();
  EXPECT_EQ(Chain(), std::vector<int32_t>({1}));

  SetText({5, 6, 7, 8, 9, 4, 3, 5, 6});
  chain_ = {};
  EXPECT_TRUE(Policy().Weigh(TokenId{7}, 0.5, chain_));
  chain_.tokens.push_back(TokenId{7});
  chain_.distributions.push_back({{7}, {1.0f}});
  Copy(/*wants_distributions=*/true);
  EXPECT_EQ(Chain(), std::vector<int32_t>({7, 8, 9, 4}));  // max_tokens of them
  EXPECT_EQ(chain_.num_copied, 3);
  ASSERT_EQ(chain_.distributions.size(), 4u);
  EXPECT_EQ(chain_.distributions[3].Probability(TokenId{4}), 1.0f);
  ASSERT_EQ(chain_.evidence.size(), 4u);
  EXPECT_EQ(chain_.evidence[0].source, DraftSource::kDraftAndText);
  EXPECT_EQ(chain_.evidence[1].source, DraftSource::kText);
  EXPECT_LT(chain_.evidence[1].probability, chain_.evidence[3].probability);  // a longer match
}

TEST_F(ChainPolicyTest, CopiesNothingUnlessAskedTo) {
  SetText({5, 6, 7, 8, 5, 6});
  limits_.copies = false;
  Copy();
  EXPECT_EQ(Chain(), std::vector<int32_t>());
}

TEST_F(ChainPolicyTest, ZeroMinimumCopiesAllItCan) {
  SetText({5, 6, 7, 8, 5, 6});
  limits_.p_min = 0.0;
  Copy();
  EXPECT_EQ(Chain(), std::vector<int32_t>({7, 8, 5, 6}));  // max_tokens of them
}

TEST_F(ChainPolicyTest, CopiesFromPastOutputsOfTheClient) {
  PastOutputs outputs(PastOutputs::kMinBytes);
  outputs.Add("a", std::vector<TokenId>({TokenId{5}, TokenId{6}, TokenId{7}, TokenId{8}}));
  const std::string salts[] = {"a", "b"};
  for (const std::string& salt : salts) {
    SetText({1, 5, 6});
    limits_.past_outputs = &outputs;
    limits_.cache_salt = &salt;
    Copy();
    EXPECT_EQ(Chain(), salt == "a" ? std::vector<int32_t>({7, 8}) : std::vector<int32_t>());
    chain_ = {};
  }
}

TEST_F(ChainPolicyTest, LikelierMatchIsCopied) {
  PastOutputs outputs(PastOutputs::kMinBytes);
  outputs.Add("a", std::vector<TokenId>({TokenId{5}, TokenId{6}, TokenId{8}}));
  const std::string salt = "a";
  SetText({5, 6, 7, 5, 6});  // an equally long match: the request's own text wins
  limits_.past_outputs = &outputs;
  limits_.cache_salt = &salt;
  limits_.max_tokens = 1;
  Copy();
  EXPECT_EQ(Chain(), std::vector<int32_t>({7}));
  chain_ = {};
  outputs.Add("a", std::vector<TokenId>({TokenId{5}, TokenId{6}, TokenId{8}}));
  Copy();
  EXPECT_EQ(Chain(), std::vector<int32_t>({8}));
}

TEST_F(ChainPolicyTest, CopiesLessAfterRejections) {
  SetText({1, 2, 5, 6, 7, 8, 9, 4, 3, 1, 2, 5, 6});
  Copy();
  EXPECT_EQ(Chain(), std::vector<int32_t>({7, 8, 9, 4}));
  for (int i = 0; i < 12; ++i) memory_.Learn(chain_, /*num_accepted=*/0);
  chain_ = {};
  Copy();
  EXPECT_GT(chain_.tokens.size(), 0u);
  EXPECT_LT(chain_.tokens.size(), 4u);
}

TEST_F(ChainPolicyTest, UnsureDraftYieldsToLongMatch) {
  SetText({4, 5, 6, 7, 8, 4, 5, 6});
  EXPECT_FALSE(Policy().Weigh(TokenId{1}, 0.1, chain_));
  EXPECT_TRUE(chain_.evidence.empty());
  EXPECT_EQ(chain_.probability, 1.0);
  EXPECT_TRUE(Policy().Weigh(TokenId{7}, 0.1, chain_));  // the text agrees
  SetText({4, 5, 6, 7, 8, 4, 5, 6});
  chain_.evidence.clear();
  EXPECT_TRUE(Policy().Weigh(TokenId{1}, 0.3, chain_));  // the draft is sure
  SetText({5, 6, 7, 8, 5, 6});
  chain_.evidence.clear();
  EXPECT_TRUE(Policy().Weigh(TokenId{1}, 0.1, chain_));  // the match is short
}

TEST_F(ChainPolicyTest, UnweighedTokensAreNotLearned) {
  SetText({5, 6, 7, 8, 9, 4, 3, 5, 6});
  limits_.max_tokens = 3;
  chain_.tokens.push_back(TokenId{7});  // by a drafter that weighs none
  Copy();
  ASSERT_EQ(Chain(), std::vector<int32_t>({7, 8, 9}));
  const double untaught = Forecast(DraftSource::kText).Of(0.5);
  memory_.Learn(chain_, /*num_accepted=*/0);  // the copied tokens were not judged
  EXPECT_EQ(Forecast(DraftSource::kText).Of(0.5), untaught);
  memory_.Learn(chain_, /*num_accepted=*/3);
  EXPECT_GT(Forecast(DraftSource::kText).Of(0.5), untaught);
  EXPECT_EQ(Forecast(DraftSource::kDraft).Of(0.5), AcceptanceForecast().Of(0.5));
}

TEST_F(ChainPolicyTest, EverySourceHasItsOwnForecast) {
  SetText({5, 6, 7, 8, 9, 4, 3, 5, 6});
  limits_.max_tokens = 3;
  EXPECT_TRUE(Policy().Weigh(TokenId{7}, 0.5, chain_));
  chain_.tokens.push_back(TokenId{7});
  Copy();
  const double untaught = AcceptanceForecast().Of(0.5);
  const double untaught_copy = Forecast(DraftSource::kText).Of(0.5);
  memory_.Learn(chain_, /*num_accepted=*/1);
  EXPECT_EQ(Forecast(DraftSource::kDraft).Of(0.5), untaught);
  EXPECT_GT(Forecast(DraftSource::kDraftAndText).Of(0.5), untaught);
  EXPECT_LT(Forecast(DraftSource::kText).Of(0.5), untaught_copy);
}

TEST_F(ChainPolicyTest, ZeroMinimumNeverEndsChain) {
  Append(0.0);
  EXPECT_TRUE(WantsMore());
  Append(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(WantsMore());
}

}  // namespace
}  // namespace shortlist
