#include "kernels/cpu/amx_tiles.inc"
#include "kernels/cpu/avx512_dots.inc"
#include "kernels/cpu/block_head.inc"
#include "kernels/cpu/block_kernels.h"
#include "kernels/cpu/tile_block_linear.inc"

namespace shortlist {

const BlockKernels kAmxBlocks = {
    .quantize_input = QuantizeBlockInput,
    .linear = BlockLinearOverTiles<AmxTiles, VnniBlockDot>,
    .head = BlockHead<VnniBlockDot>,
};

}  // namespace shortlist
