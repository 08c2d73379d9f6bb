#ifndef SHORTLIST_KERNELS_CUDA_HEAD_PLAN_H_
#define SHORTLIST_KERNELS_CUDA_HEAD_PLAN_H_

#include <cstdint>

#include "kernels/cuda/head_args.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/selection.h"

namespace shortlist {

inline constexpr int kHeadThreads = 128;
inline constexpr int kHeadWarps = kHeadThreads / 32;
inline constexpr int kMergeThreads = 512;
inline constexpr int kMergeWarps = kMergeThreads / 32;
inline constexpr int kTileRows = 16;   // rows of one tensor core tile
inline constexpr int kTileTokens = 8;  // tokens of one
inline constexpr int kMaxRowTiles = 4;
inline constexpr int kMaxTokenTiles = kHeadMaxTokens / kTileTokens;
inline constexpr int kProcessorBlocks = 4;  // that a processor runs at a time, of few tokens

/// Token tiles of the kernel for that many tokens.
SHORTLIST_HOST_DEVICE constexpr int KernelTokenTiles(int64_t num_tokens) {
  return num_tokens <= kTileTokens ? 1 : num_tokens <= 2 * kTileTokens ? 2 : kMaxTokenTiles;
}
/// Pieces of the states that a lane has in its ring (RowTiles), for each token tile.
inline constexpr int kRingPieces = 4;
SHORTLIST_HOST_DEVICE constexpr int RingBytes(int token_tiles) {
  return kRingPieces * token_tiles * kHeadThreads * kPieceBytes;
}

/// Floats from token to token of the buffer in which the warps' sums meet: keeps both its writes
/// and its reads free of bank conflicts.
inline constexpr int kMeetStride = kMaxRowTiles * kTileRows + 4;

/// How a head is cut into blocks and items.
///
/// An item is row_tiles * 16 rows of the shared set against all tokens, or of one token's tail
/// against that token. Block b takes items b, b + num_blocks, ... . The warps of a block share out
/// the units of an item's rows (RowTiles), and their sums meet at its end. row_tiles and num_blocks
/// do not depend on num_tokens, so that logits and sums of exponentials have the same bits in any
/// batch.
struct HeadPlan {
  int row_tiles = 0;  // 1, 2 or 4
  int num_blocks = 0;
  int shared_items = 0;  // that row_capacity needs
  int tail_items = 0;    // that tail_capacity needs, per token
  // Partial results of a token, in the workspace: one per block, then one per tail item.
  int num_parts = 0;

  // Shared memory; [kHeadWarps, kTileTokens, kMeetStride] f32 come first.
  int keys_offset = 0;    // [num_tokens, k] u64
  int logits_offset = 0;  // [num_tokens, k] f32
  int sums_offset = 0;    // [num_tokens] SumExp
  int ring_offset = 0;    // of RingBytes
  int shared_bytes = 0;   // at most 99 KiB, which every device has

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

/// The plan of a head that has none of these problems, for a device of that many streaming
/// multiprocessors. k = 0: logits, which need no workspace.
HeadPlan PlanHead(const CudaHeadArgs& args, int64_t k, int num_processors);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_HEAD_PLAN_H_
