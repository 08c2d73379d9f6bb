#include "kernels/cpu/activation.inc"
#include "kernels/cpu/attention.inc"
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

const KernelTable kAvx2Kernels = {
    .native_bf16 = false,
    .blocks = &kAvx2Blocks,
    .to_f32 = ToF32,
    .from_f32 = FromF32,
    .quantize_input = QuantizeInput,
    .linear = Linear<WidenedBf16Panel, MaddBytes>,
    .head = Head<RowDot<Bf16Format>, MaddBytes>,
    .attend = Attend<RowDot<Bf16Format>>,
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
    .sketch = Sketch<MaddBytes<Int4Codes>>,
    .sketch_fine = SketchFineRows<MaddBytes<Int4Codes>>,
};

}  // namespace shortlist
