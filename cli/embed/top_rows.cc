#include "cli/embed/top_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace shortlist {
namespace {

/// Sum of term(a[i], b[i]), in lanes that the compiler can keep in one register.
template <typename Term>
float Sum(const float* a, const float* b, int64_t width, Term term) {
  constexpr int64_t kLanes = 16;
  std::array<float, kLanes> lanes = {};
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(a[i + lane], b[i + lane]);
  }
  for (int64_t lane = 0; i < width; ++i, ++lane) lanes[lane] += term(a[i], b[i]);
  return std::accumulate(lanes.begin(), lanes.end(), 0.0f);
}

float Dot(const float* a, const float* b, int64_t width) {
  return Sum(a, b, width, [](float x, float y) { return x * y; });
}

float Length(const float* a, int64_t width) { return std::sqrt(Dot(a, a, width)); }

/// `query_length`: Length(query).
float Score(const float* row, std::span<const float> query, float query_length,
            Similarity similarity) {
  const int64_t width = std::ssize(query);
  switch (similarity) {
    case Similarity::kDot:
      return Dot(row, query.data(), width);
    case Similarity::kCosine: {
      const float lengths = Length(row, width) * query_length;
      return lengths > 0.0f ? Dot(row, query.data(), width) / lengths : 0.0f;
    }
    case Similarity::kEuclidean:
      return -std::sqrt(
          Sum(row, query.data(), width, [](float x, float y) { return (x - y) * (x - y); }));
    case Similarity::kManhattan:
      return -Sum(row, query.data(), width, [](float x, float y) { return std::abs(x - y); });
  }
  SHORTLIST_CHECK(false);
}

}  // namespace

std::vector<ScoredRow> TopScores(std::span<const float> scores, int64_t count) {
  std::vector<ScoredRow> rows;
  for (const float score : scores) rows.push_back({std::ssize(rows), score});
  const auto end = rows.begin() + std::min(count, std::ssize(rows));
  std::partial_sort(rows.begin(), end, rows.end(), [](const ScoredRow& a, const ScoredRow& b) {
    return a.score != b.score ? a.score > b.score : a.row < b.row;
  });
  rows.erase(end, rows.end());
  return rows;
}

std::vector<float> Similarities(std::span<const float> rows, std::span<const float> query,
                                Similarity similarity, ThreadPool& pool) {
  const int64_t width = std::ssize(query);
  SHORTLIST_CHECK(width > 0 && std::ssize(rows) % width == 0);
  std::vector<float> scores(rows.size() / query.size());
  const float query_length = Length(query.data(), width);
  pool.ParallelFor(std::ssize(scores), /*grain=*/256, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      scores[row] = Score(rows.data() + row * width, query, query_length, similarity);
    }
  });
  return scores;
}

}  // namespace shortlist
