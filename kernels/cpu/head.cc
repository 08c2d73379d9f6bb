#include "kernels/head.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/block_kernels.h"
#include "kernels/cpu/input.h"
#include "kernels/cpu/kernel_table.h"

// Rows are scored in blocks of kRowsPerBlock. A block's logits stay in a thread's scratch and are
// reduced there, so that full logits are written to memory only if the caller requests them. The
// reduced values do not depend on which thread took which block. They are the best candidates under
// a total order, and one partial sum of exponentials per block; the sums are added in block order
// at the end.

namespace shortlist {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kRowsPerBlock = 256;

struct Candidate {
  float logit;
  int32_t id;
};

/// Order of candidates: larger logit first, then lower id. Logits are never NaN here.
bool Better(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

/// exp(max) * sum is the sum of a block's exponentials; sum = 0 if there are none.
struct PartialSum {
  float max = -kInfinity;
  float sum = 0;
};

int64_t TailBegin(const HeadArgs& args, int64_t token) {
  return args.tail_indptr != nullptr ? args.tail_indptr[token] : 0;
}

int64_t TailLen(const HeadArgs& args, int64_t token) {
  return args.tail_indptr != nullptr ? args.tail_indptr[token + 1] - args.tail_indptr[token] : 0;
}

int64_t NumSharedBlocks(const HeadArgs& args) {
  return (args.num_rows + kRowsPerBlock - 1) / kRowsPerBlock;
}

/// Rows [first_row, first_row + num_rows) of some tokens, either all shared or all in one tail.
struct Block {
  int64_t first_token;
  int64_t num_tokens;
  int64_t first_row;
  int64_t num_rows;
};

/// Sets rows[i] to the address of row `first` + i of `token`. The rows are either all shared or all
/// in the token's tail.
void FindRows(const HeadArgs& args, int64_t token, int64_t first, int64_t count,
              const void** rows) {
  const int64_t row_bytes = RowBytes(args.dtype, args.hidden);
  const char* const weight = static_cast<const char*>(args.weight);
  int64_t i = 0;
  const auto one_behind_the_other = [&](const void* data, int64_t end) {
    for (; i < end; ++i) rows[i] = static_cast<const char*>(data) + (first + i) * row_bytes;
  };
  if (first < args.num_rows) {
    if (args.packed != nullptr) {
      one_behind_the_other(args.packed, std::min(count, args.num_packed - first));
    }
    if (args.row_ids == nullptr) return one_behind_the_other(weight, count);
    for (; i < count; ++i) rows[i] = weight + args.row_ids[first + i] * row_bytes;
    return;
  }
  const int32_t* const tail = args.tail_ids + TailBegin(args, token) + (first - args.num_rows);
  for (; i < count; ++i) rows[i] = weight + tail[i] * row_bytes;
}

void Score(const KernelTable& table, const CpuHeadJob& job) {
  IsBlocked(job.dtype) ? table.blocks->head(job) : table.head(job);
}

/// Writes out[(t - first_token) * out_stride + s - first_row] for the block's tokens t and rows s.
void ScoreBlock(const KernelTable& table, const HeadArgs& args, const InputRows& x,
                const Block& block, float* out, int64_t out_stride) {
  const void* rows[kRowsPerBlock + kHeadRowsAhead];
  // The same thread usually takes the next block (see ForEachBlock).
  const int64_t num_rows = block.first_row < args.num_rows
                               ? args.num_rows
                               : args.num_rows + TailLen(args, block.first_token);
  const int64_t num_ahead = std::min(num_rows - block.first_row - block.num_rows, kHeadRowsAhead);
  FindRows(args, block.first_token, block.first_row, block.num_rows + num_ahead, rows);
  const int64_t row_bytes = RowBytes(args.dtype, args.hidden);
  Score(table, {.rows = rows,
                .num_rows = block.num_rows,
                .num_ahead = num_ahead,
                .gathered = rows[block.num_rows - 1] !=
                            static_cast<const char*>(rows[0]) + (block.num_rows - 1) * row_bytes,
                .dtype = args.dtype,
                .hidden = args.hidden,
                .x = {static_cast<const char*>(x.data) + block.first_token * x.row_bytes, x.stride,
                      block.num_tokens, x.row_bytes},
                .out = out,
                .out_stride = out_stride});
}

/// Calls visit(block, index) for every block of rows, on the threads of `pool`. Each thread gets
/// its own visitor from per_thread(). `index` numbers the blocks of a token from 0. All blocks of
/// one token's tail go in order to one visitor and share one index.
template <typename PerThread>
void ForEachBlock(const HeadArgs& args, ThreadPool& pool, PerThread&& per_thread) {
  const int64_t num_shared = NumSharedBlocks(args);
  const int64_t num_tails = args.tail_indptr != nullptr ? args.num_tokens : 0;
  const int64_t num_items = num_tails + num_shared;
  // Tails first: one token's tail may be several blocks long.
  const auto visit_item = [&](auto& visit, int64_t item) {
    if (item >= num_tails) {
      const int64_t index = item - num_tails, first = index * kRowsPerBlock;
      visit(Block{0, args.num_tokens, first, std::min(kRowsPerBlock, args.num_rows - first)},
            index);
      return;
    }
    const int64_t num_rows = args.num_rows + TailLen(args, item);
    for (int64_t first = args.num_rows; first < num_rows; first += kRowsPerBlock) {
      visit(Block{item, 1, first, std::min(kRowsPerBlock, num_rows - first)}, num_shared);
    }
  };
  // Threads claim shorter and shorter runs as they become free: memory is read in long stretches,
  // and all threads finish together.
  std::atomic<int64_t> next_item{0};
  const auto work = [&](int64_t, int64_t) {
    auto&& visit = per_thread();
    int64_t begin = next_item.load(std::memory_order_relaxed);
    while (begin < num_items) {
      const int64_t count = std::max<int64_t>(1, (num_items - begin) / (2 * pool.num_threads()));
      if (!next_item.compare_exchange_weak(begin, begin + count)) continue;
      for (int64_t item = begin; item < begin + count; ++item) visit_item(visit, item);
      begin = next_item.load(std::memory_order_relaxed);
    }
  };
  pool.ParallelFor(std::min<int64_t>(pool.num_threads(), num_items), /*grain=*/1, work);
}

InputRows PrepareHidden(const KernelTable& table, const HeadArgs& args, ThreadPool& pool) {
  thread_local Scratch scratch;
  return PrepareInput(table, {args.x}, args.num_tokens, args.hidden, args.dtype,
                      QuantLayout::kHeadRow, scratch, pool);
}

/// Same as ForEachBlock(), but calls visit(block, index, logits) with the block's logits,
/// [block.num_tokens, kRowsPerBlock].
template <typename PerThread>
void ForEachScoredBlock(const HeadArgs& args, ThreadPool& pool, PerThread&& per_thread) {
  const KernelTable& table = CurrentKernels();
  const InputRows x = PrepareHidden(table, args, pool);
  ForEachBlock(args, pool, [&] {
    thread_local Scratch scratch;
    auto* logits =
        static_cast<float*>(scratch.Get(args.num_tokens * kRowsPerBlock * sizeof(float)));
    return [&, logits, visit = per_thread()](const Block& block, int64_t index) mutable {
      ScoreBlock(table, args, x, block, logits, kRowsPerBlock);
      visit(block, index, logits);
    };
  });
}

/// Adds a block's candidates to `best`, a heap of at most `k` whose front is the worst.
void FoldTopK(const HeadArgs& args, const Block& block, int64_t token, const float* logits,
              float max, int64_t k, std::vector<Candidate>& best) {
  for (int64_t s = 0; s < block.num_rows; ++s) {
    const bool full = static_cast<int64_t>(best.size()) == k;
    if (full && max < best.front().logit) return;
    const float logit = std::isnan(logits[s]) ? -kInfinity : logits[s];
    if (full && logit < best.front().logit) continue;
    const Candidate candidate{logit, HeadTokenId(args, token, block.first_row + s)};
    if (full) {
      if (!Better(candidate, best.front())) continue;
      std::pop_heap(best.begin(), best.end(), Better);
      best.back() = candidate;
    } else {
      best.push_back(candidate);
    }
    std::push_heap(best.begin(), best.end(), Better);
  }
}

/// Adds one more block's logits to `partial`.
void FoldSum(const KernelTable& table, const float* logits, int64_t count, float max,
             PartialSum& partial) {
  if (max == -kInfinity) return;
  if (max == kInfinity) {
    partial = {kInfinity, 1};
    return;
  }
  const float sum = table.sum_exp(logits, count, max);
  const float top = std::max(partial.max, max);
  partial.sum = partial.sum * std::exp(partial.max - top) + sum * std::exp(max - top);
  partial.max = top;
}

/// Calls visit(i) for every i < count with values[i] == value. Assumes few matches.
template <typename Visit>
void ForEachEqual(const float* values, int64_t count, float value, Visit&& visit) {
  constexpr int64_t kStride = 32;
  for (int64_t begin = 0; begin < count; begin += kStride) {
    const int64_t end = std::min(count, begin + kStride);
    if (end - begin == kStride) {
      int32_t num_equal = 0;
      for (int64_t i = 0; i < kStride; ++i) num_equal += values[begin + i] == value;
      if (num_equal == 0) continue;
    }
    for (int64_t i = begin; i < end; ++i) {
      if (values[i] == value) visit(i);
    }
  }
}

float LogSumExp(const PartialSum* partials, int64_t count) {
  float max = -kInfinity;
  for (int64_t i = 0; i < count; ++i) max = std::max(max, partials[i].max);
  if (std::isinf(max)) return max;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += partials[i].sum * std::exp(static_cast<double>(partials[i].max) - max);
  }
  return static_cast<float>(max + std::log(sum));
}

/// Writes the k best of `candidates`, which it sorts, and pads them. A candidate with logit
/// -infinity counts as padding.
void WriteTopK(std::vector<Candidate>& candidates, int64_t k, int32_t* ids, float* logits) {
  std::sort(candidates.begin(), candidates.end(), Better);
  for (int64_t i = 0; i < k; ++i) {
    const bool present =
        i < static_cast<int64_t>(candidates.size()) && candidates[i].logit > -kInfinity;
    ids[i] = present ? candidates[i].id : -1;
    logits[i] = present ? candidates[i].logit : -kInfinity;
  }
}

}  // namespace

int64_t HeadMaxRows(const HeadArgs& args) {
  int64_t longest_tail = 0;
  for (int64_t m = 0; m < args.num_tokens; ++m)
    longest_tail = std::max(longest_tail, TailLen(args, m));
  return args.num_rows + longest_tail;
}

int32_t HeadTokenId(const HeadArgs& args, int64_t token, int64_t row) {
  if (row >= args.num_rows) return args.tail_ids[TailBegin(args, token) + row - args.num_rows];
  return args.row_ids != nullptr ? args.row_ids[row] : static_cast<int32_t>(row);
}

void HeadLogitsCpu(const HeadArgs& args, float* logits, int64_t stride, ThreadPool& pool) {
  if (args.num_tokens == 0) return;
  const KernelTable& table = CurrentKernels();
  const InputRows x = PrepareHidden(table, args, pool);
  ForEachBlock(args, pool, [&] {
    return [&](const Block& block, int64_t) {
      ScoreBlock(table, args, x, block, logits + block.first_token * stride + block.first_row,
                 stride);
    };
  });
  for (int64_t m = 0; m < args.num_tokens; ++m) {
    std::fill(logits + m * stride + args.num_rows + TailLen(args, m), logits + (m + 1) * stride,
              -kInfinity);
  }
}

void HeadArgmaxCpu(const HeadArgs& args, int32_t* ids, float* logits, ThreadPool& pool) {
  if (args.num_tokens == 0) return;
  constexpr Candidate kNone{-kInfinity, -1};
  const KernelTable& table = CurrentKernels();
  // One row of winners per visitor. The order of visitors does not affect the best winner.
  thread_local std::vector<Candidate> winners;
  winners.assign(pool.num_threads() * args.num_tokens, kNone);
  std::atomic<int64_t> num_visitors{0};
  ForEachScoredBlock(args, pool, [&, all = winners.data()] {
    Candidate* mine = all + num_visitors.fetch_add(1) * args.num_tokens;
    return [&, mine](const Block& block, int64_t, const float* scores) {
      for (int64_t t = 0; t < block.num_tokens; ++t) {
        const int64_t token = block.first_token + t;
        const float* row = scores + t * kRowsPerBlock;
        Candidate& best = mine[token];
        const float max = table.max(row, block.num_rows);
        if (max == -kInfinity || (best.id >= 0 && max < best.logit)) continue;
        ForEachEqual(row, block.num_rows, max, [&](int64_t s) {
          const Candidate candidate{max, HeadTokenId(args, token, block.first_row + s)};
          if (best.id < 0 || Better(candidate, best)) best = candidate;
        });
      }
    };
  });
  for (int64_t m = 0; m < args.num_tokens; ++m) {
    Candidate best = kNone;
    for (int64_t v = 0; v < num_visitors.load(); ++v) {
      const Candidate& candidate = winners[v * args.num_tokens + m];
      if (candidate.id >= 0 && (best.id < 0 || Better(candidate, best))) best = candidate;
    }
    ids[m] = best.id;
    if (logits != nullptr) logits[m] = best.logit;
  }
}

void HeadTopKCpu(const HeadArgs& args, int64_t k, int32_t* ids, float* logits, float* log_sum_exp,
                 ThreadPool& pool) {
  if (args.num_tokens == 0) return;
  const KernelTable& table = CurrentKernels();
  thread_local std::vector<std::vector<Candidate>> heaps;  // [visitor, token]
  if (heaps.size() < static_cast<size_t>(pool.num_threads() * args.num_tokens)) {
    heaps.resize(pool.num_threads() * args.num_tokens);
  }
  for (std::vector<Candidate>& heap : heaps) heap.clear();
  const int64_t num_partials = NumSharedBlocks(args) + 1;
  thread_local std::vector<PartialSum> partials;  // [token, block]
  partials.assign(args.num_tokens * num_partials, PartialSum{});

  std::atomic<int64_t> num_visitors{0};
  ForEachScoredBlock(args, pool, [&, all_heaps = heaps.data(), sums = partials.data()] {
    std::vector<Candidate>* mine = all_heaps + num_visitors.fetch_add(1) * args.num_tokens;
    return [&, mine, sums](const Block& block, int64_t index, const float* scores) {
      for (int64_t t = 0; t < block.num_tokens; ++t) {
        const int64_t token = block.first_token + t;
        const float* row = scores + t * kRowsPerBlock;
        const float max = table.max(row, block.num_rows);
        FoldTopK(args, block, token, row, max, k, mine[token]);
        FoldSum(table, row, block.num_rows, max, sums[token * num_partials + index]);
      }
    };
  });

  thread_local std::vector<Candidate> merged;
  for (int64_t m = 0; m < args.num_tokens; ++m) {
    merged.clear();
    for (int64_t v = 0; v < num_visitors.load(); ++v) {
      const std::vector<Candidate>& heap = heaps[v * args.num_tokens + m];
      merged.insert(merged.end(), heap.begin(), heap.end());
    }
    WriteTopK(merged, k, ids + m * k, logits + m * k);
    log_sum_exp[m] = LogSumExp(partials.data() + m * num_partials, num_partials);
  }
}

void HeadTopKOfLogitsCpu(const HeadArgs& args, int64_t token, const float* logits, int64_t k,
                         int32_t* ids, float* top_logits, float* log_sum_exp) {
  const KernelTable& table = CurrentKernels();
  const int64_t num_shared = NumSharedBlocks(args);
  const int64_t num_rows = args.num_rows + TailLen(args, token);
  std::vector<Candidate> best;
  std::vector<PartialSum> sums(num_shared + 1);  // the same blocks as in HeadTopKCpu
  for (int64_t first = 0, index = 0; first < num_rows; ++index) {
    const int64_t end = first < args.num_rows ? args.num_rows : num_rows;
    const Block block{token, 1, first, std::min(kRowsPerBlock, end - first)};
    const float* row = logits + first;
    const float max = table.max(row, block.num_rows);
    FoldTopK(args, block, token, row, max, k, best);
    FoldSum(table, row, block.num_rows, max, sums[std::min(index, num_shared)]);
    first += block.num_rows;
  }
  WriteTopK(best, k, ids, top_logits);
  *log_sum_exp = LogSumExp(sums.data(), num_shared + 1);
}

float HeadDotCpu(const void* row, DType dtype, const float* x, int64_t hidden) {
  thread_local Scratch scratch;
  const KernelTable& table = CurrentKernels();
  float logit = 0;
  Score(table, {.rows = &row,
                .num_rows = 1,
                .dtype = dtype,
                .hidden = hidden,
                .x = PrepareInput(table, {x}, /*num_tokens=*/1, hidden, dtype,
                                  QuantLayout::kHeadRow, scratch),
                .out = &logit,
                .out_stride = 1});
  return logit;
}

}  // namespace shortlist
