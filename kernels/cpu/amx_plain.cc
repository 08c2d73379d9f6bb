#include "kernels/cpu/plain_tiles.inc"
#include "kernels/cpu/tile_kernels.inc"

namespace shortlist {

const KernelTable kAmxPlainKernels = KernelsOverTiles<PlainTiles, MaddBytes>();

}  // namespace shortlist
