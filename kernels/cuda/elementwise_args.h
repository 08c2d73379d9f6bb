#ifndef SHORTLIST_KERNELS_CUDA_ELEMENTWISE_ARGS_H_
#define SHORTLIST_KERNELS_CUDA_ELEMENTWISE_ARGS_H_

#include <cstdint>

#include "base/dtype.h"

namespace shortlist {

/// The small operations of a draft step; kernels/elementwise.h has them for the CPU. Arrays are
/// f32, dense and on the device unless noted otherwise. num_tokens = 0 succeeds without a launch.
enum class ElementwiseOp : uint8_t {
  kEmbedding,  // y[t] = table[ids[t]] as f32
  kRmsNorm,    // y[t, i] = x[t, i] / sqrt(mean_i x[t, i]^2 + epsilon) * weight[i]
  kRope,       // as in QkvProjection (kernels/attention.h), in place in y
  kSiluMul,    // y[t, i] = silu(x[t, i]) * up[t, i]
  kMapIds,     // mapped[t] = map[ids[t]]
};

struct ElementwiseJob {
  ElementwiseOp op = ElementwiseOp::kSiluMul;
  int64_t num_tokens = 0;
  int64_t width = 0;  // of a row: hidden; for kSiluMul the intermediate size

  const float* x = nullptr;       // [num_tokens, width]; kRmsNorm, kSiluMul
  const float* up = nullptr;      // [num_tokens, width]; kSiluMul
  const float* weight = nullptr;  // [width]; kRmsNorm
  float epsilon = 0;
  float* y = nullptr;  // [num_tokens, width]; may be x. kRmsNorm: of type y_dtype, f32 or bf16
  DType y_dtype = DType::kF32;

  // kEmbedding and kMapIds. An id out of range sets kEmbeddingIdError and gives zeros (kEmbedding)
  // or -1 (kMapIds).
  const int32_t* ids = nullptr;  // [num_tokens]
  int64_t num_ids = 0;           // bound of the ids: rows of the table, or entries of the map
  const void* table = nullptr;   // [num_ids, width] of table_dtype: f32, f16 or bf16
  DType table_dtype = DType::kF32;
  const int32_t* map = nullptr;  // [num_ids]
  int32_t* mapped = nullptr;     // [num_tokens]

  // kRope: row t starts at y + t * row_stride and is [num_heads, head_dim]. A position out of range
  // sets kPositionError and leaves the row unchanged.
  int64_t row_stride = 0;
  int64_t num_heads = 0;
  int64_t head_dim = 0;                // even
  const int32_t* positions = nullptr;  // [num_tokens]
  int64_t num_positions = 0;           // bound of the positions
  const float* cos = nullptr;          // [num_positions, head_dim / 2]
  const float* sin = nullptr;

  int32_t* error = nullptr;  // one word of HeadErrorBits; kEmbedding, kMapIds, kRope
};

/// Returns why the job is rejected, with the bound; null if the job is valid. Reads no device
/// memory.
const char* ElementwiseProblem(const ElementwiseJob& job);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_ELEMENTWISE_ARGS_H_
