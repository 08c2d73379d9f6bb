#include "kernels/cpu/activation.inc"
#include "kernels/cpu/attention.inc"
#include "kernels/cpu/avx512_dots.inc"
#include "kernels/cpu/block_kernels.h"
#include "kernels/cpu/delta_net.inc"
#include "kernels/cpu/elementwise.inc"
#include "kernels/cpu/formats.inc"
#include "kernels/cpu/head.inc"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/linear.inc"
#include "kernels/cpu/quant_linear.inc"
#include "kernels/cpu/sketch.inc"

namespace shortlist {

const KernelTable kAvx512Bf16Kernels = {
    .native_bf16 = true,
    .blocks = &kVnniBlocks,
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
    .causal_conv = CausalConv,
    .delta_rule = DeltaRule,
    .sketch = Sketch<VnniBytes<Int4Codes>>,
    .sketch_fine = SketchFineRows<VnniBytes<Int4Codes>>,
};

}  // namespace shortlist
