#include "kernels/cpu/amx_tiles.inc"
#include "kernels/cpu/avx512_dots.inc"
#include "kernels/cpu/block_kernels.h"
#include "kernels/cpu/tile_kernels.inc"

namespace shortlist {

const KernelTable kAmxKernels = KernelsOverTiles<AmxTiles, VnniBytes>(&kAmxBlocks);

}  // namespace shortlist
