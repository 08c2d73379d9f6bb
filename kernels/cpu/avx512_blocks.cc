#include "kernels/cpu/block_head.inc"
#include "kernels/cpu/block_kernels.h"
#include "kernels/cpu/block_linear.inc"

namespace shortlist {

const BlockKernels kAvx512Blocks = {
    .quantize_input = QuantizeBlockInput,
    .linear = BlockLinear<MaddBlockDot>,
    .head = BlockHead<MaddBlockDot>,
};

}  // namespace shortlist
