#ifndef SHORTLIST_KERNELS_CUDA_HEAD_PLAN_H_
#define SHORTLIST_KERNELS_CUDA_HEAD_PLAN_H_

#include <cstdint>

#include "kernels/cuda/head_args.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/selection.h"

namespace shortlist {

/// What a plan needs to know of a device.
struct HeadDevice {
  int num_processors = 0;  // streaming multiprocessors
  int shared_bytes = 0;    // most dynamic shared memory of a block
};

inline constexpr int kHeadThreads = 128;
inline constexpr int kHeadWarps = kHeadThreads / 32;
inline constexpr int kTileRows = 16;   // rows of one tensor core tile
inline constexpr int kTileTokens = 8;  // tokens of one
inline constexpr int kMaxRowTiles = 4;
inline constexpr int kMaxTokenTiles = kHeadMaxTokens / kTileTokens;
inline constexpr int kMaxStages = 8;
/// Floats from token to token of the buffer in which the warps' sums meet: keeps both its writes
/// and its reads free of bank conflicts.
inline constexpr int kMeetStride = kMaxRowTiles * kTileRows + 4;

/// One array of a pipeline stage in shared memory.
struct StagePart {
  int offset = 0;  // from the stage's begin
  int stride = 0;  // from row to row; a multiple of 16
};

/// How a head is cut into blocks, items, chunks and stages.
///
/// An item is row_tiles * 16 rows of the shared set against all tokens, or of one token's tail
/// against that token. Block b takes items b, b + num_blocks, ... . An item's rows come in chunks
/// of chunk_units units through a ring of num_stages stages; the warps of a block share out a
/// chunk's units, and their sums meet at the end of the item. row_tiles and num_blocks do not
/// depend on num_tokens, and chunks never change which warp adds up which unit, so that logits and
/// sums of exponentials have the same bits in any batch.
struct HeadPlan {
  int row_tiles = 0;
  int chunk_units = 0;  // a multiple of kHeadWarps
  int num_chunks = 0;
  int num_stages = 0;
  int num_blocks = 0;
  int shared_items = 0;  // that row_capacity needs
  int tail_items = 0;    // that tail_capacity needs, per token
  // Partial results of a token, in the workspace: one per block, then one per tail item.
  int num_parts = 0;

  StagePart row_codes, row_scales, state_codes, state_scales;
  int stage_bytes = 0;
  int meet_offset = 0;      // [kHeadWarps, kTileTokens, kMeetStride] f32
  int keys_offset = 0;      // [num_tokens, k] u64
  int logits_offset = 0;    // [num_tokens, k] f32
  int sums_offset = 0;      // [num_tokens] SumExp
  int barriers_offset = 0;  // [num_stages] u64
  int shared_bytes = 0;

  // The workspace.
  int64_t part_logits_offset = 0;  // [num_tokens, num_parts, k] f32, behind the keys
  int64_t part_sums_offset = 0;    // [num_tokens, num_parts] SumExp
  int64_t workspace_bytes = 0;

  SHORTLIST_HOST_DEVICE int item_rows() const { return row_tiles * kTileRows; }
};

// Why a call is refused, naming the bound; null when it is fine. They read no device memory.
const char* HeadArgsProblem(const CudaHeadArgs& args);
const char* HeadLogitsProblem(const CudaHeadArgs& args, const float* logits, int64_t stride);
const char* HeadTopKProblem(const CudaHeadArgs& args, int64_t k, const HeadNoise& noise,
                            const HeadTopKOutputs& out);
const char* HeadStatesProblem(RowFormat format, int64_t hidden, const float* x,
                              const HeadStates& states);

/// The plan of a head that has none of these problems. num_blocks = 0 when the device has too
/// little shared memory. k = 0: logits, which need no workspace.
HeadPlan PlanHead(const CudaHeadArgs& args, int64_t k, const HeadDevice& device);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_HEAD_PLAN_H_
