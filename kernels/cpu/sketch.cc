#include "kernels/sketch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/sketch_job.h"
#include "kernels/cuda/selection.h"
#include "kernels/sketch_rank.h"

// Rows that beat a bound are kept. Whenever twice as many are kept as are wanted, the bound rises
// to where about the wanted number beats it, so that fewer and fewer rows are kept at all: the
// number of rises grows with the logarithm of the rows.

namespace shortlist {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();
// Rows that all tokens score before the next ones are read: their codes stay in the cache.
constexpr int64_t kBlockRows = 256;
// Fewer are not worth another thread.
constexpr int64_t kRowsPerThread = 8192;

/// Order of floats (no NaN) as integers.
int32_t Rank(float key) {
  const auto bits = std::bit_cast<int32_t>(key + 0.0f);  // -0 is 0
  return bits < 0 ? std::numeric_limits<int32_t>::min() - bits : bits;
}
float KeyOf(int32_t rank) {
  return std::bit_cast<float>(rank < 0 ? std::numeric_limits<int32_t>::min() - rank : rank);
}

/// A value such that at least `least` and at most `most` keys are above it, or none is equal to it
/// but the `least`-th best. `most` >= `least` >= 1; there are at least `least` keys.
float FindBound(std::span<const float> keys, int64_t least, int64_t most) {
  const auto [smallest, largest] = std::ranges::minmax(keys);
  // More than `most` are above `low` as far as is known, fewer than `least` above `high`.
  int64_t low = int64_t{Rank(smallest)} - 1, high = Rank(largest);
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    const float bound = KeyOf(static_cast<int32_t>(middle));
    int32_t above = 0;
    for (const float key : keys) above += key > bound ? 1 : 0;
    if (above >= least && above <= most) return bound;
    (above < least ? high : low) = middle;
  }
  return KeyOf(static_cast<int32_t>(high));
}

/// The rows of some panels that one token still keeps, ascending.
struct Kept {
  float* keys;
  int32_t* ids;
  int64_t count = 0;
  float bound = kLowest;

  /// Keeps the `least` best at least, the `most` best at most, as long as ties allow. The bound
  /// rises so far that what comes later, with a higher id, has to beat it.
  void Tighten(int64_t least, int64_t most) {
    if (count <= most) return;
    const float found = FindBound({keys, static_cast<size_t>(count)}, least, most);
    const int64_t above = std::count_if(keys, keys + count, [&](float key) { return key > found; });
    int64_t num_ties = std::max<int64_t>(least - above, 0);  // those with the lowest ids
    int64_t kept = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (!(keys[i] > found) && !(keys[i] == found && num_ties-- > 0)) continue;
      keys[kept] = keys[i];
      ids[kept++] = ids[i];
    }
    count = kept;
    bound = found;
  }
};

/// The largest magnitude; infinity where a value is not finite.
float Largest(const float* values, int64_t count) {
  float largest = 0.0f;
  for (int64_t k = 0; k < count; ++k) {
    const float magnitude = std::abs(values[k]);
    if (!(magnitude < std::numeric_limits<float>::infinity())) {
      return std::numeric_limits<float>::infinity();
    }
    largest = std::max(largest, magnitude);
  }
  return largest;
}

/// A token's part of a refinement. Scores of the further dimensions count as those of the first do
/// (SketchQuery::factor).
SketchFineJob FineJob(const SketchFine& fine, const float* query, int64_t rank,
                      const float* fine_query, const SketchRace& race) {
  // More, and the first dimensions say nothing.
  constexpr double kMostFactor = 1e6;
  SketchFineJob job{.fine = fine};
  SketchQuery first;
  first.Set(query, rank, race);
  const float largest = Largest(query, rank), fine_largest = Largest(fine_query, kSketchFineRank);
  if (std::isinf(largest) || std::isinf(fine_largest) || fine_largest < 1e-30f) return job;
  // first.factor is what a score counts for whose query is in steps of `step`.
  const double step = std::max(largest, 1e-30f) / 127.0;
  job.factor =
      static_cast<float>(std::min(first.factor / step * (fine_largest / 127.0), kMostFactor));
  int32_t sum = 0;
  for (int64_t k = 0; k < kSketchFineRank; ++k) {
    const auto code = static_cast<int8_t>(std::nearbyint(fine_query[k] * (127.0f / fine_largest)));
    job.query[k % kSketchStep / 4][k / kSketchStep * 4 + k % 4] = code;
    sum += code;
  }
  job.offset = -8 * sum;
  return job;
}

}  // namespace

void SketchSelectCpu(const SketchRows& rows, const float* query, const SketchRace* races,
                     int64_t num_tokens, int64_t num_chosen, int32_t* ids, ThreadPool& pool) {
  SketchRankCpu(rows, query, races, num_tokens, num_chosen, ids, /*keys=*/nullptr, pool);
}

void SketchRankCpu(const SketchRows& rows, const float* query, const SketchRace* races,
                   int64_t num_tokens, int64_t num_chosen, int32_t* ids, uint32_t* chosen_keys,
                   ThreadPool& pool) {
  if (num_tokens == 0 || num_chosen == 0) return;
  thread_local std::vector<SketchQuery> queries;
  queries.resize(num_tokens);
  for (int64_t m = 0; m < num_tokens; ++m) {
    queries[m].Set(query + m * rows.rank, rows.rank, races != nullptr ? races[m] : SketchRace());
  }
  const int64_t num_ranges =
      std::clamp<int64_t>(rows.num_rows / kRowsPerThread, 1, pool.num_threads());
  const int64_t capacity = 2 * num_chosen + kBlockRows + kSketchPanelRows;
  thread_local std::vector<float> keys;
  thread_local std::vector<int32_t> kept_ids;
  thread_local std::vector<Kept> kept;  // [range, token]
  keys.resize(num_ranges * num_tokens * capacity);
  kept_ids.resize(keys.size());
  kept.clear();
  for (int64_t i = 0; i < num_ranges * num_tokens; ++i) {
    kept.push_back({&keys[i * capacity], &kept_ids[i * capacity]});
  }

  const KernelTable& table = CurrentKernels();
  const int64_t num_blocks = (rows.num_rows + kBlockRows - 1) / kBlockRows;
  pool.ParallelFor(
      num_ranges, /*grain=*/1,
      [&, of_ranges = kept.data(), of_tokens = queries.data()](int64_t range, int64_t end_range) {
        for (; range < end_range; ++range) {
          for (int64_t block = num_blocks * range / num_ranges;
               block < num_blocks * (range + 1) / num_ranges; ++block) {
            const int64_t first = block * kBlockRows;
            for (int64_t m = 0; m < num_tokens; ++m) {
              Kept& mine = of_ranges[range * num_tokens + m];
              mine.count += table.sketch({.rows = rows,
                                          .first_row = first,
                                          .end_row = std::min(first + kBlockRows, rows.num_rows),
                                          .query = &of_tokens[m],
                                          .bound = mine.bound,
                                          .keys = mine.keys + mine.count,
                                          .ids = mine.ids + mine.count});
              if (mine.count >= 2 * num_chosen)
                mine.Tighten(num_chosen, num_chosen + num_chosen / 4);
            }
          }
        }
      });

  thread_local std::vector<float> merged_keys;
  thread_local std::vector<int32_t> merged_ids;
  for (int64_t m = 0; m < num_tokens; ++m) {
    merged_keys.clear();
    merged_ids.clear();
    for (int64_t range = 0; range < num_ranges; ++range) {  // in the order of their rows
      const Kept& part = kept[range * num_tokens + m];
      merged_keys.insert(merged_keys.end(), part.keys, part.keys + part.count);
      merged_ids.insert(merged_ids.end(), part.ids, part.ids + part.count);
    }
    Kept all{merged_keys.data(), merged_ids.data(), std::ssize(merged_keys)};
    all.Tighten(num_chosen, num_chosen);
    std::copy(all.ids, all.ids + all.count, ids + m * num_chosen);
    if (chosen_keys == nullptr) continue;
    std::transform(all.keys, all.keys + all.count, chosen_keys + m * num_chosen, OrderedBits);
  }
}

void SketchRefineCpu(const SketchRows& rows, const SketchFine& fine, const float* query,
                     const float* fine_query, const SketchRace* races, int64_t num_tokens,
                     int64_t num_candidates, const int32_t* candidate_ids,
                     const uint32_t* candidate_keys, int64_t num_chosen, int32_t* ids,
                     uint32_t* keys, ThreadPool& pool) {
  if (num_chosen == 0) return;
  constexpr int64_t kGrain = 1024;  // candidates
  thread_local std::vector<float> refined;
  thread_local std::vector<int32_t> refined_ids;
  refined.resize(num_candidates);
  for (int64_t m = 0; m < num_tokens; ++m) {
    const int32_t* const of_token = candidate_ids + m * num_candidates;
    std::transform(candidate_keys + m * num_candidates, candidate_keys + (m + 1) * num_candidates,
                   refined.begin(), OrderedValue);
    SketchFineJob job =
        FineJob(fine, query + m * rows.rank, rows.rank, fine_query + m * kSketchFineRank,
                races != nullptr ? races[m] : SketchRace());
    job.keys = refined.data();
    pool.ParallelFor(num_candidates, kGrain, [&](int64_t begin, int64_t end) {
      SketchFineJob part = job;
      part.ids = of_token + begin;
      part.keys += begin;
      part.count = end - begin;
      CurrentKernels().sketch_fine(part);
    });
    refined_ids.assign(of_token, of_token + num_candidates);
    Kept all{refined.data(), refined_ids.data(), num_candidates};
    all.Tighten(num_chosen, num_chosen);
    std::copy(all.ids, all.ids + num_chosen, ids + m * num_chosen);
    std::transform(all.keys, all.keys + num_chosen, keys + m * num_chosen, OrderedBits);
  }
}

}  // namespace shortlist
