#ifndef SHORTLIST_KERNELS_CUDA_HEAD_PLAN_H_
#define SHORTLIST_KERNELS_CUDA_HEAD_PLAN_H_

#include <cstdint>

#include "kernels/cuda/head_args.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/selection.h"

namespace shortlist {

inline constexpr int kHeadThreads = 128;
inline constexpr int kHeadWarps = kHeadThreads / 32;
inline constexpr int kSelectThreads = 512;
inline constexpr int kSelectWarps = kSelectThreads / 32;
inline constexpr int kPartRows = 4096;  // logits that one block selects from
inline constexpr int kTileRows = 16;    // rows of one tensor core tile
inline constexpr int kTileTokens = 8;   // tokens of one tensor core tile
inline constexpr int kMaxRowTiles = 4;
inline constexpr int kMaxTokenTiles = kHeadMaxTokens / kTileTokens;
inline constexpr int kProcessorBlocks = 2;  // blocks that a processor runs at a time

/// Returns the number of token tiles of the kernel for `num_tokens` tokens.
SHORTLIST_HOST_DEVICE constexpr int KernelTokenTiles(int64_t num_tokens) {
  return num_tokens <= kTileTokens ? 1 : num_tokens <= 2 * kTileTokens ? 2 : kMaxTokenTiles;
}
/// Pieces of the states in a lane's ring (RowTiles), for each token tile.
inline constexpr int kRingPieces = 4;
SHORTLIST_HOST_DEVICE constexpr int RingBytes(int token_tiles) {
  return kRingPieces * token_tiles * kHeadThreads * kPieceBytes;
}

/// Floats from one token to the next in the buffers in which the warps' sums are combined. Avoids
/// bank conflicts of both writes and reads.
inline constexpr int kMeetStride = kMaxRowTiles * kTileRows + 4;
inline constexpr int kMeetFloats = kHeadWarps * kTileTokens * kMeetStride;  // of one buffer
inline constexpr int kMeetBytes = 2 * kMeetFloats * 4;

/// How a head is cut into blocks and items.
///
/// An item is row_tiles * 16 rows of the shared set against all tokens, or of one token's tail
/// against that token. Block b takes items b, b + num_blocks, ... . The warps of a block share the
/// units of an item's rows (RowTiles), and combine their sums at the end of the item. Then the best
/// of a token's logits, shared rows followed by its tail, are selected in parts of kPartRows. No
/// cut depends on num_tokens, so logits and sums of exponentials have the same bits in any batch.
struct HeadPlan {
  int row_tiles = 0;  // 1, 2 or 4
  int num_blocks = 0;
  int shared_items = 0;  // items for row_capacity
  int tail_items = 0;    // items for tail_capacity, per token
  int num_parts = 0;
  // kMeetBytes, then the ring of the states; at most 99 KiB, which every device has.
  int shared_bytes = 0;

  // The workspace: logits [num_tokens, row_capacity + tail_capacity] f32 and, for several parts:
  int64_t part_keys_offset = 0;    // [num_tokens, num_parts, k] u64
  int64_t part_logits_offset = 0;  // [num_tokens, num_parts, k] f32
  int64_t part_sums_offset = 0;    // [num_tokens, num_parts] SumExp
  int64_t workspace_bytes = 0;

  SHORTLIST_HOST_DEVICE int item_rows() const { return row_tiles * kTileRows; }
};

// Return why a call is rejected, with the bound; null if the call is valid. They read no device
// memory.
const char* HeadArgsProblem(const CudaHeadArgs& args);
const char* HeadLogitsProblem(const CudaHeadArgs& args, const float* logits, int64_t stride);
const char* HeadTopKProblem(const CudaHeadArgs& args, int64_t k, const HeadNoise& noise,
                            const HeadTopKOutputs& out);
const char* HeadStatesProblem(RowFormat format, int64_t hidden, const float* x,
                              const HeadStates& states);

/// Returns the plan of a head without such a problem, for a device with `num_processors` streaming
/// multiprocessors. k = 0: logits, which need no workspace.
HeadPlan PlanHead(const CudaHeadArgs& args, int64_t k, int num_processors);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_HEAD_PLAN_H_
