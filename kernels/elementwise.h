#ifndef SHORTLIST_KERNELS_ELEMENTWISE_H_
#define SHORTLIST_KERNELS_ELEMENTWISE_H_

#include <cstdint>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/activation.h"

namespace shortlist {

// Row-wise operations of decoder and encoder layers. Every row's result is independent of
// num_tokens. num_tokens = 0 does nothing. Arrays are f32 and dense unless noted otherwise.

/// y[t, i] = x[t, i] / sqrt(mean_i x[t, i]^2 + epsilon) * weight[i]. x, y: [num_tokens, hidden],
/// may be the same array; weight: [hidden].
void RmsNormCpu(const float* x, const float* weight, float epsilon, int64_t num_tokens,
                int64_t hidden, float* y, ThreadPool& pool);

/// Like RmsNormCpu(), but y[t, i] += that. Overwrites x with what is added.
void AddRmsNormCpu(float* x, const float* weight, float epsilon, int64_t num_tokens, int64_t hidden,
                   float* y, ThreadPool& pool);

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, with mean and variance of the row's
/// elements.
struct LayerNorm {
  const float* weight = nullptr;  // [hidden]
  const float* bias = nullptr;    // [hidden]; null: no bias
  float epsilon = 0;
};

/// y[t] = layer norm of (x[t] + addend). x, y: [num_tokens, hidden], may be the same array; addend:
/// [hidden], may be null.
void LayerNormCpu(const float* x, const float* addend, const LayerNorm& norm, int64_t num_tokens,
                  int64_t hidden, float* y, ThreadPool& pool);

/// x[t, i] += bias[i]. x: [num_tokens, width]; bias: [width].
void AddBiasCpu(float* x, const float* bias, int64_t num_tokens, int64_t width, ThreadPool& pool);

/// x[t, i] *= activation(gate[t, i]). gate, x: [num_tokens, width].
void GateCpu(Activation activation, const float* gate, int64_t num_tokens, int64_t width, float* x,
             ThreadPool& pool);

/// y[t, i] += scale * x[t, i]. x, y: [num_tokens, width].
void AddScaledCpu(const float* x, float scale, int64_t num_tokens, int64_t width, float* y,
                  ThreadPool& pool);

/// y[rows[r], i] += scales[r] * x[r, i]. x: [num_rows, width]; rows: [num_rows], distinct, null:
/// 0, 1, 2 and so on; scales: [num_rows].
void AddScaledRowsCpu(const float* x, const int32_t* rows, const float* scales, int64_t num_rows,
                      int64_t width, float* y, ThreadPool& pool);

/// out[t] = table[ids[t]] as f32. table: [vocab_size, hidden] of `dtype`; ids: [num_tokens], in [0,
/// vocab_size).
void EmbeddingCpu(const void* table, DType dtype, int64_t hidden, const int32_t* ids,
                  int64_t num_tokens, float* out, ThreadPool& pool);

/// Same as EmbeddingCpu(), but out[t] += table[ids[t]].
void AddEmbeddingCpu(const void* table, DType dtype, int64_t hidden, const int32_t* ids,
                     int64_t num_tokens, float* out, ThreadPool& pool);

/// True if no element of data[0 .. count) is NaN or infinite.
bool AllFiniteCpu(const void* data, DType dtype, int64_t count, ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_ELEMENTWISE_H_
