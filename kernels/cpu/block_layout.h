#ifndef SHORTLIST_KERNELS_CPU_BLOCK_LAYOUT_H_
#define SHORTLIST_KERNELS_CPU_BLOCK_LAYOUT_H_

#include <algorithm>
#include <cstdint>

#include "base/weight_block.h"
#include "kernels/cpu/kernel_table.h"

namespace shortlist {

/// Groups of a head row that are interleaved.
inline constexpr int64_t kRowLanes = 16;

/// Bytes of the scales and mins of one lane and group; of a block's where there are scale codes.
inline int64_t GroupScaleBytes(const BlockType& type) {
  if (!type.has_scale_codes()) return type.has_mins ? 4 : 2;
  return type.num_scales + (type.has_mins ? 1 : 0);
}
inline int64_t BlockScaleBytes(const BlockType& type) {
  if (!type.has_scale_codes()) return 0;
  return type.has_mins ? 4 : 2;
}

/// Where a lane's parts of a group lie in a panel or a head row.
struct GroupPlace {
  int64_t words;        // offset of the lane's first word
  int64_t word_stride;  // from one word to the next
  int64_t scale;        // offset of its scale, or of the scale of its block
  int64_t min;          // likewise
  int64_t scale_codes;  // offset of the first scale code; the second lies scale_stride further
  int64_t scale_stride;
  int64_t min_code;
};

inline GroupPlace PlaceInPanel(const BlockType& type, int64_t group, int64_t lane) {
  const int64_t group_bytes = kPanelRows * (4 * type.code_bits + GroupScaleBytes(type));
  const int64_t block_scales = kPanelRows * BlockScaleBytes(type);
  const int64_t block_bytes = block_scales + type.num_groups() * group_bytes;
  const int64_t block = group / type.num_groups() * block_bytes;
  const int64_t at = block + block_scales + group % type.num_groups() * group_bytes;
  const int64_t after_words = at + kPanelRows * 4 * type.code_bits;
  const int64_t scales = type.has_scale_codes() ? block : after_words;
  return {
      .words = at + 4 * lane,
      .word_stride = 4 * kPanelRows,
      .scale = scales + 2 * lane,
      .min = scales + 2 * (kPanelRows + lane),
      .scale_codes = after_words + lane,
      .scale_stride = kPanelRows,
      .min_code = after_words + type.num_scales * kPanelRows + lane,
  };
}

inline GroupPlace PlaceInRow(const BlockType& type, int64_t num_groups, int64_t group) {
  const int64_t first = group / kRowLanes * kRowLanes;
  const int64_t lanes = std::min(kRowLanes, num_groups - first);
  const int64_t codes = num_groups * 4 * type.code_bits;
  const int64_t num_blocks = num_groups / type.num_groups();
  const int64_t code_scales = codes + num_groups * GroupScaleBytes(type);
  const bool has_codes = type.has_scale_codes();
  const int64_t scales = has_codes ? code_scales : codes;
  return {
      .words = first * 4 * type.code_bits + 4 * (group - first),
      .word_stride = 4 * lanes,
      .scale = scales + 2 * (group / type.num_groups()),
      .min = scales + 2 * (num_blocks + group / type.num_groups()),
      .scale_codes = codes + group,
      .scale_stride = num_groups,
      .min_code = codes + type.num_scales * num_groups + group,
  };
}

/// The code of column `column` of a group, from its words.
inline int BlockCodeAt(const uint8_t* words, int64_t word_stride, int code_bits, int64_t column) {
  const int64_t word = column / 4, byte = column % 4;
  const auto at = [&](int64_t w) { return words[w * word_stride + byte]; };
  if (code_bits == 8) return at(word);
  int code = word < 4 ? at(word) & 15 : at(word - 4) >> 4;
  if (code_bits == 5) code |= (at(4) >> word & 1) << 4;
  if (code_bits == 6) code |= (at(4 + word / 4) >> (2 * (word % 4)) & 3) << 4;
  return code;
}

/// An input row for weights in blocks. Lanes are groups of 32 columns:
///   codes [num_lanes / lanes][8 steps][lanes][4] i8
///   scales [num_lanes] f32, sums [num_lanes] f32: the scale times the sum of the group's codes
///   half_sums [2][num_lanes] i32: minus the sums of its first and its last 16 codes
/// `lanes` is 1 for panels (codes in the order of the columns) and kRowLanes for head rows, to a
/// multiple of which the groups are padded with zeros.
struct BlockInput {
  int8_t* codes;
  float* scales;
  float* sums;
  int32_t* half_sums;
  int64_t num_lanes;

  static int64_t NumLanes(int64_t width, int64_t lanes) {
    return (width / BlockType::kGroup + lanes - 1) / lanes * lanes;
  }
  /// A multiple of 64.
  static int64_t Bytes(int64_t width, int64_t lanes) {
    return (NumLanes(width, lanes) * (BlockType::kGroup + 16) + 63) / 64 * 64;
  }
  static BlockInput At(void* row, int64_t width, int64_t lanes) {
    const int64_t num_lanes = NumLanes(width, lanes);
    auto* const codes = static_cast<int8_t*>(row);
    auto* const scales = reinterpret_cast<float*>(codes + num_lanes * BlockType::kGroup);
    float* const sums = scales + num_lanes;
    return {codes, scales, sums, reinterpret_cast<int32_t*>(sums + num_lanes), num_lanes};
  }
  static BlockInput At(const void* row, int64_t width, int64_t lanes) {
    return At(const_cast<void*>(row), width, lanes);
  }

  /// Step 0 of a group; its steps lie 4 * lanes bytes apart.
  int8_t* group_steps(int64_t group, int64_t lanes) const {
    const int64_t place = group % lanes;
    return codes + (group - place) * BlockType::kGroup + place * 4;
  }
};

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CPU_BLOCK_LAYOUT_H_
