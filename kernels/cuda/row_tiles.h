#ifndef SHORTLIST_KERNELS_CUDA_ROW_TILES_H_
#define SHORTLIST_KERNELS_CUDA_ROW_TILES_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/head_job.h"
#include "kernels/host_device.h"

namespace shortlist {

/// The part of a row or a state that a lane reads at once.
struct alignas(16) Piece {
  uint32_t words[4];
};

SHORTLIST_HOST_DEVICE inline uint32_t Fp8PairToF16(uint32_t high_bytes) {
  // s eeee mmm becomes s 0eeee mmm0000000: the f16 that is 2^8 times smaller, including subnormals.
  return (high_bytes >> 1 & 0x3f803f80u) | (high_bytes & 0x80008000u);
}

/// Returns the operand words of a row's piece for piece `which` of the state: those of two
/// instructions, each two words. int4 codes are returned 16 times as large, fp8 values 2^8 times as
/// small.
template <RowFormat kFormat>
SHORTLIST_HOST_DEVICE inline Piece Expand(const Piece& raw, int which) {
  if constexpr (kFormat == RowFormat::kFp8) {
    const uint32_t first = which == 0 ? raw.words[0] : raw.words[2];
    const uint32_t second = which == 0 ? raw.words[1] : raw.words[3];
    return {{Fp8PairToF16(first << 8), Fp8PairToF16(first), Fp8PairToF16(second << 8),
             Fp8PairToF16(second)}};
  } else if constexpr (kFormat == RowFormat::kInt4) {
    const uint32_t first = which == 0 ? raw.words[0] : raw.words[2];
    const uint32_t second = which == 0 ? raw.words[1] : raw.words[3];
    return {{first << 4 & 0xf0f0f0f0u, first & 0xf0f0f0f0u, second << 4 & 0xf0f0f0f0u,
             second & 0xf0f0f0f0u}};
  } else {
    return raw;
  }
}

inline constexpr float kFp8Factor = 256.0f;      // undoes the scaling of Expand
inline constexpr float kInt4Factor = 1.0f / 16;  // undoes the scaling of Expand

/// One warp's sums of an item, in tiles of 16 x 8, the layout of the tensor cores. With g = lane /
/// 4 and t = lane % 4, a lane holds places g (values 0, 1) and g + 8 (2, 3) of the side of 16, and
/// places 2 t and 2 t + 1 of the side of 8. With one token tile, rows are the side of 16, so that
/// no place of the other side is empty. With more token tiles, float rows are the side of 8: the
/// words that a lane loads of a row are an operand without changes. (Quantised rows stay the side
/// of 16: a lane reads the scales of the rows whose sums it holds.)
///
/// Rows go from memory directly to the registers that the tensor cores read. Warp w adds up units
/// w, w + kHeadWarps, ...: no other warp needs what it loads, and no warp waits for another before
/// the item's end. A load is 8 pieces per lane, and kLoads loads are in flight at a time. The
/// hidden states, which all items read, come through the cache into a ring in shared memory. Each
/// lane copies what it will read itself, so no lane waits for others there either.
///
/// A quad of lanes reads a unit of rows g and g + 8 and of token g. The assignment of columns to
/// places of the instruction's K is arbitrary as long as rows and tokens agree. So every lane reads
/// 16 contiguous bytes and nothing is shuffled. (f32 rows do not use tensor cores: a lane reads the
/// rows and tokens whose sums it holds, piece by piece.)
template <class Device, RowFormat kFormat, int kRowTiles, int kTokenTiles>
class RowTiles {
 public:
  static_assert(kMaxRowTiles % kRowTiles == 0);

  /// `ring`: the block's ring, of RingBytes(kTokenTiles).
  SHORTLIST_DEVICE RowTiles(const HeadJob& job, const HeadItem& item, uint8_t* ring)
      : job_(job),
        ring_(ring + (Device::Warp() * kRingWarpPieces + Device::Lane()) * kPieceBytes),
        first_token_(item.token >= 0 ? item.token : 0),
        num_tokens_(item.token >= 0 ? 1 : static_cast<int>(job.args.x.num_tokens)),
        row_(Device::Lane() / 4),
        piece_(Device::Lane() % 4) {
    SHORTLIST_DEVICE_UNROLL
    for (int i = 0; i + 1 < kRingSteps; ++i) CopyStates(i);
    SHORTLIST_DEVICE_UNROLL
    for (int i = 0; i < kSumRowTiles * kSumTokenTiles * 4; ++i) (&sums_[0][0][0])[i] = 0.0f;
    const auto row_pieces = static_cast<uint32_t>(job.rows.row_bytes / kPieceBytes);
    SHORTLIST_DEVICE_UNROLL
    for (int i = 0; i < 2 * kRowTiles; ++i) {
      const int row = row_ + 8 * i;
      const int id = row < item.num_rows ? RowIdAt(job, item, row) : -1;
      if (id < 0 && row < item.num_rows) Device::Flag(job.args.error, kHeadRowIdError);
      // Sums of missing rows are never read.
      rows_[i] = static_cast<uint32_t>(id < 0 ? 0 : id) * row_pieces;
    }
  }

  SHORTLIST_DEVICE int num_token_tiles() const {
    return (num_tokens_ + kTileTokens - 1) / kTileTokens;
  }

  /// Adds up all of this warp's units.
  SHORTLIST_DEVICE void AddRows() {
    Load loads[kLoads];
    SHORTLIST_DEVICE_UNROLL
    for (int i = 0; i < kLoads; ++i) Start(i * kLoadSteps, loads[i]);
    const int num_steps = NumSteps();
    for (int step = 0; step < num_steps; step += kLoads * kLoadSteps) {
      SHORTLIST_DEVICE_UNROLL
      for (int i = 0; i < kLoads; ++i) {
        const int first = step + i * kLoadSteps;
        Add(first, loads[i]);
        Start(first + kLoads * kLoadSteps, loads[i]);
      }
    }
    Device::template WaitCopies<0>();
  }

  /// Stores the sums of token tile `tile` in the block's buffer: meet[token][row].
  SHORTLIST_DEVICE void Store(int tile, float* meet) const {
    SHORTLIST_DEVICE_UNROLL
    for (int n = 0; n < kTokenTiles; ++n) {
      if (n != tile) continue;
      SHORTLIST_DEVICE_UNROLL
      for (int r = 0; r < kSumRowTiles; ++r) {
        if constexpr (kRowsAreColumns) {
          float* at = meet + row_ * kMeetStride + r * 8 + 2 * piece_;
          at[0] = sums_[r][n / 2][n % 2 * 2];
          at[1] = sums_[r][n / 2][n % 2 * 2 + 1];
        } else {
          float* at = meet + 2 * piece_ * kMeetStride + r * kTileRows + row_;
          at[0] = sums_[r][n][0];
          at[kMeetStride] = sums_[r][n][1];
          at[8] = sums_[r][n][2];
          at[kMeetStride + 8] = sums_[r][n][3];
        }
      }
    }
  }

 private:
  static constexpr bool kTensors =
      kFormat == RowFormat::kBf16 || kFormat == RowFormat::kF16 || kFormat == RowFormat::kFp8;
  static constexpr bool kRowsAreColumns = kTensors && kTokenTiles > 1;  // the side of 8
  static constexpr int kSumRowTiles = kRowsAreColumns ? 2 * kRowTiles : kRowTiles;
  static constexpr int kSumTokenTiles = kRowsAreColumns ? kTokenTiles / 2 : kTokenTiles;
  // A step is a unit; for f32 rows, a piece of a unit.
  static constexpr bool kQuad = kFormat != RowFormat::kF32;  // the lanes of a quad share a step
  static constexpr int kUnitSteps = kQuad ? 1 : kUnitBytes / kPieceBytes;
  static constexpr int kLoadSteps = kMaxRowTiles / kRowTiles;
  static constexpr bool kQuantized = kFormat == RowFormat::kInt8 || kFormat == RowFormat::kInt4;
  // As many as the registers have room for.
  static constexpr int kLoads = kTokenTiles > 2 ? 2 : kQuantized ? 3 : 4;
  static constexpr int kStepGroups = kFormat == RowFormat::kInt4 ? 4 : 1;
  static constexpr int kPieceGroups = kFormat == RowFormat::kInt4 ? 2 : 1;
  struct alignas(4 * kPieceGroups) StateScales {
    float of_group[kPieceGroups];
  };
  using StepScales = std::conditional_t<kStepGroups == 4, uint64_t, uint16_t>;  // bf16 bits
  // Per lane, step and token tile: the state's pieces for one piece of a row, or (f32) of two
  // tokens.
  static constexpr int kStatePieces = kQuad ? StatePieces(kFormat) : 2;
  static constexpr int kRingSteps = kRingPieces / kStatePieces;
  static constexpr int kRingWarpPieces = kRingPieces * kTokenTiles * 32;

  struct Load {
    Piece rows[kLoadSteps][2 * kRowTiles];
    StepScales scales[kLoadSteps][2 * kRowTiles];  // of quantised rows
  };

  /// Number of steps of this warp; the last may extend past the end of the rows.
  SHORTLIST_DEVICE int NumSteps() const {
    const int num_units = static_cast<int>(job_.rows.num_units);
    return (num_units - Device::Warp() + kHeadWarps - 1) / kHeadWarps * kUnitSteps;
  }
  SHORTLIST_DEVICE static int UnitOf(int step) {
    return Device::Warp() + step / kUnitSteps * kHeadWarps;
  }
  /// Returns the offset in a row of this lane's piece of a step.
  SHORTLIST_DEVICE int ByteOf(int step) const {
    const int piece = kQuad ? piece_ : step % kUnitSteps;
    return UnitOf(step) * kUnitBytes + piece * kPieceBytes;
  }
  SHORTLIST_DEVICE bool Inside(int step) const { return ByteOf(step) < job_.rows.code_bytes; }

  SHORTLIST_DEVICE const uint8_t* Weight() const {
    return static_cast<const uint8_t*>(job_.args.weight);
  }
  SHORTLIST_DEVICE uint64_t RowOffset(int i) const { return uint64_t{rows_[i]} * kPieceBytes; }

  SHORTLIST_DEVICE void Start(int first_step, Load& load) const {
    SHORTLIST_DEVICE_UNROLL
    for (int s = 0; s < kLoadSteps; ++s) {
      const bool inside = Inside(first_step + s);
      const uint8_t* const at = Weight() + ByteOf(first_step + s);
      SHORTLIST_DEVICE_UNROLL
      for (int i = 0; i < 2 * kRowTiles; ++i) {
        load.rows[s][i] = Piece{{0, 0, 0, 0}};
        if (inside) Device::LoadOnce16(at + RowOffset(i), load.rows[s][i].words);
      }
      if constexpr (kQuantized) {
        if (!inside) continue;
        const uint8_t* const scales = Weight() + job_.rows.code_bytes +
                                      UnitOf(first_step + s) * static_cast<int>(sizeof(StepScales));
        SHORTLIST_DEVICE_UNROLL
        for (int i = 0; i < 2 * kRowTiles; ++i) {
          load.scales[s][i] = *reinterpret_cast<const StepScales*>(scales + RowOffset(i));
        }
      }
    }
  }

  SHORTLIST_DEVICE void Add(int first_step, const Load& load) {
    SHORTLIST_DEVICE_UNROLL
    for (int s = 0; s < kLoadSteps; ++s) {
      const int step = first_step + s;
      if (UnitOf(step) >= job_.rows.num_units) return;  // the whole warp
      Device::template WaitCopies<kRingSteps - 2>();
      CopyStates(step + kRingSteps - 1);  // replaces the previous step
      if constexpr (kFormat == RowFormat::kF32) {
        if (Inside(step)) AddFloats(step, load.rows[s]);
      } else if constexpr (kQuantized) {
        AddGroups(step, load.rows[s], load.scales[s]);
      } else {
        AddTensors(step, load.rows[s]);
      }
    }
  }

  /// Returns the token at place `place` of a tile, or the last token.
  SHORTLIST_DEVICE int TokenAt(int tile, int place) const {
    const int token = tile * kTileTokens + place;
    return first_token_ + (token < num_tokens_ ? token : num_tokens_ - 1);
  }
  SHORTLIST_DEVICE Piece* StatePiece(int tile, int step, int which) const {
    const int place = (step % kRingSteps * kTokenTiles + tile) * kStatePieces + which;
    return reinterpret_cast<Piece*>(ring_ + place * 32 * kPieceBytes);
  }
  SHORTLIST_DEVICE void CopyStates(int step) const {
    const bool inside = Inside(step);
    const auto* const codes = static_cast<const uint8_t*>(job_.args.x.codes);
    const int state_bytes = static_cast<int>(job_.rows.x_code_bytes);
    SHORTLIST_DEVICE_UNROLL
    for (int n = 0; n < kTokenTiles; ++n) {
      if (n * kTileTokens >= num_tokens_) break;
      SHORTLIST_DEVICE_UNROLL
      for (int which = 0; which < kStatePieces; ++which) {
        const int token = TokenAt(n, kQuad ? row_ : 2 * piece_ + which);
        const int byte = kQuad ? ByteOf(step) * kStatePieces + which * kPieceBytes : ByteOf(step);
        const uint8_t* const from = codes + (token * state_bytes + byte);
        Device::CopyAsync16(StatePiece(n, step, which), from, inside);
      }
    }
    Device::CommitCopies();
  }

  SHORTLIST_DEVICE void AddFloats(int step, const Piece (&rows)[2 * kRowTiles]) {
    SHORTLIST_DEVICE_UNROLL
    for (int n = 0; n < kTokenTiles; ++n) {
      if (n * kTileTokens >= num_tokens_) break;
      SHORTLIST_DEVICE_UNROLL
      for (int j = 0; j < 2; ++j) {
        const Piece x = *StatePiece(n, step, j);
        SHORTLIST_DEVICE_UNROLL
        for (int r = 0; r < kRowTiles; ++r) {
          sums_[r][n][j] = AddDot(rows[2 * r], x, sums_[r][n][j]);
          sums_[r][n][2 + j] = AddDot(rows[2 * r + 1], x, sums_[r][n][2 + j]);
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

  /// The operands of rows g, g + 8, ... for one piece of the state.
  struct Operands {
    Piece pieces[2 * kRowTiles];
  };
  SHORTLIST_DEVICE static Operands Expanded(const Piece (&raw)[2 * kRowTiles], int which) {
    Operands a;
    SHORTLIST_DEVICE_UNROLL
    for (int i = 0; i < 2 * kRowTiles; ++i) a.pieces[i] = Expand<kFormat>(raw[i], which);
    return a;
  }

  SHORTLIST_DEVICE void AddTensors(int step, const Piece (&raw)[2 * kRowTiles]) {
    SHORTLIST_DEVICE_UNROLL
    for (int which = 0; which < kStatePieces; ++which) {
      const Operands rows = Expanded(raw, which);
      if constexpr (kRowsAreColumns) {
        SHORTLIST_DEVICE_UNROLL
        for (int m = 0; m < kSumTokenTiles; ++m) {
          if (2 * m * kTileTokens >= num_tokens_) break;
          const Piece low = *StatePiece(2 * m, step, which);
          Piece high{{0, 0, 0, 0}};
          if ((2 * m + 1) * kTileTokens < num_tokens_) high = *StatePiece(2 * m + 1, step, which);
          SHORTLIST_DEVICE_UNROLL
          for (int word = 0; word < 4; word += 2) {
            SHORTLIST_DEVICE_UNROLL
            for (int r = 0; r < kSumRowTiles; ++r) {
              MultiplyFloats(low, high, rows.pieces[r], word, sums_[r][m]);
            }
          }
        }
      } else {
        const Piece states = *StatePiece(0, step, which);
        SHORTLIST_DEVICE_UNROLL
        for (int word = 0; word < 4; word += 2) {
          SHORTLIST_DEVICE_UNROLL
          for (int r = 0; r < kSumRowTiles; ++r) {
            MultiplyFloats(rows.pieces[2 * r], rows.pieces[2 * r + 1], states, word, sums_[r][0]);
          }
        }
      }
    }
  }

  /// low, high: places g and g + 8 of the side of 16.
  SHORTLIST_DEVICE static void MultiplyFloats(const Piece& low, const Piece& high, const Piece& b,
                                              int word, float (&sums)[4]) {
    if constexpr (kFormat == RowFormat::kBf16) {
      Device::MultiplyBf16(sums, low.words[word], high.words[word], low.words[word + 1],
                           high.words[word + 1], b.words[word], b.words[word + 1]);
    } else {
      Device::MultiplyF16(sums, low.words[word], high.words[word], low.words[word + 1],
                          high.words[word + 1], b.words[word], b.words[word + 1]);
    }
  }

  /// Adds a unit of quantised rows, one group at a time: sums a group's products in integers, then
  /// scales the sum.
  SHORTLIST_DEVICE void AddGroups(int step, const Piece (&raw)[2 * kRowTiles],
                                  const StepScales (&scales)[2 * kRowTiles]) {
    SHORTLIST_DEVICE_UNROLL
    for (int which = 0; which < kStatePieces; ++which) {
      const Operands a = Expanded(raw, which);
      SHORTLIST_DEVICE_UNROLL
      for (int n = 0; n < kTokenTiles; ++n) {
        if (n * kTileTokens >= num_tokens_) break;
        const Piece b = *StatePiece(n, step, which);
        const int group = UnitOf(step) * kStepGroups + which * kPieceGroups;
        const StateScales x0 = ScalesOfState(TokenAt(n, 2 * piece_), group);
        const StateScales x1 = ScalesOfState(TokenAt(n, 2 * piece_ + 1), group);
        SHORTLIST_DEVICE_UNROLL
        for (int g = 0; g < kPieceGroups; ++g) {
          if (group + g >= job_.rows.num_groups) break;  // the whole warp
          AddGroup(n, which * kPieceGroups + g, x0.of_group[g], x1.of_group[g], scales, a, b,
                   2 * g);
        }
      }
    }
  }

  /// Adds group `which` of a unit; x0, x1: the scales of its columns in the lane's two states.
  SHORTLIST_DEVICE void AddGroup(int n, int which, float x0, float x1,
                                 const StepScales (&scales)[2 * kRowTiles], const Operands& a,
                                 const Piece& b, int word) {
    constexpr int kProducts = kFormat == RowFormat::kInt4 ? 1 : 2;  // instructions
    constexpr float kFactor = kFormat == RowFormat::kInt4 ? kInt4Factor : 1.0f;
    SHORTLIST_DEVICE_UNROLL
    for (int r = 0; r < kRowTiles; ++r) {
      const Piece& low = a.pieces[2 * r];
      const Piece& high = a.pieces[2 * r + 1];
      int32_t dots[4] = {0, 0, 0, 0};
      SHORTLIST_DEVICE_UNROLL
      for (int p = 0; p < kProducts; ++p) {
        const int w = word + 2 * p;
        Device::MultiplyInt8(dots, low.words[w], high.words[w], low.words[w + 1], high.words[w + 1],
                             b.words[w], b.words[w + 1]);
      }
      const float w0 = ScaleOf(scales[2 * r], which) * kFactor;
      const float w1 = ScaleOf(scales[2 * r + 1], which) * kFactor;
      float(&sums)[4] = sums_[r][n];
      sums[0] = fmaf(static_cast<float>(dots[0]), w0 * x0, sums[0]);
      sums[1] = fmaf(static_cast<float>(dots[1]), w0 * x1, sums[1]);
      sums[2] = fmaf(static_cast<float>(dots[2]), w1 * x0, sums[2]);
      sums[3] = fmaf(static_cast<float>(dots[3]), w1 * x1, sums[3]);
    }
  }

  /// Loads the scales of the groups of one piece. They lie next to each other; of groups after the
  /// last they are zeros.
  SHORTLIST_DEVICE StateScales ScalesOfState(int token, int group) const {
    return *reinterpret_cast<const StateScales*>(job_.args.x.scales +
                                                 token * (job_.rows.x_scale_bytes / 4) + group);
  }
  SHORTLIST_DEVICE static float ScaleOf(StepScales scales, int which) {
    const auto bits = static_cast<uint16_t>(scales >> (16 * which));
    return std::bit_cast<float>(uint32_t{bits} << 16);
  }

  const HeadJob& job_;
  uint8_t* const ring_;  // this lane's first piece
  const int first_token_;
  const int num_tokens_;
  const int row_;                 // g
  const int piece_;               // t
  uint32_t rows_[2 * kRowTiles];  // offsets of rows g, g + 8, ..., in pieces
  float sums_[kSumRowTiles][kSumTokenTiles][4];
};

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_ROW_TILES_H_
