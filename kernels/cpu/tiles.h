#ifndef SHORTLIST_KERNELS_CPU_TILES_H_
#define SHORTLIST_KERNELS_CPU_TILES_H_

#include <cstdint>

// Matrix units, as the kernels of tile_*.inc use them. A `Tiles` has eight tiles of at most
// kMaxTileRows rows of kMaxTileBytes bytes, and adds the product of two tiles to a third. There are
// two implementations, with the same arithmetic bit for bit except for the payloads of NaNs:
// AmxTiles (amx_tiles.inc), the unit, and PlainTiles (plain_tiles.inc), loops that run anywhere.
//
//   Tiles(shapes)                    gives every tile a shape; all are zero
//   Zero<t>()
//   Load<t>(data, stride)            rows that lie `stride` bytes apart
//   LoadOnce<t>(data, stride)        same as Load, but keeps the data out of the first-level cache
//   Store<t>(data, stride)
//   MulAddBf16<sum, a, b>()          sum += a b. a: [rows][pairs][2] bf16, b: [pairs][columns][2]
//                                    bf16, sum: [rows][columns] f32
//   MulAddBytes<sum, a, b>()         sum += a b. a: [rows][steps][4] signed bytes, b:
//                                    [steps][columns][4] unsigned bytes, sum: [rows][columns] i32
//   MulAddSignedBytes<sum, a, b>()   same, with signed bytes in b
//
// Arithmetic of MulAddBf16, rounding to nearest even, with subnormal operands and results as zeros:
// the products of the pairs' first members are added by fused multiply-adds, starting from 0, in
// the order of the pairs. The products of their second members are added in the same way. Then the
// two sums are added, and their sum is added to `sum`.

namespace shortlist {

inline constexpr int kNumTiles = 8;
inline constexpr int64_t kMaxTileRows = 16;
inline constexpr int64_t kMaxTileBytes = 64;

/// A product takes three different tiles. The bytes in a row of its first factor are four times the
/// rows of its second factor.
struct TileShape {
  int64_t rows = kMaxTileRows;
  int64_t row_bytes = kMaxTileBytes;
};

struct TileShapes {
  TileShape of[kNumTiles];
};

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CPU_TILES_H_
