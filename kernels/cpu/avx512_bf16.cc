#include "kernels/cpu/activation.inc"
#include "kernels/cpu/attention.inc"
#include "kernels/cpu/elementwise.inc"
#include "kernels/cpu/formats.inc"
#include "kernels/cpu/head.inc"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/linear.inc"
#include "kernels/cpu/quant_linear.inc"
#include "kernels/cpu/sketch.inc"

namespace shortlist {
namespace {

/// Pairs of bf16 products added to f32 lanes by one instruction.
struct NativeBf16Row {
  using Element = uint16_t;
  using Input = uint16_t;
  using Row = __m512bh;
  static constexpr int64_t kStep = 32;
  static Row Load(const uint16_t* p) { return (Row)_mm512_loadu_si512(p); }
  static Row LoadN(const uint16_t* p, int64_t n) {
    return (Row)_mm512_maskz_loadu_epi16(static_cast<__mmask32>((uint64_t{1} << n) - 1), p);
  }
  static Row LoadInput(const uint16_t* p) { return Load(p); }
  static Vec::F MulAdd(Row row, Row input, Vec::F sum) { return _mm512_dpbf16_ps(sum, row, input); }
};

struct NativeBf16Panel {
  using Element = uint16_t;
  using Input = uint16_t;
  using Weights = __m512bh;
  using Broadcast = __m512bh;
  static constexpr int64_t kInterleave = 2;
  static Weights Load(const uint16_t* p) { return (Weights)_mm512_loadu_si512(p); }
  static Broadcast LoadInput(const uint16_t* p) {
    int32_t pair;
    __builtin_memcpy(&pair, p, sizeof(pair));
    return (Broadcast)_mm512_set1_epi32(pair);
  }
  static Vec::F MulAdd(Weights w, Broadcast x, Vec::F sum) { return _mm512_dpbf16_ps(sum, w, x); }
};

/// Four byte products added to 32-bit lanes by one instruction.
template <typename Codes>
struct VnniBytes {
  using Weights = Vec::I;
  static constexpr bool kOfStored = true;
  static Weights OfWeights(Vec::I stored) { return stored; }
  static Vec::Dots MulAdd(Weights w, Vec::I x, Vec::Dots sum) {
    return (Vec::Dots)_mm512_dpbusd_epi32((Vec::I)sum, w, x);
  }
};

}  // namespace

const KernelTable kAvx512Bf16Kernels = {
    .native_bf16 = true,
    .to_f32 = ToF32,
    .from_f32 = FromF32,
    .quantize_input = QuantizeInput,
    .linear = Linear<NativeBf16Panel, VnniBytes>,
    .head = Head<NativeBf16Row, VnniBytes>,
    .attend = Attend<NativeBf16Row>,
    .exponentiate = Exponentiate,
    .max = Max,
    .sum_exp = SumExp,
    .rms_norm = RmsNorm,
    .layer_norm = LayerNormRow,
    .add = Add,
    .rope = Rope,
    .activate = Activate,
    .activate_mul = ActivateMul,
    .sketch = Sketch<VnniBytes<Int4Codes>>,
};

}  // namespace shortlist
