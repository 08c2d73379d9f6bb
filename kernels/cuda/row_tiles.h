#ifndef SHORTLIST_KERNELS_CUDA_ROW_TILES_H_
#define SHORTLIST_KERNELS_CUDA_ROW_TILES_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/cuda/head_job.h"
#include "kernels/host_device.h"

namespace shortlist {

/// What one lane reads of a row or a state at once.
struct alignas(16) Piece {
  uint32_t words[4];
};

SHORTLIST_HOST_DEVICE inline uint32_t Fp8PairToF16(uint32_t high_bytes) {
  // s eeee mmm becomes s 0eeee mmm0000000: the f16 2^8 times smaller, subnormals included.
  return (high_bytes >> 1 & 0x3f803f80u) | (high_bytes & 0x80008000u);
}

/// The operand words of step `step` of a row's piece: those of two instructions, each two words.
/// int4 codes come out 16 times as large, fp8 values 2^8 times as small.
template <RowFormat kFormat>
SHORTLIST_HOST_DEVICE inline Piece Expand(const Piece& raw, int step) {
  if constexpr (kFormat == RowFormat::kFp8) {
    const uint32_t first = step == 0 ? raw.words[0] : raw.words[2];
    const uint32_t second = step == 0 ? raw.words[1] : raw.words[3];
    return {{Fp8PairToF16(first << 8), Fp8PairToF16(first), Fp8PairToF16(second << 8),
             Fp8PairToF16(second)}};
  } else if constexpr (kFormat == RowFormat::kInt4) {
    const uint32_t first = step == 0 ? raw.words[0] : raw.words[2];
    const uint32_t second = step == 0 ? raw.words[1] : raw.words[3];
    return {{first << 4 & 0xf0f0f0f0u, first & 0xf0f0f0f0u, second << 4 & 0xf0f0f0f0u,
             second & 0xf0f0f0f0u}};
  } else {
    return raw;
  }
}

inline constexpr float kFp8Factor = 256.0f;      // undoes Expand
inline constexpr float kInt4Factor = 1.0f / 16;  // likewise

/// One warp's sums of an item: [row tile][token tile] tiles of 16 x 8 in the tensor cores' layout.
/// With g = lane / 4 and t = lane % 4, a lane holds rows g (values 0, 1) and g + 8 (2, 3) of tokens
/// 2 t and 2 t + 1.
///
/// A quad of lanes reads a unit of rows g and g + 8 and of token g. Which column goes to which
/// place of the instruction's K does not matter as long as rows and tokens agree, so every lane
/// reads 16 contiguous bytes and nothing is shuffled.
template <class Device, RowFormat kFormat, int kTokenTiles>
class RowTiles {
 public:
  static constexpr bool kQuantized = kFormat == RowFormat::kInt8 || kFormat == RowFormat::kInt4;
  static constexpr int kSteps = StatePieces(kFormat);

  SHORTLIST_DEVICE explicit RowTiles(const HeadJob& job, int num_token_tiles)
      : job_(job), num_token_tiles_(num_token_tiles) {
    const int lane = Device::Lane();
    row_ = lane / 4;
    piece_ = lane % 4;
    SHORTLIST_DEVICE_UNROLL
    for (int i = 0; i < kMaxRowTiles * kTokenTiles * 4; ++i) (&sums_[0][0][0])[i] = 0.0f;
  }

  /// Adds this warp's units of a chunk, which lies at `stage` in shared memory.
  SHORTLIST_DEVICE void AddChunk(const uint8_t* stage, int chunk) {
    const HeadPlan& plan = job_.plan;
    for (int u = Device::Warp(); u < plan.chunk_units; u += kHeadWarps) {
      const int unit = chunk * plan.chunk_units + u;
      const int64_t unit_begin = int64_t{unit} * kUnitBytes;
      if (unit_begin >= job_.rows.code_bytes) return;
      if constexpr (kFormat == RowFormat::kF32) {
        AddFloats(stage, u, unit_begin);
      } else {
        AddUnit(stage, chunk, u, unit_begin);
      }
    }
  }

  /// Puts the sums of token tile `tile` where the block's warps meet: meet[token][row].
  SHORTLIST_DEVICE void Store(int tile, float* meet) const {
    SHORTLIST_DEVICE_UNROLL
    for (int n = 0; n < kTokenTiles; ++n) {
      if (n != tile) continue;
      SHORTLIST_DEVICE_UNROLL
      for (int r = 0; r < kMaxRowTiles; ++r) {
        if (r >= job_.plan.row_tiles) break;
        float* at = meet + 2 * piece_ * kMeetStride + r * kTileRows + row_;
        at[0] = sums_[r][n][0];
        at[kMeetStride] = sums_[r][n][1];
        at[8] = sums_[r][n][2];
        at[kMeetStride + 8] = sums_[r][n][3];
      }
    }
  }

 private:
  SHORTLIST_DEVICE static Piece Read(const uint8_t* at, bool inside) {
    return inside ? *reinterpret_cast<const Piece*>(at) : Piece{{0, 0, 0, 0}};
  }

  SHORTLIST_DEVICE void AddUnit(const uint8_t* stage, int chunk, int u, int64_t unit_begin) {
    const HeadPlan& plan = job_.plan;
    // Beyond the row's end shared memory holds anything, NaNs too.
    const bool inside = unit_begin + piece_ * kPieceBytes < job_.rows.code_bytes;
    Piece raw[kMaxRowTiles][2];
    SHORTLIST_DEVICE_UNROLL
    for (int r = 0; r < kMaxRowTiles; ++r) {
      if (r >= plan.row_tiles) break;
      const uint8_t* at = stage + plan.row_codes.offset +
                          (r * kTileRows + row_) * plan.row_codes.stride + u * kUnitBytes +
                          piece_ * kPieceBytes;
      raw[r][0] = Read(at, inside);
      raw[r][1] = Read(at + 8 * plan.row_codes.stride, inside);
    }
    SHORTLIST_DEVICE_UNROLL
    for (int step = 0; step < kSteps; ++step) AddStep(stage, chunk, u, step, inside, raw);
  }

  /// Adds a unit of f32 rows: a lane reads the rows and tokens whose sums it holds, piece by piece.
  SHORTLIST_DEVICE void AddFloats(const uint8_t* stage, int u, int64_t unit_begin) {
    const HeadPlan& plan = job_.plan;
    for (int p = 0; p < kUnitBytes / kPieceBytes; ++p) {
      if (unit_begin + p * kPieceBytes >= job_.rows.code_bytes) return;
      const uint8_t* const at = stage + u * kUnitBytes + p * kPieceBytes;
      Piece rows[kMaxRowTiles][2];
      SHORTLIST_DEVICE_UNROLL
      for (int r = 0; r < kMaxRowTiles; ++r) {
        if (r >= plan.row_tiles) break;
        const uint8_t* const row =
            at + plan.row_codes.offset + (r * kTileRows + row_) * plan.row_codes.stride;
        rows[r][0] = Read(row, /*inside=*/true);
        rows[r][1] = Read(row + 8 * plan.row_codes.stride, /*inside=*/true);
      }
      SHORTLIST_DEVICE_UNROLL
      for (int n = 0; n < kTokenTiles; ++n) {
        if (n >= num_token_tiles_) break;
        SHORTLIST_DEVICE_UNROLL
        for (int j = 0; j < 2; ++j) {
          const int token = n * kTileTokens + 2 * piece_ + j;
          const Piece x =
              Read(at + plan.state_codes.offset + token * plan.state_codes.stride, true);
          SHORTLIST_DEVICE_UNROLL
          for (int r = 0; r < kMaxRowTiles; ++r) {
            if (r >= plan.row_tiles) break;
            sums_[r][n][j] = AddDot(rows[r][0], x, sums_[r][n][j]);
            sums_[r][n][2 + j] = AddDot(rows[r][1], x, sums_[r][n][2 + j]);
          }
        }
      }
    }
  }

  SHORTLIST_DEVICE static float AddDot(const Piece& a, const Piece& b, float sum) {
    SHORTLIST_DEVICE_UNROLL
    for (int w = 0; w < 4; ++w) {
      sum = fmaf(std::bit_cast<float>(a.words[w]), std::bit_cast<float>(b.words[w]), sum);
    }
    return sum;
  }

  SHORTLIST_DEVICE void AddStep(const uint8_t* stage, int chunk, int u, int step, bool inside,
                                const Piece (&raw)[kMaxRowTiles][2]) {
    const HeadPlan& plan = job_.plan;
    Piece a[kMaxRowTiles][2];
    SHORTLIST_DEVICE_UNROLL
    for (int r = 0; r < kMaxRowTiles; ++r) {
      if (r >= plan.row_tiles) break;
      a[r][0] = Expand<kFormat>(raw[r][0], step);
      a[r][1] = Expand<kFormat>(raw[r][1], step);
    }
    const uint8_t* states = stage + plan.state_codes.offset + row_ * plan.state_codes.stride +
                            (u * 4 + piece_) * kPieceBytes * kSteps + step * kPieceBytes;
    SHORTLIST_DEVICE_UNROLL
    for (int n = 0; n < kTokenTiles; ++n) {
      if (n >= num_token_tiles_) break;
      const Piece b = Read(states + n * kTileTokens * plan.state_codes.stride, inside);
      if constexpr (kFormat == RowFormat::kInt8) {
        AddGroup<2>(stage, chunk, u, n, /*group_in_unit=*/0, a, b, /*word=*/0);
      } else if constexpr (kFormat == RowFormat::kInt4) {
        AddGroup<1>(stage, chunk, u, n, 2 * step, a, b, /*word=*/0);
        AddGroup<1>(stage, chunk, u, n, 2 * step + 1, a, b, /*word=*/2);
      } else {
        SHORTLIST_DEVICE_UNROLL
        for (int r = 0; r < kMaxRowTiles; ++r) {
          if (r >= plan.row_tiles) break;
          MultiplyFloats(a[r], b, 0, sums_[r][n]);
          MultiplyFloats(a[r], b, 2, sums_[r][n]);
        }
      }
    }
  }

  SHORTLIST_DEVICE static void MultiplyFloats(const Piece (&a)[2], const Piece& b, int word,
                                              float (&sums)[4]) {
    if constexpr (kFormat == RowFormat::kBf16) {
      Device::MultiplyBf16(sums, a[0].words[word], a[1].words[word], a[0].words[word + 1],
                           a[1].words[word + 1], b.words[word], b.words[word + 1]);
    } else {
      Device::MultiplyF16(sums, a[0].words[word], a[1].words[word], a[0].words[word + 1],
                          a[1].words[word + 1], b.words[word], b.words[word + 1]);
    }
  }

  /// Adds one group: its products in integers, from kProducts instructions, then scaled.
  template <int kProducts>
  SHORTLIST_DEVICE void AddGroup(const uint8_t* stage, int chunk, int u, int n, int group_in_unit,
                                 const Piece (&a)[kMaxRowTiles][2], const Piece& b, int word) {
    const HeadPlan& plan = job_.plan;
    constexpr int kUnitGroups = kFormat == RowFormat::kInt4 ? 4 : 1;
    constexpr float kFactor = kFormat == RowFormat::kInt4 ? kInt4Factor : 1.0f;
    const int group = u * kUnitGroups + group_in_unit;  // in the chunk
    // The chunk's row scales start at a multiple of 16 bytes, maybe before its first.
    const int first_byte = chunk * plan.chunk_units * kUnitGroups * 2;
    const int row_scale_byte = first_byte % 16 + group * 2;
    const uint8_t* state_scales = stage + plan.state_scales.offset +
                                  (n * kTileTokens + 2 * piece_) * plan.state_scales.stride +
                                  group * 4;
    const float x0 = *reinterpret_cast<const float*>(state_scales);
    const float x1 = *reinterpret_cast<const float*>(state_scales + plan.state_scales.stride);
    SHORTLIST_DEVICE_UNROLL
    for (int r = 0; r < kMaxRowTiles; ++r) {
      if (r >= plan.row_tiles) break;
      int32_t dots[4] = {0, 0, 0, 0};
      SHORTLIST_DEVICE_UNROLL
      for (int p = 0; p < kProducts; ++p) {
        const int w = word + 2 * p;
        Device::MultiplyInt8(dots, a[r][0].words[w], a[r][1].words[w], a[r][0].words[w + 1],
                             a[r][1].words[w + 1], b.words[w], b.words[w + 1]);
      }
      const uint8_t* row_scales = stage + plan.row_scales.offset +
                                  (r * kTileRows + row_) * plan.row_scales.stride + row_scale_byte;
      const float w0 = ReadBf16(row_scales) * kFactor;
      const float w1 = ReadBf16(row_scales + 8 * plan.row_scales.stride) * kFactor;
      float(&sums)[4] = sums_[r][n];
      sums[0] = fmaf(static_cast<float>(dots[0]), w0 * x0, sums[0]);
      sums[1] = fmaf(static_cast<float>(dots[1]), w0 * x1, sums[1]);
      sums[2] = fmaf(static_cast<float>(dots[2]), w1 * x0, sums[2]);
      sums[3] = fmaf(static_cast<float>(dots[3]), w1 * x1, sums[3]);
    }
  }

  SHORTLIST_DEVICE static float ReadBf16(const uint8_t* at) {
    return std::bit_cast<float>(uint32_t{*reinterpret_cast<const uint16_t*>(at)} << 16);
  }

  const HeadJob& job_;
  const int num_token_tiles_;
  int row_;
  int piece_;
  float sums_[kMaxRowTiles][kTokenTiles][4];
};

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_ROW_TILES_H_
