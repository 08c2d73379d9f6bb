#include "model/checkpoint/packed_weight.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/weight_block.h"

namespace shortlist {
namespace {

/// Entry `index` is the nibble of an AWQ word that holds output 8 k + index.
constexpr std::array<int, 8> kAwqNibbles = {0, 4, 1, 5, 2, 6, 3, 7};

int32_t Nibble(int32_t word, int64_t index) {
  return static_cast<int32_t>(static_cast<uint32_t>(word) >> (4 * index) & 15u);
}

/// Returns the nibble of output `output` in a row of words along the outputs.
int32_t CodeOfOutput(const int32_t* words, int64_t output, bool is_awq) {
  const int64_t index = output % kCodesPerWord;
  return Nibble(words[output / kCodesPerWord], is_awq ? kAwqNibbles[index] : index);
}

/// The scales and zeros of some outputs: [num_groups, count].
struct OutputGroups {
  OutputGroups(const PackedWeight& weight, int64_t first, int64_t count) {
    const bool is_awq = weight.packing.kind == WeightPacking::Kind::kAwq;
    const int64_t words_per_row = weight.out_features / kCodesPerWord;
    scales.reserve(static_cast<size_t>(weight.num_groups * count));
    zeros.reserve(static_cast<size_t>(weight.num_groups * count));
    for (int64_t g = 0; g < weight.num_groups; ++g) {
      for (int64_t output = first; output < first + count; ++output) {
        const int32_t stored =
            CodeOfOutput(weight.zeros.data() + g * words_per_row, output, is_awq);
        zeros.push_back(stored + weight.packing.zero_offset);
        scales.push_back(weight.scales[g * weight.out_features + output]);
      }
    }
  }

  std::vector<float> scales;
  std::vector<int32_t> zeros;
};

/// Calls use(input, row, code) for rows first .. first + count - 1.
template <typename Use>
void ForEachCode(const PackedWeight& weight, int64_t first, int64_t count, Use&& use) {
  const bool is_awq = weight.packing.kind == WeightPacking::Kind::kAwq;
  const int64_t words_per_row = weight.out_features / kCodesPerWord;
  for (int64_t i = 0; i < weight.in_features; ++i) {
    const int32_t* words = weight.words.data() +
                           (is_awq ? i * words_per_row : i / kCodesPerWord * weight.out_features);
    for (int64_t r = 0; r < count; ++r) {
      use(i, r,
          is_awq ? CodeOfOutput(words, first + r, /*is_awq=*/true)
                 : Nibble(words[first + r], i % kCodesPerWord));
    }
  }
}

}  // namespace

void UnpackRows(const PackedWeight& weight, int64_t first, int64_t count, float* out) {
  const OutputGroups groups(weight, first, count);
  ForEachCode(weight, first, count, [&](int64_t i, int64_t r, int32_t code) {
    const int64_t at = weight.group_of[i] * count + r;
    out[r * weight.in_features + i] =
        static_cast<float>(code - groups.zeros[at]) * groups.scales[at];
  });
}

std::optional<DType> BlocksOf(const PackedWeight& weight) {
  if (weight.in_features % BlockType::kGroup != 0) return std::nullopt;
  for (int64_t i = 0; i < weight.in_features; ++i) {
    if (weight.group_of[i] != weight.group_of[i - i % BlockType::kGroup]) return std::nullopt;
  }
  for (const float scale : weight.scales) {
    if (F16ToFloat(FloatToF16(scale)) != scale) return std::nullopt;
  }
  constexpr int32_t kMiddle = 8;
  const int32_t nibble = kMiddle - weight.packing.zero_offset;
  const auto middles = static_cast<int32_t>(0x11111111u * static_cast<uint32_t>(nibble));
  const bool is_symmetric = std::all_of(weight.zeros.begin(), weight.zeros.end(),
                                        [&](int32_t word) { return word == middles; });
  return is_symmetric ? DType::kQ40 : DType::kQ50;
}

void PackRowsInBlocks(const PackedWeight& weight, DType dtype, int64_t first, int64_t count,
                      uint8_t* blocks) {
  const BlockType& type = BlockTypeOf(dtype);
  const OutputGroups groups(weight, first, count);
  const int64_t num_blocks = weight.in_features / BlockType::kGroup;
  // Both types: the scale, for Q5_0 a bit of each code, then the codes' low bits.
  uint8_t* const low_bits = blocks + type.num_bytes - BlockType::kGroup / 2;
  std::memset(blocks, 0, static_cast<size_t>(count * num_blocks * type.num_bytes));
  ForEachCode(weight, first, count, [&](int64_t i, int64_t r, int32_t code) {
    const int64_t block = (r * num_blocks + i / BlockType::kGroup) * type.num_bytes;
    const int64_t in_block = i % BlockType::kGroup, half = BlockType::kGroup / 2;
    const int64_t at = weight.group_of[i] * count + r;
    if (in_block == 0) {
      const uint16_t scale = FloatToF16(groups.scales[at]);
      std::memcpy(blocks + block, &scale, sizeof(scale));
    }
    // Code - zero is at least -16 and at most 15.
    const int32_t block_code = code - groups.zeros[at] + type.zero;
    low_bits[block + in_block % half] |=
        static_cast<uint8_t>((block_code & 15) << (in_block < half ? 0 : 4));
    if (type.code_bits == 5) {
      blocks[block + 2 + in_block / 8] |= static_cast<uint8_t>((block_code >> 4) << (in_block % 8));
    }
  });
}

}  // namespace shortlist
