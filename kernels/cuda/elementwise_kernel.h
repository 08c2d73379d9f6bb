#ifndef SHORTLIST_KERNELS_CUDA_ELEMENTWISE_KERNEL_H_
#define SHORTLIST_KERNELS_CUDA_ELEMENTWISE_KERNEL_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/cuda/elementwise_args.h"
#include "kernels/cuda/head_args.h"
#include "kernels/host_device.h"

namespace shortlist {

inline constexpr int kElementwiseThreads = 256;
inline constexpr int kElementwiseWarps = kElementwiseThreads / 32;

/// Returns the number of blocks of a job: one for each token, or for each kElementwiseThreads
/// tokens of kMapIds.
inline int64_t ElementwiseBlocks(const ElementwiseJob& job) {
  if (job.op != ElementwiseOp::kMapIds) return job.num_tokens;
  return (job.num_tokens + kElementwiseThreads - 1) / kElementwiseThreads;
}

template <class Device>
SHORTLIST_DEVICE void EmbedToken(const ElementwiseJob& job, int64_t token) {
  const int32_t id = job.ids[token];
  const bool inside = id >= 0 && id < job.num_ids;
  if (!inside && Device::Thread() == 0) Device::Flag(job.error, kEmbeddingIdError);
  const int64_t first = int64_t{id} * job.width;
  for (int64_t i = Device::Thread(); i < job.width; i += kElementwiseThreads) {
    float value = 0.0f;
    if (inside) {
      if (job.table_dtype == DType::kF32) {
        value = static_cast<const float*>(job.table)[first + i];
      } else {
        const uint16_t bits = static_cast<const uint16_t*>(job.table)[first + i];
        value = job.table_dtype == DType::kBf16 ? std::bit_cast<float>(uint32_t{bits} << 16)
                                                : Device::F16Value(bits);
      }
    }
    job.y[token * job.width + i] = value;
  }
}

/// Returns the sum over a block's threads, added in one order, to every thread. shared:
/// [kElementwiseWarps].
template <class Device>
SHORTLIST_DEVICE float BlockSum(float value, float* shared) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value += Device::ShuffleXor(value, distance);
  }
  if (Device::Lane() == 0) shared[Device::Warp()] = value;
  Device::SyncBlock();
  float sum = 0.0f;
  for (int w = 0; w < kElementwiseWarps; ++w) sum += shared[w];
  return sum;
}

template <class Device>
SHORTLIST_DEVICE void NormToken(const ElementwiseJob& job, int64_t token, float* shared) {
  const float* x = job.x + token * job.width;
  float squares = 0.0f;
  for (int64_t i = Device::Thread(); i < job.width; i += kElementwiseThreads) {
    squares = fmaf(x[i], x[i], squares);
  }
  const float mean = BlockSum<Device>(squares, shared) / static_cast<float>(job.width);
  const float inverse = 1.0f / sqrtf(mean + job.epsilon);
  for (int64_t i = Device::Thread(); i < job.width; i += kElementwiseThreads) {
    const float value = x[i] * inverse * job.weight[i];
    if (job.y_dtype == DType::kBf16) {
      reinterpret_cast<uint16_t*>(job.y)[token * job.width + i] = Device::Bf16Bits(value);
    } else {
      job.y[token * job.width + i] = value;
    }
  }
}

template <class Device>
SHORTLIST_DEVICE void RotateToken(const ElementwiseJob& job, int64_t token) {
  const int32_t position = job.positions[token];
  if (position < 0 || position >= job.num_positions) {
    if (Device::Thread() == 0) Device::Flag(job.error, kPositionError);
    return;
  }
  const int64_t half = job.head_dim / 2;
  const float* cos = job.cos + position * half;
  const float* sin = job.sin + position * half;
  for (int64_t i = Device::Thread(); i < job.num_heads * half; i += kElementwiseThreads) {
    float* row = job.y + token * job.row_stride + i / half * job.head_dim;
    const int64_t k = i % half;
    const float a = row[k];
    const float b = row[k + half];
    row[k] = a * cos[k] - b * sin[k];
    row[k + half] = b * cos[k] + a * sin[k];
  }
}

/// Runs one block of a job: kElementwiseThreads threads; shared: [kElementwiseWarps].
template <class Device>
SHORTLIST_DEVICE void RunElementwise(const ElementwiseJob& job, float* shared) {
  const int64_t token = Device::Block();
  switch (job.op) {
    case ElementwiseOp::kEmbedding:
      return EmbedToken<Device>(job, token);
    case ElementwiseOp::kRmsNorm:
      return NormToken<Device>(job, token, shared);
    case ElementwiseOp::kRope:
      return RotateToken<Device>(job, token);
    case ElementwiseOp::kSiluMul:
      for (int64_t i = Device::Thread(); i < job.width; i += kElementwiseThreads) {
        const float gate = job.x[token * job.width + i];
        const float up = job.up[token * job.width + i];
        job.y[token * job.width + i] = gate / (1.0f + expf(-gate)) * up;
      }
      return;
    case ElementwiseOp::kMapIds: {
      const int64_t t = token * kElementwiseThreads + Device::Thread();
      if (t >= job.num_tokens) return;
      const int32_t id = job.ids[t];
      const bool inside = id >= 0 && id < job.num_ids;
      if (!inside) Device::Flag(job.error, kEmbeddingIdError);
      job.mapped[t] = inside ? job.map[id] : -1;
      return;
    }
  }
}

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_ELEMENTWISE_KERNEL_H_
