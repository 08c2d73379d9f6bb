#include "kernels/elementwise.h"

#include <algorithm>
#include <atomic>

#include "kernels/cpu/kernel_table.h"
#include "kernels/quant.h"

namespace shortlist {
namespace {

// A range of rows with fewer elements is not worth another thread.
constexpr int64_t kMinElements = 1 << 13;

int64_t RowGrain(int64_t row_elements) {
  return std::max<int64_t>(1, kMinElements / std::max<int64_t>(1, row_elements));
}

bool AllFiniteF32(const uint32_t* bits, int64_t count) {
  uint32_t bad = 0;
  for (int64_t i = 0; i < count; ++i) bad |= (bits[i] & 0x7f800000u) == 0x7f800000u;
  return bad == 0;
}

bool AllFinite16(const uint16_t* bits, int64_t count, uint16_t exponent) {
  uint16_t bad = 0;
  for (int64_t i = 0; i < count; ++i) bad |= (bits[i] & exponent) == exponent;
  return bad == 0;
}

}  // namespace

void RmsNormCpu(const float* x, const float* weight, float epsilon, int64_t num_tokens,
                int64_t hidden, float* y, ThreadPool& pool) {
  const KernelTable& table = CurrentKernels();
  pool.ParallelFor(num_tokens, RowGrain(hidden), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      table.rms_norm(x + t * hidden, weight, epsilon, hidden, y + t * hidden);
    }
  });
}

void AddRmsNormCpu(float* x, const float* weight, float epsilon, int64_t num_tokens, int64_t hidden,
                   float* y, ThreadPool& pool) {
  const KernelTable& table = CurrentKernels();
  pool.ParallelFor(num_tokens, RowGrain(hidden), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      float* const row = x + t * hidden;
      float* const sum = y + t * hidden;
      table.rms_norm(row, weight, epsilon, hidden, row);
      for (int64_t i = 0; i < hidden; ++i) sum[i] += row[i];
    }
  });
}

void LayerNormCpu(const float* x, const float* addend, const LayerNorm& norm, int64_t num_tokens,
                  int64_t hidden, float* y, ThreadPool& pool) {
  const KernelTable& table = CurrentKernels();
  pool.ParallelFor(num_tokens, RowGrain(hidden), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      table.layer_norm(x + t * hidden, addend, norm, hidden, y + t * hidden);
    }
  });
}

void AddBiasCpu(float* x, const float* bias, int64_t num_tokens, int64_t width, ThreadPool& pool) {
  pool.ParallelFor(num_tokens, RowGrain(width), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      float* const row = x + t * width;
      for (int64_t i = 0; i < width; ++i) row[i] += bias[i];
    }
  });
}

void GateCpu(Activation activation, const float* gate, int64_t num_tokens, int64_t width, float* x,
             ThreadPool& pool) {
  const KernelTable& table = CurrentKernels();
  pool.ParallelFor(num_tokens, RowGrain(width), [&](int64_t begin, int64_t end) {
    float* const first = x + begin * width;
    table.activate_mul(activation, gate + begin * width, first, (end - begin) * width, first);
  });
}

void AddScaledCpu(const float* x, float scale, int64_t num_tokens, int64_t width, float* y,
                  ThreadPool& pool) {
  pool.ParallelFor(num_tokens, RowGrain(width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * width; i < end * width; ++i) y[i] += scale * x[i];
  });
}

void AddScaledRowsCpu(const float* x, const int32_t* rows, const float* scales, int64_t num_rows,
                      int64_t width, float* y, ThreadPool& pool) {
  pool.ParallelFor(num_rows, RowGrain(width), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float scale = scales[r];
      const float* const from = x + r * width;
      float* const to = y + (rows != nullptr ? rows[r] : r) * width;
      for (int64_t i = 0; i < width; ++i) to[i] += scale * from[i];
    }
  });
}

void EmbeddingCpu(const void* table, DType dtype, int64_t hidden, const int32_t* ids,
                  int64_t num_tokens, float* out, ThreadPool& pool) {
  const KernelTable& kernels = CurrentKernels();
  const char* rows = static_cast<const char*>(table);
  const int64_t row_bytes = RowBytes(dtype, hidden);
  pool.ParallelFor(num_tokens, RowGrain(hidden), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const char* const row = rows + ids[t] * row_bytes;
      if (IsQuantized(dtype)) {
        DequantizeHeadRow(row, dtype, hidden, out + t * hidden);
      } else {
        kernels.to_f32(row, dtype, hidden, out + t * hidden);
      }
    }
  });
}

void AddEmbeddingCpu(const void* table, DType dtype, int64_t hidden, const int32_t* ids,
                     int64_t num_tokens, float* out, ThreadPool& pool) {
  const KernelTable& kernels = CurrentKernels();
  const char* rows = static_cast<const char*>(table);
  const int64_t row_bytes = hidden * DTypeBytes(dtype);
  pool.ParallelFor(num_tokens, RowGrain(hidden), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      kernels.add(rows + ids[t] * row_bytes, dtype, hidden, out + t * hidden);
    }
  });
}

bool AllFiniteCpu(const void* data, DType dtype, int64_t count, ThreadPool& pool) {
  std::atomic<bool> all_finite{true};
  pool.ParallelFor(count, kMinElements, [&](int64_t begin, int64_t end) {
    const bool finite =
        dtype == DType::kF32
            ? AllFiniteF32(static_cast<const uint32_t*>(data) + begin, end - begin)
            : AllFinite16(static_cast<const uint16_t*>(data) + begin, end - begin,
                          dtype == DType::kF16 ? uint16_t{0x7c00} : uint16_t{0x7f80});
    if (!finite) all_finite.store(false, std::memory_order_relaxed);
  });
  return all_finite.load(std::memory_order_relaxed);
}

}  // namespace shortlist
