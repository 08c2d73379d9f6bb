#include "kernels/attention.h"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "kernels/cpu/input.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/linear_job.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxTileTokens = 64;

/// True if the kernel needs no AttendJob::weights.
bool AttendsOverTiles(const KernelTable& table, const KvLayer& cache) {
  return table.tile_attention && cache.dtype == DType::kBf16;
}

/// Neighbouring tokens of one sequence, whose keys and values are read together.
struct Tile {
  int64_t first_token;
  int64_t num_tokens;
  // Leading positions before the window. Non-zero only in tiles of one token.
  int64_t num_skipped;
  // Entries of the sequence's list, after the skipped ones, that all its tokens see.
  int64_t num_shared;
  int64_t max_positions;  // largest of its tokens'
};

int64_t TailLen(const AttentionLayout& layout, int64_t token) {
  if (layout.tail_indptr == nullptr) return 0;
  return layout.tail_indptr[token + 1] - layout.tail_indptr[token];
}

/// Cuts the batch into tiles of at most `max_tokens`, whose weights stay in the second-level cache.
/// Every cut gives the same results.
void CutTiles(const KernelTable& table, const KvLayer& cache, const AttentionLayout& layout,
              int64_t group, int64_t max_tokens, std::vector<Tile>& tiles) {
  int64_t max_weights = (512 << 10) / sizeof(float);
  if (AttendsOverTiles(table, cache)) {
    max_weights = std::numeric_limits<int64_t>::max();
    max_tokens = std::min(max_tokens, kMaxTileTokens);
  } else {
    constexpr int64_t kFewTokens = 16;
    max_tokens = std::min(max_tokens, kFewTokens);
  }
  tiles.clear();
  for (int64_t t = 0; t < layout.num_tokens; ++t) {
    const int64_t context_len = layout.context_len[t];
    const int64_t num_positions = context_len + TailLen(layout, t);
    if (layout.window > 0 && num_positions > layout.window) {
      // A tile of its own, so that its sums begin at its window.
      const int64_t num_skipped = num_positions - layout.window;
      tiles.push_back(
          {t, 1, num_skipped, std::max<int64_t>(context_len - num_skipped, 0), layout.window});
      continue;
    }
    Tile grown = {t, 1, 0, context_len, num_positions};
    if (!tiles.empty() && layout.seq_of_token[t] == layout.seq_of_token[t - 1] &&
        tiles.back().num_skipped == 0) {
      const Tile& last = tiles.back();
      const int64_t max_positions = std::max(last.max_positions, grown.max_positions);
      if (last.num_tokens < max_tokens &&
          (last.num_tokens + 1) * group * max_positions <= max_weights) {
        grown = {last.first_token, last.num_tokens + 1, 0, std::min(last.num_shared, context_len),
                 max_positions};
        tiles.pop_back();
      }
    }
    tiles.push_back(grown);
  }
}

/// Returns the slots that `token` sees from logical position `first` on, in order: the rest of its
/// context if it has no tail, else the rest of context and tail, copied to `joined` if both are
/// needed.
const int32_t* OwnSlots(const AttentionLayout& layout, int64_t token, int64_t first,
                        int32_t* joined) {
  const int32_t* context = layout.kv_slots + layout.kv_indptr[layout.seq_of_token[token]];
  const int64_t tail_len = TailLen(layout, token);
  if (tail_len == 0) return context + first;
  const int64_t context_len = layout.context_len[token];
  const int32_t* tail = layout.tail_slots + layout.tail_indptr[token];
  if (first >= context_len) return tail + (first - context_len);
  int32_t* end = std::copy(context + first, context + context_len, joined);
  std::copy_n(tail, tail_len, end);
  return joined;
}

struct Queries {
  const float* q;  // those of token t and key/value head h at q + t * stride + h * head_stride,
  int64_t stride;  // [num_heads / num_kv_heads, head_dim]
  int64_t head_stride;
  int64_t num_heads;
  float scale;
};

/// Returns the query heads of a tile that share key/value head `head`, [num_tokens * group,
/// head_dim], in the format of the dot kernels.
InputRows PrepareQueries(const KernelTable& table, const KvLayer& cache, const Queries& queries,
                         const Tile& tile, int64_t head) {
  thread_local Scratch joined_scratch;
  thread_local Scratch prepared_scratch;
  const int64_t group = queries.num_heads / cache.num_kv_heads;
  const int64_t width = group * cache.head_dim;
  const float* rows = queries.q + tile.first_token * queries.stride + head * queries.head_stride;
  if (tile.num_tokens > 1) {
    auto* joined = static_cast<float*>(joined_scratch.Get(tile.num_tokens * width * sizeof(float)));
    for (int64_t i = 0; i < tile.num_tokens; ++i) {
      std::copy_n(rows + i * queries.stride, width, joined + i * width);
    }
    rows = joined;
  }
  return PrepareInput(table, {rows}, tile.num_tokens * group, cache.head_dim, cache.dtype,
                      QuantLayout::kHeadRow, prepared_scratch);
}

/// Computes attention of one tile's query heads over key/value heads [first_head, end_head).
void AttendTile(const KernelTable& table, const KvLayer& cache, const AttentionLayout& layout,
                const Queries& queries, const Tile& tile, int64_t first_head, int64_t end_head,
                float* out) {
  thread_local Scratch slots_scratch;
  thread_local Scratch weights_scratch;
  const int64_t group = queries.num_heads / cache.num_kv_heads;
  const int64_t head_bytes = cache.head_dim * DTypeBytes(cache.dtype);
  const int64_t max_own = tile.max_positions - tile.num_shared;
  const int64_t num_weights =
      AttendsOverTiles(table, cache) ? 0 : tile.num_tokens * group * tile.max_positions;
  auto* joined =
      static_cast<int32_t*>(slots_scratch.Get(tile.num_tokens * max_own * sizeof(int32_t)));
  AttendToken tokens[kMaxTileTokens];
  AttendJob job = {
      .slot_bytes = cache.num_kv_heads * head_bytes,
      .dtype = cache.dtype,
      .head_dim = cache.head_dim,
      .group = group,
      .scale = queries.scale,
      .shared_slots = layout.kv_slots + layout.kv_indptr[layout.seq_of_token[tile.first_token]] +
                      tile.num_skipped,
      .num_shared = tile.num_shared,
      .tokens = tokens,
      .num_tokens = tile.num_tokens,
      .weights = static_cast<float*>(weights_scratch.Get(num_weights * sizeof(float))),
      .weights_stride = tile.max_positions,
  };
  for (int64_t i = 0; i < tile.num_tokens; ++i) {
    const int64_t t = tile.first_token + i;
    const int64_t first_own = tile.num_skipped + tile.num_shared;
    tokens[i].own_slots = OwnSlots(layout, t, first_own, joined + i * max_own);
    tokens[i].num_own = layout.context_len[t] + TailLen(layout, t) - first_own;
  }
  for (int64_t head = first_head; head < end_head; ++head) {
    job.keys = static_cast<const char*>(cache.keys) + head * head_bytes;
    job.values = static_cast<const char*>(cache.values) + head * head_bytes;
    const int64_t first = head * group * cache.head_dim;
    job.queries = PrepareQueries(table, cache, queries, tile, head);
    for (int64_t i = 0; i < tile.num_tokens; ++i) {
      tokens[i].out = out + (tile.first_token + i) * queries.num_heads * cache.head_dim + first;
    }
    table.attend(job);
  }
}

/// Applies the steps of QkvProjection after the projection, for tokens [first_token, end_token) and
/// key/value heads [first_head, end_head) with their queries.
void PrepareHeads(const KernelTable& table, const KvLayer& cache, const QkvProjection& qkv,
                  int64_t first_token, int64_t end_token, int64_t first_head, int64_t end_head) {
  const int64_t head_dim = cache.head_dim;
  const int64_t group = qkv.num_heads / cache.num_kv_heads;
  const int64_t width = (group + 2) * head_dim;  // of a key/value head
  const int64_t head_bytes = head_dim * DTypeBytes(cache.dtype);
  for (int64_t t = first_token; t < end_token; ++t) {
    const int64_t num_pairs = qkv.rotary_dim / 2;
    const int64_t angle = qkv.positions[t] * num_pairs;
    for (int64_t h = first_head; h < end_head; ++h) {
      float* const row = qkv.rows + (t * cache.num_kv_heads + h) * width;
      if (qkv.bias != nullptr) table.add(qkv.bias + h * width, DType::kF32, width, row);
      for (int64_t i = 0; i <= group; ++i) {  // the queries, then the key
        float* const head = row + i * head_dim;
        const float* norm = i < group ? qkv.query_norm : qkv.key_norm;
        if (norm != nullptr) table.rms_norm(head, norm, qkv.norm_epsilon, head_dim, head);
        table.rope(head, qkv.cos + angle, qkv.sin + angle, num_pairs);
        if (i == group || qkv.query_scale == nullptr) continue;
        const float scale = qkv.query_scale[qkv.positions[t]];
        for (int64_t d = 0; d < head_dim; ++d) head[d] *= scale;
      }
      const float* const key = row + group * head_dim;
      const int64_t at = (qkv.slots[t] * cache.num_kv_heads + h) * head_bytes;
      table.from_f32(key, cache.dtype, head_dim, static_cast<char*>(cache.keys) + at);
      table.from_f32(key + head_dim, cache.dtype, head_dim, static_cast<char*>(cache.values) + at);
    }
  }
}

/// Adds the bias, and normalises all query heads of each token as one row, and all key heads.
void NormAllHeads(const KernelTable& table, const KvLayer& cache, const QkvProjection& qkv,
                  int64_t num_tokens, ThreadPool& pool) {
  const int64_t head_dim = cache.head_dim;
  const int64_t group = qkv.num_heads / cache.num_kv_heads;
  const int64_t width = (group + 2) * head_dim;  // of a key/value head
  pool.ParallelFor(num_tokens, /*grain=*/4, [&](int64_t begin, int64_t end) {
    thread_local Scratch scratch;
    // Heads [first, first + count) of each key/value head, in one row.
    const auto norm = [&](float* rows, int64_t first, int64_t count, const float* weight) {
      const int64_t part = count * head_dim;
      const int64_t size = cache.num_kv_heads * part;
      auto* const joined = static_cast<float*>(scratch.Get(size * sizeof(float)));
      for (int64_t h = 0; h < cache.num_kv_heads; ++h) {
        std::copy_n(rows + h * width + first * head_dim, part, joined + h * part);
      }
      table.rms_norm(joined, weight, qkv.norm_epsilon, size, joined);
      for (int64_t h = 0; h < cache.num_kv_heads; ++h) {
        std::copy_n(joined + h * part, part, rows + h * width + first * head_dim);
      }
    };
    for (int64_t t = begin; t < end; ++t) {
      float* const rows = qkv.rows + t * cache.num_kv_heads * width;
      if (qkv.bias != nullptr) {
        table.add(qkv.bias, DType::kF32, cache.num_kv_heads * width, rows);
      }
      norm(rows, 0, group, qkv.query_norm);
      norm(rows, group, 1, qkv.key_norm);
    }
  });
}

/// Calls task(i) for i in [0, num_tasks). Threads claim tasks as they become free.
template <typename Task>
void RunTasks(int64_t num_tasks, ThreadPool& pool, const Task& task) {
  pool.Run(
      num_tasks, [](void* context, int64_t i) { (*static_cast<const Task*>(context))(i); },
      const_cast<void*>(static_cast<const void*>(&task)));
}

/// AttentionCpu. With `qkv`, to which the queries belong: the part of SelfAttentionCpu that follows
/// the projection.
void Attend(const KvLayer& cache, const AttentionLayout& layout, const Queries& queries,
            const QkvProjection* qkv, float* out, ThreadPool& pool) {
  const KernelTable& table = CurrentKernels();
  const int64_t num_kv_heads = cache.num_kv_heads;
  // Tiles are as large as possible with a part left for each thread. A few tiles are also cut into
  // runs of neighbouring heads.
  const int64_t num_threads = pool.num_threads();
  const int64_t share = (layout.num_tokens * num_kv_heads + num_threads - 1) / num_threads;
  thread_local std::vector<Tile> tiles;
  CutTiles(table, cache, layout, queries.num_heads / num_kv_heads, share, tiles);
  const int64_t num_tiles = static_cast<int64_t>(tiles.size());
  const int64_t num_runs = num_tiles >= 4 * num_threads ? 1 : std::min(num_threads, num_kv_heads);
  // The thread that attends to a tile's heads also prepares them, if no other tile stores what the
  // tile sees of this batch. This saves one loop over the threads, and moves fewer cache lines
  // between cores.
  bool tiles_are_apart = !layout.shares_slots;
  for (const Tile& tile : tiles) {
    const int64_t t = tile.first_token;
    tiles_are_apart &= t == 0 || layout.seq_of_token[t] != layout.seq_of_token[t - 1];
  }
  if (qkv != nullptr && !tiles_are_apart) {
    constexpr int64_t kGrain = 16;
    pool.ParallelFor(layout.num_tokens, kGrain, [&](int64_t begin, int64_t end) {
      PrepareHeads(table, cache, *qkv, begin, end, 0, num_kv_heads);
    });
    qkv = nullptr;
  }
  // Starts at the last tile: later tiles of a chunk see more, so the threads finish together.
  RunTasks(num_tiles * num_runs, pool, [&, tiles = tiles.data()](int64_t task) {
    const Tile& tile = tiles[num_tiles - 1 - task / num_runs];
    const int64_t run = task % num_runs;
    const int64_t first_head = num_kv_heads * run / num_runs;
    const int64_t end_head = num_kv_heads * (run + 1) / num_runs;
    if (qkv != nullptr) {
      PrepareHeads(table, cache, *qkv, tile.first_token, tile.first_token + tile.num_tokens,
                   first_head, end_head);
    }
    AttendTile(table, cache, layout, queries, tile, first_head, end_head, out);
  });
}

/// SelfAttentionCpu in one loop over the threads. Each thread computes its share of the heads,
/// including the projection.
void SelfAttendByHeads(const KvLayer& cache, const AttentionLayout& layout, const Queries& queries,
                       const QkvProjection& qkv, float* out, ThreadPool& pool) {
  const KernelTable& table = CurrentKernels();
  const int64_t head_rows = qkv.weight->out_features() / cache.num_kv_heads;
  const int64_t num_heads = cache.num_kv_heads / pool.num_threads();  // of a thread
  thread_local std::vector<Tile> tiles;
  CutTiles(table, cache, layout, queries.num_heads / cache.num_kv_heads, kMaxTileTokens, tiles);
  RunTasks(pool.num_threads(), pool, [&, tiles = std::span<const Tile>(tiles)](int64_t task) {
    thread_local Scratch scratch;
    const int64_t first_head = task * num_heads;
    const int64_t end_head = first_head + num_heads;
    const InputRows x = PrepareInput(table, qkv.input, layout.num_tokens, qkv.weight->in_features(),
                                     qkv.weight->dtype(), QuantLayout::kPanel, scratch);
    RunLinear(table, *qkv.weight, {.x = x, .y = qkv.rows, .y_stride = qkv.weight->out_features()},
              first_head * head_rows / kPanelRows, end_head * head_rows / kPanelRows);
    PrepareHeads(table, cache, qkv, 0, layout.num_tokens, first_head, end_head);
    for (const Tile& tile : tiles) {
      AttendTile(table, cache, layout, queries, tile, first_head, end_head, out);
    }
  });
}

}  // namespace

void StoreKvCpu(const KvLayer& cache, const float* keys, const float* values, int64_t row_stride,
                const int32_t* slots, int64_t num_tokens, ThreadPool& pool) {
  const KernelTable& table = CurrentKernels();
  const int64_t width = cache.num_kv_heads * cache.head_dim;
  const int64_t slot_bytes = width * DTypeBytes(cache.dtype);
  char* key_rows = static_cast<char*>(cache.keys);
  char* value_rows = static_cast<char*>(cache.values);
  pool.ParallelFor(num_tokens, /*grain=*/16, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t offset = slots[t] * slot_bytes;
      table.from_f32(keys + t * row_stride, cache.dtype, width, key_rows + offset);
      table.from_f32(values + t * row_stride, cache.dtype, width, value_rows + offset);
    }
  });
}

void AttentionCpu(const KvLayer& cache, const AttentionLayout& layout, const float* q,
                  int64_t q_stride, int64_t num_heads, float scale, float* out, ThreadPool& pool) {
  const int64_t head_stride = num_heads / cache.num_kv_heads * cache.head_dim;
  Attend(cache, layout, {q, q_stride, head_stride, num_heads, scale}, /*qkv=*/nullptr, out, pool);
}

void SelfAttentionCpu(const KvLayer& cache, const AttentionLayout& layout, const QkvProjection& qkv,
                      float scale, float* out, ThreadPool& pool) {
  if (layout.num_tokens == 0) return;
  const int64_t width = qkv.weight->out_features();
  const int64_t head_rows = width / cache.num_kv_heads;
  const Queries queries = {qkv.rows, width, head_rows, qkv.num_heads, scale};
  // Few tokens, as in a decode step, and equal shares for the threads, with no panel of the weight
  // split between two threads.
  const int64_t num_heads = cache.num_kv_heads / pool.num_threads();
  constexpr int64_t kFewTokens = 16;
  const bool norms_by_head = qkv.query_norm == nullptr || !qkv.norms_all_heads;
  if (norms_by_head && layout.num_tokens <= kFewTokens &&
      cache.num_kv_heads % pool.num_threads() == 0 && num_heads * head_rows % kPanelRows == 0) {
    return SelfAttendByHeads(cache, layout, queries, qkv, out, pool);
  }
  LinearCpu(*qkv.weight, qkv.input, layout.num_tokens, qkv.rows, /*accumulate=*/false, pool);
  if (norms_by_head) return Attend(cache, layout, queries, &qkv, out, pool);
  NormAllHeads(CurrentKernels(), cache, qkv, layout.num_tokens, pool);
  QkvProjection normed = qkv;
  normed.bias = normed.query_norm = normed.key_norm = nullptr;
  Attend(cache, layout, queries, &normed, out, pool);
}

}  // namespace shortlist
