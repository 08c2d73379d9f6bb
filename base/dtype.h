#ifndef SHORTLIST_BASE_DTYPE_H_
#define SHORTLIST_BASE_DTYPE_H_

#include <bit>
#include <cstdint>

#include "base/check.h"

namespace shortlist {

/// Storage type of weights and of cached keys and values. Activations are always f32. The quantised
/// types are only for weights: kInt8 and kInt4 are made at load (kernels/quant.h), the others are
/// stored in GGUF files (base/weight_block.h).
enum class DType : uint8_t {
  kF32,
  kF16,
  kBf16,
  kInt8,
  kInt4,
  kQ40,
  kQ41,
  kQ50,
  kQ51,
  kQ80,
  kQ4K,
  kQ5K,
  kQ6K,
  kIq4Nl,
};

constexpr bool IsQuantized(DType dtype) { return dtype >= DType::kInt8; }

/// True for the types of GGUF files.
constexpr bool IsBlocked(DType dtype) { return dtype >= DType::kQ40; }

/// Bytes of one element. Not for quantised types, whose elements are not whole bytes on their own
/// (see RowBytes in kernels/quant.h).
constexpr int64_t DTypeBytes(DType dtype) {
  SHORTLIST_CHECK(!IsQuantized(dtype));
  return dtype == DType::kF32 ? 4 : 2;
}

const char* DTypeName(DType dtype);

constexpr float Bf16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// Rounds to nearest, ties to even; NaN stays NaN (quiet).
constexpr uint16_t FloatToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float F16ToFloat(uint16_t bits);
/// Rounds to nearest, ties to even; overflow gives infinity.
uint16_t FloatToF16(float value);

/// Returns element `index` of an array of `dtype` as f32.
float LoadAsFloat(const void* data, DType dtype, int64_t index);
/// Stores `value`, rounded to `dtype`, as element `index`.
void StoreFromFloat(void* data, DType dtype, int64_t index, float value);

}  // namespace shortlist

#endif  // SHORTLIST_BASE_DTYPE_H_
