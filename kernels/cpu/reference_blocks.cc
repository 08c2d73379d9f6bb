// The kernels over weights in blocks as plain loops: the oracle of the tests, and the
// implementation for processors without AVX2.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/weight_block.h"
#include "kernels/blocks.h"
#include "kernels/cpu/block_kernels.h"
#include "kernels/cpu/block_layout.h"

namespace shortlist {
namespace {

constexpr int64_t kGroup = BlockType::kGroup;

void QuantizeBlockInput(const float* x, int64_t width, int64_t lanes, void* row) {
  const BlockInput input = BlockInput::At(row, width, lanes);
  std::memset(row, 0, static_cast<size_t>(BlockInput::Bytes(width, lanes)));
  for (int64_t g = 0; g < width / kGroup; ++g) {
    float largest = 0;
    for (int64_t k = g * kGroup; k < (g + 1) * kGroup; ++k) {
      if (!std::isfinite(x[k])) largest = std::numeric_limits<float>::quiet_NaN();
      if (std::abs(x[k]) > largest) largest = std::abs(x[k]);
    }
    if (std::isnan(largest)) input.scales[g] = input.sums[g] = largest;
    if (!(largest >= kLeastInput)) continue;
    const float inverse = 127.0f / largest;
    int8_t* const steps = input.group_steps(g, lanes);
    int32_t sums[2] = {0, 0};
    for (int64_t k = 0; k < kGroup; ++k) {
      const auto code = static_cast<int8_t>(std::nearbyint(x[g * kGroup + k] * inverse));
      steps[k / 4 * 4 * lanes + k % 4] = code;
      sums[k / 16] += code;
    }
    input.scales[g] = largest / 127.0f;
    input.sums[g] = input.scales[g] * static_cast<float>(sums[0] + sums[1]);
    for (int h = 0; h < 2; ++h) input.half_sums[h * input.num_lanes + g] = -sums[h];
  }
}

/// Adds a group's products to `sum`, in the order that all instruction sets have.
float AddGroup(const BlockType& type, const uint8_t* weights, const GroupPlace& place,
               const BlockInput& input, int64_t group, int64_t lanes, float sum) {
  const auto f16_at = [&](int64_t offset) {
    uint16_t bits;
    std::memcpy(&bits, weights + offset, sizeof(bits));
    return F16ToFloat(bits);
  };
  const int8_t* const x = input.group_steps(group, lanes);
  const int64_t scaled = kGroup / type.num_scales;
  for (int64_t h = 0; h < type.num_scales; ++h) {
    int32_t dot = 0;
    for (int64_t k = h * scaled; k < (h + 1) * scaled; ++k) {
      const int code = BlockCodeAt(weights + place.words, place.word_stride, type.code_bits, k);
      const int number = type.levels != nullptr ? type.levels[code] : code - type.zero;
      dot += number * x[k / 4 * 4 * lanes + k % 4];
    }
    float scale = f16_at(place.scale);
    if (type.has_scale_codes()) {
      scale *= static_cast<int8_t>(weights[place.scale_codes + h * place.scale_stride]);
    }
    sum = std::fma(static_cast<float>(dot), scale * input.scales[group], sum);
  }
  if (!type.has_mins) return sum;
  float min = f16_at(place.min);
  if (type.has_scale_codes()) min *= weights[place.min_code];
  return std::fma(min, input.sums[group], sum);
}

void BlockLinear(const LinearJob& job, int64_t panel_begin, int64_t panel_end) {
  const BlockType& type = BlockTypeOf(job.dtype);
  const int64_t num_groups = job.in_features / kGroup;
  const int64_t panel_bytes = BlockPanelBytes(job.dtype, job.in_features);
  const int64_t row_end = std::min(job.out_features, panel_end * kPanelRows);
  for (int64_t n = panel_begin * kPanelRows; n < row_end; ++n) {
    const auto* const panel =
        static_cast<const uint8_t*>(job.panels) + n / kPanelRows * panel_bytes;
    for (int64_t t = 0; t < job.x.num_tokens; ++t) {
      const char* const row = static_cast<const char*>(job.x.data) + t * job.x.row_bytes;
      const BlockInput input = BlockInput::At(row, job.in_features, /*lanes=*/1);
      float sum = 0;
      for (int64_t g = 0; g < num_groups; ++g) {
        sum = AddGroup(type, panel, PlaceInPanel(type, g, n % kPanelRows), input, g, 1, sum);
      }
      float& y = job.y[t * job.y_stride + n - job.y_begin];
      y = job.accumulate ? y + sum : sum;
    }
  }
}

void BlockHead(const CpuHeadJob& job) {
  const BlockType& type = BlockTypeOf(job.dtype);
  const int64_t num_groups = job.hidden / kGroup;
  for (int64_t t = 0; t < job.x.num_tokens; ++t) {
    const char* const x = static_cast<const char*>(job.x.data) + t * job.x.row_bytes;
    const BlockInput input = BlockInput::At(x, job.hidden, kRowLanes);
    for (int64_t r = 0; r < job.num_rows; ++r) {
      const auto* const row = static_cast<const uint8_t*>(job.rows[r]);
      float sum = 0;
      for (int64_t g = 0; g < num_groups; ++g) {
        sum = AddGroup(type, row, PlaceInRow(type, num_groups, g), input, g, kRowLanes, sum);
      }
      job.out[t * job.out_stride + r] = sum;
    }
  }
}

}  // namespace

const BlockKernels kReferenceBlocks = {
    .quantize_input = QuantizeBlockInput,
    .linear = BlockLinear,
    .head = BlockHead,
};

}  // namespace shortlist
