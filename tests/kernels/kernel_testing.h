#ifndef SHORTLIST_TESTS_KERNELS_KERNEL_TESTING_H_
#define SHORTLIST_TESTS_KERNELS_KERNEL_TESTING_H_

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/dtype.h"
#include "kernels/isa.h"

namespace shortlist {

inline constexpr DType kAllDTypes[] = {DType::kF32, DType::kF16, DType::kBf16};

/// Every instruction set this machine runs, the scalar reference first.
inline std::vector<Isa> AvailableIsas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16}) {
    if (isa <= DetectIsa()) isas.push_back(isa);
  }
  return isas;
}

/// Runs the rest of a scope on one instruction set.
class ScopedIsa {
 public:
  explicit ScopedIsa(Isa isa) : before_(CurrentIsa()) { SetIsa(isa); }
  ~ScopedIsa() { SetIsa(before_); }

 private:
  const Isa before_;
};

inline std::vector<float> RandomFloats(std::mt19937& rng, int64_t count) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(rng);
  return values;
}

inline int64_t RandomInt(std::mt19937& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

/// Numbers as stored in a dtype: the bytes, and what they read back as.
struct Stored {
  Stored(const std::vector<float>& source, DType stored_dtype)
      : dtype(stored_dtype),
        bytes(source.size() * DTypeBytes(stored_dtype)),
        values(source.size()) {
    for (size_t i = 0; i < source.size(); ++i) {
      StoreFromFloat(bytes.data(), dtype, static_cast<int64_t>(i), source[i]);
      values[i] = LoadAsFloat(bytes.data(), dtype, static_cast<int64_t>(i));
    }
  }
  const void* data() const { return bytes.data(); }

  DType dtype;
  std::vector<char> bytes;
  std::vector<float> values;
};

/// An activation as the dot kernels round it against weights of `dtype`.
inline float RoundInput(float value, DType dtype) {
  return dtype == DType::kBf16 ? Bf16ToFloat(FloatToBf16(value)) : value;
}

/// A dot product in double precision, and how far an f32 sum of it may be off.
struct ExactDot {
  double value = 0;
  double tolerance = 0;
};

inline ExactDot DotOracle(const float* x, const float* w, int64_t count, DType dtype) {
  double sum = 0;
  double magnitude = 0;
  for (int64_t k = 0; k < count; ++k) {
    const double product = static_cast<double>(RoundInput(x[k], dtype)) * w[k];
    sum += product;
    magnitude += product < 0 ? -product : product;
  }
  constexpr double kEpsilon = 1.2e-7;
  return {sum, 8 * kEpsilon * magnitude + 1e-30};
}

/// Bit equality, so that -0 is not 0 and a NaN equals itself.
inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

inline std::string Describe(Isa isa, DType dtype) {
  return std::string(IsaName(isa)) + " " + DTypeName(dtype);
}

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_KERNELS_KERNEL_TESTING_H_
