#include "kernels/cpu/block_head.inc"
#include "kernels/cpu/block_kernels.h"
#include "kernels/cpu/plain_tiles.inc"
#include "kernels/cpu/tile_block_linear.inc"

namespace shortlist {

const BlockKernels kAmxPlainBlocks = {
    .quantize_input = QuantizeBlockInput,
    .linear = BlockLinearOverTiles<PlainTiles, MaddBlockDot>,
    .head = BlockHead<MaddBlockDot>,
};

}  // namespace shortlist
