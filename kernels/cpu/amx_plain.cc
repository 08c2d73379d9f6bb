#include "kernels/cpu/block_kernels.h"
#include "kernels/cpu/plain_tiles.inc"
#include "kernels/cpu/tile_kernels.inc"

namespace shortlist {

const KernelTable kAmxPlainKernels = KernelsOverTiles<PlainTiles, MaddBytes>(&kAmxPlainBlocks);

}  // namespace shortlist
