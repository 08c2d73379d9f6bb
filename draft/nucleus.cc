#include "draft/nucleus.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

namespace shortlist {
namespace {

// Rows are first bucketed by distance below the best score, in this many equal steps.
constexpr int kNumBuckets = 1024;
// Rows further below than this count as massless: e^-60 of each of 2^31 rows is below 1e-16 of all.
constexpr float kMostBelow = 60.0f;
// Few enough rows to sort.
constexpr int64_t kFewRows = 64;

class Nucleus {
 public:
  Nucleus(std::span<const float> scores, std::span<const int32_t> token_ids,
          std::span<const int32_t> rows)
      : scores_(scores), token_ids_(token_ids) {
    best_ = worst_ = scores[rows[0]];
    for (const int32_t row : rows) {
      best_ = std::max(best_, scores[row]);
      worst_ = std::min(worst_, scores[row]);
    }
    const float range = std::min(best_ - worst_, kMostBelow);
    buckets_per_unit_ = range > 0.0f ? kNumBuckets / range : 0.0f;
  }

  void Keep(double top_p, std::vector<int32_t>& rows) {
    std::array<double, kNumBuckets> masses{};
    for (const int32_t row : rows) masses[BucketOf(row)] += MassOf(row);
    double total = 0.0;
    for (const double mass : masses) total += mass;
    // `last`: the last bucket that the nucleus reaches; `before`: the mass of the buckets before
    // it.
    int last = 0;
    double before = 0.0;
    while (last + 1 < kNumBuckets && before + masses[last] < top_p * total)
      before += masses[last++];
    std::vector<int32_t> edge;
    std::erase_if(rows, [&](int32_t row) {
      const int bucket = BucketOf(row);
      if (bucket == last) edge.push_back(row);
      return bucket >= last;
    });
    edge.resize(NumNeeded(edge, top_p * total - before));
    rows.insert(rows.end(), edge.begin(), edge.end());
  }

 private:
  /// Does not fall as scores fall.
  int BucketOf(int32_t row) const {
    const float bucket = (best_ - scores_[row]) * buckets_per_unit_;
    return static_cast<int>(std::min(bucket, static_cast<float>(kNumBuckets - 1)));
  }

  double MassOf(int32_t row) const {
    const float below = best_ - scores_[row];
    return below <= kMostBelow ? std::exp(-static_cast<double>(below)) : 0.0;
  }

  /// Moves the best of `rows` to the front and returns how many of them have `mass` together, or
  /// all.
  int64_t NumNeeded(std::vector<int32_t>& rows, double mass) const {
    const auto better = [this](int32_t a, int32_t b) {
      if (scores_[a] != scores_[b]) return scores_[a] > scores_[b];
      return token_ids_.empty() ? a < b : token_ids_[a] < token_ids_[b];
    };
    auto begin = rows.begin(), end = rows.end();
    while (end - begin > kFewRows) {
      const auto middle = begin + (end - begin) / 2;
      std::nth_element(begin, middle, end, better);
      double upper = 0.0;
      for (auto row = begin; row != middle; ++row) upper += MassOf(*row);
      if (upper >= mass) {
        end = middle;
      } else {
        mass -= upper;
        begin = middle;
      }
    }
    std::sort(begin, end, better);
    while (begin != end && mass > 0.0) mass -= MassOf(*begin++);
    return begin - rows.begin();
  }

  const std::span<const float> scores_;
  const std::span<const int32_t> token_ids_;
  float best_, worst_, buckets_per_unit_;
};

}  // namespace

void KeepNucleus(std::span<const float> scores, std::span<const int32_t> token_ids, double top_p,
                 std::vector<int32_t>& rows) {
  if (rows.empty()) return;
  Nucleus(scores, token_ids, rows).Keep(top_p, rows);
}

}  // namespace shortlist
