#include "model/checkpoint/packed_weight.h"

#include <array>
#include <cstddef>

namespace shortlist {
namespace {

constexpr int64_t kCodesPerWord = 8;
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

}  // namespace

void UnpackRows(const PackedWeight& weight, int64_t first, int64_t count, float* out) {
  const bool is_awq = weight.packing.kind == WeightPacking::Kind::kAwq;
  const int64_t words_per_row = weight.out_features / kCodesPerWord;
  // Scales and zeros of these outputs, group by group.
  std::vector<float> scales(static_cast<size_t>(weight.num_groups * count));
  std::vector<int32_t> zeros(scales.size());
  for (int64_t g = 0; g < weight.num_groups; ++g) {
    for (int64_t r = 0; r < count; ++r) {
      const int32_t stored =
          CodeOfOutput(weight.zeros.data() + g * words_per_row, first + r, is_awq);
      zeros[g * count + r] = stored + weight.packing.zero_offset;
      scales[g * count + r] = weight.scales[g * weight.out_features + first + r];
    }
  }
  for (int64_t i = 0; i < weight.in_features; ++i) {
    const int64_t group = weight.group_of[i] * count;
    const int32_t* words = weight.words.data() +
                           (is_awq ? i * words_per_row : i / kCodesPerWord * weight.out_features);
    for (int64_t r = 0; r < count; ++r) {
      const int32_t code = is_awq ? CodeOfOutput(words, first + r, /*is_awq=*/true)
                                  : Nibble(words[first + r], i % kCodesPerWord);
      out[r * weight.in_features + i] =
          static_cast<float>(code - zeros[group + r]) * scales[group + r];
    }
  }
}

}  // namespace shortlist
