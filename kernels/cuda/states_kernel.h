#ifndef SHORTLIST_KERNELS_CUDA_STATES_KERNEL_H_
#define SHORTLIST_KERNELS_CUDA_STATES_KERNEL_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/cuda/head_plan.h"
#include "kernels/cuda/rows.h"
#include "kernels/host_device.h"

namespace shortlist {

struct StatesJob {
  RowLayout rows;
  const float* x = nullptr;  // [num_tokens, hidden]
  uint8_t* codes = nullptr;
  float* scales = nullptr;
  float* factors = nullptr;
};

/// Returns the power of two that scales `largest` to below 2^15 (f16's last exponent but one); 1
/// for zeros and if `largest` is not finite. Its inverse is a power of two as well.
SHORTLIST_HOST_DEVICE inline float F16StateScale(float largest) {
  if (!(largest > 0.0f) || !(largest < __builtin_inff())) return 1.0f;
  int exponent = static_cast<int>(std::bit_cast<uint32_t>(largest) >> 23) - 127;  // subnormal: -127
  exponent = exponent < -100 ? -100 : exponent;
  return std::bit_cast<float>(static_cast<uint32_t>(14 - exponent + 127) << 23);
}

/// A group whose largest magnitude is below this counts as zeros: kLeastInput of kernels/quant.h.
inline constexpr float kLeastStateGroup = 1e-30f;

/// Code and scale of one value of a group, quantised like inputs in kernels/quant.h.
SHORTLIST_HOST_DEVICE inline int8_t StateCode(float value, float largest) {
  if (!(largest >= kLeastStateGroup) || !(largest < __builtin_inff())) return 0;
  return static_cast<int8_t>(rintf(value * (127.0f / largest)));
}
SHORTLIST_HOST_DEVICE inline float StateScale(float largest) {
  if (!(largest < __builtin_inff())) return __builtin_nanf("");
  return largest >= kLeastStateGroup ? largest / 127.0f : 0.0f;
}

/// Returns the largest magnitude of a warp's values; a NaN is larger than every number.
template <class Device>
SHORTLIST_DEVICE float WarpLargest(float largest_of_lane) {
  return std::bit_cast<float>(
      Device::WarpMax(std::bit_cast<uint32_t>(largest_of_lane) & 0x7fffffffu));
}

/// Rounds one hidden state to 16 bits, or copies it. Runs on a block of kHeadThreads threads;
/// shared: kHeadWarps floats.
template <class Device>
SHORTLIST_DEVICE void RoundState(const StatesJob& job, int token, uint8_t* shared) {
  const float* x = job.x + token * job.rows.hidden;
  auto* to = reinterpret_cast<uint16_t*>(job.codes + token * job.rows.x_code_bytes);
  const int hidden = static_cast<int>(job.rows.hidden);
  if (job.rows.format == RowFormat::kF32) {
    auto* const copy = reinterpret_cast<float*>(to);
    for (int k = Device::Thread(); k < hidden; k += kHeadThreads) copy[k] = x[k];
    return;
  }
  if (job.rows.format == RowFormat::kBf16) {
    for (int k = Device::Thread(); k < hidden; k += kHeadThreads) to[k] = Device::Bf16Bits(x[k]);
    return;
  }
  uint32_t largest_bits = 0;
  for (int k = Device::Thread(); k < hidden; k += kHeadThreads) {
    const uint32_t bits = std::bit_cast<uint32_t>(x[k]) & 0x7fffffffu;
    if (bits > largest_bits) largest_bits = bits;
  }
  auto* largest_of_warps = reinterpret_cast<float*>(shared);
  const float of_warp = WarpLargest<Device>(std::bit_cast<float>(largest_bits));
  if (Device::Lane() == 0) largest_of_warps[Device::Warp()] = of_warp;
  Device::SyncBlock();
  uint32_t most = 0;
  for (int w = 0; w < kHeadWarps; ++w) {
    const uint32_t bits = std::bit_cast<uint32_t>(largest_of_warps[w]);
    if (bits > most) most = bits;
  }
  const float scale = F16StateScale(std::bit_cast<float>(most));
  for (int k = Device::Thread(); k < hidden; k += kHeadThreads) {
    const int64_t at = job.rows.format == RowFormat::kFp8 ? Fp8StateColumn(k) : k;
    to[at] = Device::F16Bits(x[k] * scale);
  }
  if (Device::Thread() == 0) job.factors[token] = 1.0f / scale;
}

/// Quantises one hidden state; each group is processed by a warp.
template <class Device>
SHORTLIST_DEVICE void QuantizeState(const StatesJob& job, int token) {
  const RowLayout& rows = job.rows;
  const float* x = job.x + token * rows.hidden;
  uint8_t* const codes = job.codes + token * rows.x_code_bytes;
  float* const scales = job.scales + token * rows.x_scale_bytes / 4;
  const int num_scales = static_cast<int>(rows.x_scale_bytes / 4);
  const int group_codes = rows.format == RowFormat::kInt4 ? kInt4GroupCodes : kInt8GroupCodes;
  // int4 units hold four groups; groups after the last are zeros, as are their scales.
  const int unit_groups = rows.format == RowFormat::kInt4 ? 4 : 1;
  const int num_groups = static_cast<int>(rows.num_units) * unit_groups;
  for (int g = Device::Warp(); g < num_scales; g += kHeadWarps) {
    float values[2] = {0.0f, 0.0f};
    uint32_t largest_bits = 0;
    SHORTLIST_DEVICE_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int64_t column = Device::Lane() + 32 * i;
      const int64_t k = g * rows.group_len + column;
      if (g < rows.num_groups && column < rows.group_len && k < rows.hidden) values[i] = x[k];
      const uint32_t bits = std::bit_cast<uint32_t>(values[i]) & 0x7fffffffu;
      if (bits > largest_bits) largest_bits = bits;
    }
    const float largest = WarpLargest<Device>(std::bit_cast<float>(largest_bits));
    SHORTLIST_DEVICE_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int64_t column = Device::Lane() + 32 * i;
      if (g >= num_groups || column >= group_codes) continue;
      codes[StateCodeByte(rows.format, g, column)] =
          static_cast<uint8_t>(StateCode(values[i], largest));
    }
    if (Device::Lane() == 0) scales[g] = StateScale(largest);
  }
}

/// Prepares hidden state Block(). Runs on a block of kHeadThreads threads; shared: kHeadWarps
/// floats.
template <class Device>
SHORTLIST_DEVICE void PrepareState(const StatesJob& job, uint8_t* shared) {
  if (job.rows.quantized()) {
    QuantizeState<Device>(job, Device::Block());
  } else {
    RoundState<Device>(job, Device::Block(), shared);
  }
}

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_STATES_KERNEL_H_
