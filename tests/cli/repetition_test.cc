#include "cli/repetition.h"

#include <gtest/gtest.h>

#include <vector>

namespace shortlist {
namespace {

std::vector<TokenId> Ids(const std::vector<int>& raw) {
  std::vector<TokenId> ids;
  for (int id : raw) ids.push_back(TokenId{id});
  return ids;
}

TEST(RepetitionTest, ShortOutputHasNoSixgrams) {
  EXPECT_EQ(CountRepeatedSixgrams({}).num_ngrams, 0);
  EXPECT_EQ(CountRepeatedSixgrams(Ids({1, 1, 1, 1, 1})).num_ngrams, 0);
}

TEST(RepetitionTest, ConstantOutputRepeatsAllButFirst) {
  const Repetition repetition = CountRepeatedSixgrams(std::vector<TokenId>(16, TokenId{3}));
  EXPECT_EQ(repetition.num_ngrams, 11);
  EXPECT_EQ(repetition.num_repeated, 10);
}

TEST(RepetitionTest, CountsEarlierOccurrencesOnly) {
  // 1..6 comes again at the end; the ones that straddle are new.
  const Repetition repetition = CountRepeatedSixgrams(Ids({1, 2, 3, 4, 5, 6, 9, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(repetition.num_ngrams, 8);
  EXPECT_EQ(repetition.num_repeated, 1);
}

}  // namespace
}  // namespace shortlist
