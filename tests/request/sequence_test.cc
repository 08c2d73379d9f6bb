#include "request/sequence.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace shortlist {
namespace {

constexpr int64_t kVocabSize = 10;

absl::Status Refusal(std::vector<TokenId> prompt, Sequence::Options options = {}) {
  return Sequence::Create(std::move(prompt), std::move(options), kVocabSize).status();
}

TEST(SequenceTest, PromptIsNonEmptyAndWithinVocabulary) {
  EXPECT_TRUE(Refusal({TokenId{0}, TokenId{9}}).ok());
  EXPECT_FALSE(Refusal({}).ok());
  for (const int32_t id : {-1, 10}) {
    const absl::Status refusal = Refusal({TokenId{1}, TokenId{id}});
    EXPECT_EQ(refusal.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(refusal.message()).find(std::to_string(id)), std::string::npos);
  }
}

TEST(SequenceTest, TailRowsAreBoundedByVocabulary) {
  EXPECT_TRUE(Refusal({TokenId{1}}, {.max_tail_rows = 10}).ok());
  EXPECT_FALSE(Refusal({TokenId{1}}, {.max_tail_rows = 11}).ok());
  EXPECT_FALSE(Refusal({TokenId{1}}, {.max_tail_rows = -1}).ok());
}

TEST(SequenceTest, LogprobsStartMustLieInPrompt) {
  for (const auto& [num_logprobs, start] : {std::pair(-1, 0), {0, 1}, {0, -2}}) {
    const SamplingParams sampling{.num_logprobs = num_logprobs, .prompt_logprobs_start = start};
    EXPECT_FALSE(Refusal({TokenId{1}}, {.sampling = sampling}).ok()) << start;
  }
  const SamplingParams asked{.num_logprobs = 0, .prompt_logprobs_start = 0};
  EXPECT_TRUE(Refusal({TokenId{1}}, {.sampling = asked}).ok());
}

}  // namespace
}  // namespace shortlist
