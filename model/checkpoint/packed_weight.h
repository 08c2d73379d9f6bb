#ifndef SHORTLIST_MODEL_CHECKPOINT_PACKED_WEIGHT_H_
#define SHORTLIST_MODEL_CHECKPOINT_PACKED_WEIGHT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/dtype.h"

namespace shortlist {

/// How a checkpoint packs the weights of its linear layers, 4 bits each:
///   w[o, i] = scale[g, o] * (code[o, i] - zero[g, o]),   g the group of input i
///
/// GPTQ (AutoGPTQ's format): qweight [in / 8, out] holds the codes of inputs 8 k .. 8 k + 7 in
/// ascending nibbles. qzeros [groups, out / 8] holds outputs 8 k .. 8 k + 7 in ascending nibbles;
/// zero is the nibble + zero_offset. g_idx [in], if present, is the group of each input
/// (act-order).
/// AWQ (its "gemm" version): qweight [in, out / 8] and qzeros [groups, out / 8] hold outputs
/// 8 k + 0, 2, 4, 6, 1, 3, 5, 7 in ascending nibbles. Scales are [groups, out] in both formats.
struct WeightPacking {
  enum class Kind : uint8_t { kNone, kGptq, kAwq };
  Kind kind = Kind::kNone;
  int64_t group_size = 0;   // consecutive inputs of a group; 0: all inputs
  bool act_order = false;   // kGptq: only g_idx assigns inputs to groups
  int32_t zero_offset = 0;  // kGptq: 1, or 0 in its second format
};

inline constexpr int64_t kCodesPerWord = 8;  // 4-bit codes in an int32

/// The packed weight of one linear layer. in_features and out_features are multiples of 8.
struct PackedWeight {
  WeightPacking packing;
  int64_t in_features = 0;
  int64_t out_features = 0;
  int64_t num_groups = 0;
  std::vector<int32_t> words;     // qweight
  std::vector<int32_t> zeros;     // qzeros
  std::vector<float> scales;      // [num_groups, out_features]
  std::vector<int32_t> group_of;  // [in_features], each in [0, num_groups)
};

/// Outputs are unpacked in blocks of this size, which share the cache lines of the words.
inline constexpr int64_t kUnpackBlock = 16;

/// Writes rows first .. first + count - 1 of w, exact in f32: out is [count, in_features]. `first`
/// is a multiple of kUnpackBlock, and count <= kUnpackBlock.
void UnpackRows(const PackedWeight& weight, int64_t first, int64_t count, float* out);

/// Returns the type of blocks (base/weight_block.h) that hold the same weights: Q4_0 if every zero
/// is 8, else Q5_0, with codes code - zero + 16. nullopt if a block would have inputs of several
/// groups, or if f16 cannot represent a scale. `words` are not read.
std::optional<DType> BlocksOf(const PackedWeight& weight);

/// Writes rows first .. first + count - 1 in blocks of `dtype`, which BlocksOf returned. `first`
/// and `count` are as for UnpackRows.
void PackRowsInBlocks(const PackedWeight& weight, DType dtype, int64_t first, int64_t count,
                      uint8_t* blocks);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_PACKED_WEIGHT_H_
