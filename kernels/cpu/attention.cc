#include "kernels/attention.h"

#include <algorithm>

#include "kernels/cpu/input.h"
#include "kernels/cpu/kernel_table.h"

namespace shortlist {
namespace {

/// The slots a token sees, in logical order: the list itself where there is no tail, else a copy
/// that joins both parts in `scratch`.
const int32_t* SeenSlots(const AttentionLayout& layout, int64_t token, Scratch& scratch,
                         int64_t* num_positions) {
  const int32_t* context = layout.kv_slots + layout.kv_indptr[layout.seq_of_token[token]];
  const int64_t context_len = layout.context_len[token];
  const int64_t tail_begin = layout.tail_indptr != nullptr ? layout.tail_indptr[token] : 0;
  const int64_t tail_end = layout.tail_indptr != nullptr ? layout.tail_indptr[token + 1] : 0;
  *num_positions = context_len + tail_end - tail_begin;
  if (tail_begin == tail_end) return context;
  auto* joined = static_cast<int32_t*>(scratch.Get(*num_positions * sizeof(int32_t)));
  std::copy_n(context, context_len, joined);
  std::copy(layout.tail_slots + tail_begin, layout.tail_slots + tail_end, joined + context_len);
  return joined;
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
  const KernelTable& table = CurrentKernels();
  const int64_t group = num_heads / cache.num_kv_heads;
  const int64_t head_bytes = cache.head_dim * DTypeBytes(cache.dtype);
  const auto attend = [&](int64_t item) {
    thread_local Scratch slots_scratch;
    thread_local Scratch weights_scratch;
    const int64_t token = item / cache.num_kv_heads;
    const int64_t kv_head = item % cache.num_kv_heads;
    const int64_t first = kv_head * group * cache.head_dim;
    AttendJob job = {
        .keys = static_cast<const char*>(cache.keys) + kv_head * head_bytes,
        .values = static_cast<const char*>(cache.values) + kv_head * head_bytes,
        .slot_bytes = cache.num_kv_heads * head_bytes,
        .dtype = cache.dtype,
        .head_dim = cache.head_dim,
        .q = q + token * q_stride + first,
        .group = group,
        .scale = scale,
        .out = out + token * num_heads * cache.head_dim + first,
    };
    job.slots = SeenSlots(layout, token, slots_scratch, &job.num_positions);
    job.weights =
        static_cast<float*>(weights_scratch.Get(group * job.num_positions * sizeof(float)));
    table.attend(job);
  };
  // One task per token and key/value head, claimed as threads come free: later tokens of a chunk
  // see more.
  pool.Run(
      layout.num_tokens * cache.num_kv_heads,
      [](void* context, int64_t item) { (*static_cast<decltype(attend)*>(context))(item); },
      const_cast<void*>(static_cast<const void*>(&attend)));
}

}  // namespace shortlist
