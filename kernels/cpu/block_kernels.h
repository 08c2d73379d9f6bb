#ifndef SHORTLIST_KERNELS_CPU_BLOCK_KERNELS_H_
#define SHORTLIST_KERNELS_CPU_BLOCK_KERNELS_H_

#include <cstdint>

#include "kernels/cpu/kernel_table.h"

namespace shortlist {

/// The kernels over weights in blocks (kernels/blocks.h), of one instruction set. The contracts are
/// those of the functions of KernelTable with the same names.
struct BlockKernels {
  /// Writes x, [width], as a BlockInput of `lanes` lanes (cpu/block_layout.h).
  void (*quantize_input)(const float* x, int64_t width, int64_t lanes, void* row);
  void (*linear)(const LinearJob& job, int64_t panel_begin, int64_t panel_end);
  void (*head)(const CpuHeadJob& job);
};

extern const BlockKernels kReferenceBlocks;
#if defined(SHORTLIST_X86_KERNELS)
extern const BlockKernels kAvx2Blocks;
extern const BlockKernels kAvx512Blocks;
extern const BlockKernels kVnniBlocks;
extern const BlockKernels kAmxBlocks;
extern const BlockKernels kAmxPlainBlocks;
#endif

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CPU_BLOCK_KERNELS_H_
