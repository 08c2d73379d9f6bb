#include "cli/embed/top_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace shortlist {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> RowsOf(const std::vector<ScoredRow>& ranking) {
  std::vector<int64_t> rows;
  for (const ScoredRow& row : ranking) rows.push_back(row.row);
  return rows;
}

TEST(TopRowsTest, BestFirstAndTiesKeepOrder) {
  const std::vector<float> scores = {0.5f, 2.0f, -1.0f, 2.0f, 0.5f};
  EXPECT_THAT(RowsOf(TopScores(scores, 4)), ElementsAre(1, 3, 0, 4));
  EXPECT_THAT(RowsOf(TopScores(scores, 100)), ElementsAre(1, 3, 0, 4, 2));
  EXPECT_THAT(RowsOf(TopScores({}, 3)), ElementsAre());
}

TEST(TopRowsTest, SimilaritiesMatchSentenceTransformers) {
  ThreadPool pool(1);
  const std::vector<float> rows = {3, 4, 0, 0, -6, 8};
  const std::vector<float> query = {2, 0};
  const auto of = [&](Similarity similarity) {
    return Similarities(rows, query, similarity, pool);
  };
  EXPECT_THAT(of(Similarity::kDot), ElementsAre(6, 0, -12));
  EXPECT_THAT(of(Similarity::kCosine), ElementsAre(0.6f, 0, -0.6f));
  EXPECT_THAT(of(Similarity::kEuclidean), ElementsAre(-std::sqrt(17.0f), -2, -std::sqrt(128.0f)));
  EXPECT_THAT(of(Similarity::kManhattan), ElementsAre(-5, -2, -16));
}

TEST(TopRowsTest, SumsAreExactForAnyWidthAndThreadCount) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (const int64_t width : {1, 15, 16, 17, 36, 384}) {
    std::vector<float> rows(1000 * width), query(width);
    for (float& value : rows) value = normal(random);
    for (float& value : query) value = normal(random);
    ThreadPool one(1), three(3);
    const std::vector<float> got = Similarities(rows, query, Similarity::kDot, one);
    EXPECT_EQ(got, Similarities(rows, query, Similarity::kDot, three));
    for (int64_t row = 0; row < 1000; ++row) {
      double want = 0.0;
      for (int64_t i = 0; i < width; ++i) want += double{rows[row * width + i]} * query[i];
      EXPECT_NEAR(got[row], want, 1e-4);
    }
  }
}

}  // namespace
}  // namespace shortlist
