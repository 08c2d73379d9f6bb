#include "kernels/cpu/avx512_dots.inc"
#include "kernels/cpu/block_head.inc"
#include "kernels/cpu/block_kernels.h"
#include "kernels/cpu/block_linear.inc"

namespace shortlist {

const BlockKernels kVnniBlocks = {
    .quantize_input = QuantizeBlockInput,
    .linear = BlockLinear<VnniBlockDot>,
    .head = BlockHead<VnniBlockDot>,
};

}  // namespace shortlist
