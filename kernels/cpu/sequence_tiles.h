#ifndef SHORTLIST_KERNELS_CPU_SEQUENCE_TILES_H_
#define SHORTLIST_KERNELS_CPU_SEQUENCE_TILES_H_

#include <cstdint>

#include "kernels/cpu/tiles.h"

namespace shortlist {

/// One head of one sequence, laid out for tiles (cpu/tile_sequence.inc). Each number is stored as
/// kPieces bf16 whose sum is within 2^-17 of it.
struct SequenceTiles {
  static constexpr int64_t kPieces = 2;
  static constexpr int64_t kBlock = 32;                    // positions in a block of keys or values
  static constexpr int64_t kStepDims = kMaxTileBytes / 2;  // dimensions of a tile

  int64_t length = 0;
  int64_t head_dim = 0;
  int64_t radius = -1;  // SequenceAttention::radius
  float scale = 1.0f;
  char* queries = nullptr;  // [blocks * kBlock rows, kPieces, steps] of kMaxTileBytes
  char* keys = nullptr;     // [blocks, steps, kPieces] of kBlock * kMaxTileBytes
  char* values = nullptr;   // same layout as keys
  float* out = nullptr;     // output of position 0
  int64_t out_stride = 0;   // from one position to the next

  int64_t NumBlocks() const { return (length + kBlock - 1) / kBlock; }
  int64_t NumSteps() const { return (head_dim + kStepDims - 1) / kStepDims; }
  int64_t QueryRowBytes() const { return kPieces * NumSteps() * kMaxTileBytes; }
  /// Bytes of queries, of keys or of values.
  int64_t Bytes() const { return NumBlocks() * kBlock * QueryRowBytes(); }
};

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CPU_SEQUENCE_TILES_H_
