#include "kernels/sketch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/kth_largest.h"
#include "kernels/cpu/sketch_job.h"
#include "kernels/cuda/selection.h"
#include "kernels/sketch_rank.h"

// Rows that beat a bound are kept. Whenever twice the wanted number of rows is kept, the bound
// rises to the worst of the wanted number. So fewer and fewer rows are kept, and the number of
// rises grows with the logarithm of the number of rows. A large choice begins with a bound from a
// sample.

namespace shortlist {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();
// Rows that all tokens score before the next rows are read: their codes stay in the cache.
constexpr int64_t kBlockRows = 256;
// Fewer rows are not worth another thread.
constexpr int64_t kRowsPerThread = 8192;

/// The rows of some panels that one token still keeps, in ascending order.
struct Kept {
  float* keys;
  int32_t* ids;
  int64_t count = 0;
  float bound = kLowest;

  /// Keeps the `most` best rows. The bound rises to the worst of them: later rows, which have
  /// higher ids, must beat it.
  void Tighten(int64_t most) {
    if (count <= most) return;
    const float least = KthLargest({keys, static_cast<size_t>(count)}, most);
    int64_t above = 0;
    for (int64_t i = 0; i < count; ++i) above += keys[i] > least ? 1 : 0;
    int64_t num_ties = most - above;  // those with the lowest ids
    int64_t kept = 0;
    for (int64_t i = 0; i < count; ++i) {
      const float key = keys[i];
      keys[kept] = key;
      ids[kept] = ids[i];
      kept += key > least || (key == least && num_ties-- > 0) ? 1 : 0;
    }
    count = kept;
    bound = least;
  }
};

/// Returns the largest magnitude; infinity if a value is not finite.
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

/// Returns one token's part of a refinement. Scores of the further dimensions get the same unit as
/// those of the first dimensions (SketchQuery::factor).
SketchFineJob FineJob(const SketchFine& fine, const float* query, int64_t rank,
                      const float* fine_query, const SketchRace& race) {
  // With a larger factor, the first dimensions would have no effect.
  constexpr double kMostFactor = 1e6;
  SketchFineJob job{.fine = fine};
  SketchQuery first;
  first.Set(query, rank, race);
  const float largest = Largest(query, rank), fine_largest = Largest(fine_query, kSketchFineRank);
  if (std::isinf(largest) || std::isinf(fine_largest) || fine_largest < 1e-30f) return job;
  // first.factor applies to scores of a query in steps of `step`.
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

namespace {

/// Estimates a bound that somewhat more than `num_chosen` rows beat, from a sample of every
/// kSampleEvery-th panel.
float SampledBound(const SketchRows& rows, const SketchQuery& query, int64_t num_chosen) {
  constexpr int64_t kSampleEvery = 16;
  constexpr double kMore = 1.25;
  thread_local std::vector<float> keys;
  thread_local std::vector<int32_t> ids;
  keys.resize((rows.num_panels() / kSampleEvery + 1) * kSketchPanelRows);
  ids.resize(keys.size());
  int64_t count = 0;
  for (int64_t panel = 0; panel < rows.num_panels(); panel += kSampleEvery) {
    const int64_t first = panel * kSketchPanelRows;
    count += CurrentKernels().sketch({.rows = rows,
                                      .first_row = first,
                                      .end_row = std::min(first + kSketchPanelRows, rows.num_rows),
                                      .query = &query,
                                      .bound = kLowest,
                                      .keys = keys.data() + count,
                                      .ids = ids.data() + count});
  }
  const double share = static_cast<double>(count) / static_cast<double>(rows.num_rows);
  const auto rank = static_cast<int64_t>(kMore * share * static_cast<double>(num_chosen)) + 1;
  return rank < count ? KthLargest({keys.data(), static_cast<size_t>(count)}, rank) : kLowest;
}

/// The choice of SketchRankCpu for some tokens. Used by one thread, which the pool helps.
class Ranking {
 public:
  /// Memory reused by the next ranking: fresh pages would cost as much as the choice.
  struct Memory {
    std::vector<float> keys;
    std::vector<int32_t> ids;
    std::vector<Kept> kept;  // [range, token]
  };

  Ranking(const SketchRows& rows, std::span<const SketchQuery> queries, int64_t num_chosen,
          ThreadPool& pool, Memory& memory)
      : rows_(rows),
        queries_(queries),
        num_chosen_(num_chosen),
        num_ranges_(std::clamp<int64_t>(rows.num_rows / kRowsPerThread, 1, pool.num_threads())),
        pool_(pool),
        kept_(memory.kept) {
    // A range keeps at most twice the wanted number of rows, and at most as many rows as it has.
    const int64_t most = std::min(2 * num_chosen, rows.num_rows / num_ranges_ + 2 * kBlockRows);
    const int64_t capacity = most + kBlockRows + kSketchPanelRows;
    const size_t size = num_ranges_ * num_tokens() * capacity;
    if (memory.keys.size() < size) memory.keys.resize(size), memory.ids.resize(size);
    kept_.clear();
    for (int64_t i = 0; i < num_ranges_ * num_tokens(); ++i) {
      kept_.push_back({&memory.keys[i * capacity], &memory.ids[i * capacity]});
    }
  }

  /// Sets initial bounds. For a choice this large, a sample predicts approximately where it ends.
  void SetBounds() {
    constexpr int64_t kLarge = 4096;
    if (num_chosen_ < kLarge || num_chosen_ > rows_.num_rows / 2) return;
    pool_.ParallelFor(num_tokens(), /*grain=*/1, [&](int64_t m, int64_t end) {
      for (; m < end; ++m) {
        const float bound = SampledBound(rows_, queries_[m], num_chosen_);
        for (int64_t range = 0; range < num_ranges_; ++range) Of(range, m).bound = bound;
      }
    });
  }

  void Run() {
    pool_.ParallelFor(num_ranges_, /*grain=*/1, [&](int64_t range, int64_t end) {
      for (; range < end; ++range) RunRange(range);
    });
  }

  /// True if enough rows of each token beat the bound. If not, resets the bounds, and Run must be
  /// called again.
  bool Suffices() {
    for (int64_t m = 0; m < num_tokens(); ++m) {
      int64_t count = 0;
      for (int64_t range = 0; range < num_ranges_; ++range) count += Of(range, m).count;
      if (count >= num_chosen_) continue;
      for (Kept& kept : kept_) kept.count = 0, kept.bound = kLowest;
      return false;
    }
    return true;
  }

  /// keys: null, or as in SketchRankCpu.
  void Merge(int32_t* ids, uint32_t* keys) {
    pool_.ParallelFor(num_tokens(), /*grain=*/1, [&](int64_t m, int64_t end) {
      for (; m < end; ++m) {
        MergeToken(m, ids + m * num_chosen_, keys == nullptr ? nullptr : keys + m * num_chosen_);
      }
    });
  }

 private:
  int64_t num_tokens() const { return std::ssize(queries_); }
  Kept& Of(int64_t range, int64_t m) { return kept_[range * num_tokens() + m]; }

  void RunRange(int64_t range) {
    const int64_t num_blocks = (rows_.num_rows + kBlockRows - 1) / kBlockRows;
    for (int64_t block = num_blocks * range / num_ranges_;
         block < num_blocks * (range + 1) / num_ranges_; ++block) {
      const int64_t first = block * kBlockRows;
      for (int64_t m = 0; m < num_tokens(); ++m) {
        Kept& mine = Of(range, m);
        mine.count +=
            CurrentKernels().sketch({.rows = rows_,
                                     .first_row = first,
                                     .end_row = std::min(first + kBlockRows, rows_.num_rows),
                                     .query = &queries_[m],
                                     .bound = mine.bound,
                                     .keys = mine.keys + mine.count,
                                     .ids = mine.ids + mine.count});
        if (mine.count >= 2 * num_chosen_) mine.Tighten(num_chosen_);
      }
    }
  }

  void MergeToken(int64_t m, int32_t* ids, uint32_t* keys) {
    thread_local std::vector<float> merged_keys;
    thread_local std::vector<int32_t> merged_ids;
    merged_keys.clear();
    merged_ids.clear();
    for (int64_t range = 0; range < num_ranges_; ++range) {  // in the order of their rows
      const Kept& part = Of(range, m);
      merged_keys.insert(merged_keys.end(), part.keys, part.keys + part.count);
      merged_ids.insert(merged_ids.end(), part.ids, part.ids + part.count);
    }
    Kept all{merged_keys.data(), merged_ids.data(), std::ssize(merged_keys)};
    all.Tighten(num_chosen_);
    std::copy(all.ids, all.ids + all.count, ids);
    if (keys != nullptr) std::transform(all.keys, all.keys + all.count, keys, OrderedBits);
  }

  const SketchRows& rows_;
  const std::span<const SketchQuery> queries_;
  const int64_t num_chosen_, num_ranges_;
  ThreadPool& pool_;
  std::vector<Kept>& kept_;
};

}  // namespace

void SketchRankCpu(const SketchRows& rows, const float* query, const SketchRace* races,
                   int64_t num_tokens, int64_t num_chosen, int32_t* ids, uint32_t* chosen_keys,
                   ThreadPool& pool) {
  if (num_tokens == 0 || num_chosen == 0) return;
  std::vector<SketchQuery> queries(num_tokens);
  for (int64_t m = 0; m < num_tokens; ++m) {
    queries[m].Set(query + m * rows.rank, rows.rank, races != nullptr ? races[m] : SketchRace());
  }
  thread_local Ranking::Memory memory;
  Ranking ranking(rows, queries, num_chosen, pool, memory);
  ranking.SetBounds();
  ranking.Run();
  if (!ranking.Suffices()) ranking.Run();
  ranking.Merge(ids, chosen_keys);
}

void SketchRefineCpu(const SketchRows& rows, const SketchFine& fine, const float* query,
                     const float* fine_query, const SketchRace* races, int64_t num_tokens,
                     int64_t num_candidates, const int32_t* candidate_ids,
                     const uint32_t* candidate_keys, int64_t num_chosen, int32_t* ids,
                     uint32_t* keys, ThreadPool& pool) {
  if (num_chosen == 0) return;
  constexpr int64_t kGrain = 1024;                          // candidates
  const bool by_tokens = num_tokens >= pool.num_threads();  // else all threads share each token
  const auto refine = [&](int64_t m) {
    thread_local std::vector<float> refined;
    thread_local std::vector<int32_t> refined_ids;
    const int32_t* const of_token = candidate_ids + m * num_candidates;
    refined.resize(num_candidates);
    std::transform(candidate_keys + m * num_candidates, candidate_keys + (m + 1) * num_candidates,
                   refined.begin(), OrderedValue);
    SketchFineJob job =
        FineJob(fine, query + m * rows.rank, rows.rank, fine_query + m * kSketchFineRank,
                races != nullptr ? races[m] : SketchRace());
    job.keys = refined.data();
    const auto run = [&](int64_t begin, int64_t end) {
      SketchFineJob part = job;
      part.ids = of_token + begin;
      part.keys += begin;
      part.count = end - begin;
      CurrentKernels().sketch_fine(part);
    };
    if (by_tokens) {
      run(0, num_candidates);
    } else {
      pool.ParallelFor(num_candidates, kGrain, run);
    }
    refined_ids.assign(of_token, of_token + num_candidates);
    Kept all{refined.data(), refined_ids.data(), num_candidates};
    all.Tighten(num_chosen);
    std::copy(all.ids, all.ids + num_chosen, ids + m * num_chosen);
    std::transform(all.keys, all.keys + num_chosen, keys + m * num_chosen, OrderedBits);
  };
  if (by_tokens) {
    pool.ParallelFor(num_tokens, /*grain=*/1, [&](int64_t m, int64_t end) {
      for (; m < end; ++m) refine(m);
    });
  } else {
    for (int64_t m = 0; m < num_tokens; ++m) refine(m);
  }
}

}  // namespace shortlist
