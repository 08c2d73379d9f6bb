#include "draft/past_outputs.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace shortlist {
namespace {

std::vector<TokenId> Output(const std::vector<int32_t>& ids) {
  std::vector<TokenId> tokens;
  for (const int32_t id : ids) tokens.push_back(TokenId{id});
  return tokens;
}

TEST(PastOutputsTest, ClientsFindTheirOwnOutputsOnly) {
  PastOutputs outputs(PastOutputs::kMinBytes);
  outputs.Add("a", Output({1, 2, 3}));
  outputs.Add("b", Output({1, 2, 4}));
  EXPECT_EQ(outputs.Find("a", Output({1, 2}), {}).next, TokenId{3});
  EXPECT_EQ(outputs.Find("b", Output({1, 2}), {}).next, TokenId{4});
  EXPECT_EQ(outputs.Find("c", Output({1, 2}), {}).length, 0);
  EXPECT_EQ(outputs.Find("", Output({1, 2}), {}).length, 0);
}

TEST(PastOutputsTest, OldestOutputsLeaveFirst) {
  PastOutputs outputs(PastOutputs::kMinBytes);
  const auto holds = [&](int32_t id) {
    return outputs.Find("a", Output({id, id + 1}), {}).length > 0;
  };
  for (int32_t id = 0; id < 1000; id += 10) {
    outputs.Add("a", Output({id, id + 1, id + 2}));
    EXPECT_TRUE(holds(id));
  }
  int32_t oldest = 0;
  while (!holds(oldest)) oldest += 10;
  EXPECT_GT(oldest, 500);
  for (int32_t id = oldest; id < 1000; id += 10) EXPECT_TRUE(holds(id));
}

TEST(PastOutputsTest, KeepsTheEndOfAnOutputThatIsTooLong) {
  PastOutputs outputs(PastOutputs::kMinBytes);
  std::vector<TokenId> output;
  for (int32_t id = 0; id < 1000; ++id) output.push_back(TokenId{id});
  outputs.Add("a", output);
  EXPECT_EQ(outputs.Find("a", Output({1, 2}), {}).length, 0);
  EXPECT_EQ(outputs.Find("a", Output({997, 998}), {}).next, TokenId{999});
}

TEST(PastOutputsTest, SaltsCountTowardsTheBound) {
  PastOutputs outputs(PastOutputs::kMinBytes);
  for (int client = 0; client < 1000; ++client) {
    outputs.Add(std::string(600, 'x') + absl::StrCat(client), Output({1, 2, 3}));
    ASSERT_LE(outputs.bytes(), PastOutputs::kMinBytes);
  }
}

// Every match was followed by its token in an output of the same client, among the latest ones.
TEST(PastOutputsTest, RandomClientsShareNothing) {
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    PastOutputs outputs(PastOutputs::kMinBytes << (random() % 3));
    const int num_clients = 1 + static_cast<int>(random() % 40);
    int64_t num_found = 0;
    for (int step = 0; step < 300; ++step) {
      // The tokens of client c are c * 10 to c * 10 + 2.
      const auto client = static_cast<int32_t>(random() % num_clients);
      std::vector<TokenId> output;
      for (uint32_t n = random() % 30; n > 0; --n) {
        output.push_back(TokenId{client * 10 + static_cast<int32_t>(random() % 3)});
      }
      outputs.Add(absl::StrCat("client ", client), output);
      ASSERT_LE(outputs.bytes(), PastOutputs::kMinBytes << 2);
      const auto other = static_cast<int32_t>(random() % num_clients);
      const SuffixMatch match = outputs.Find(absl::StrCat("client ", client), output, {});
      EXPECT_TRUE(match.length == 0 || Raw(match.next) / 10 == client);
      if (other != client) {
        EXPECT_EQ(outputs.Find(absl::StrCat("client ", other), output, {}).length, 0);
      }
      num_found += match.length > 0 ? 1 : 0;
    }
    EXPECT_GT(num_found, 100);
  }
}

}  // namespace
}  // namespace shortlist
