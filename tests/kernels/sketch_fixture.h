#ifndef SHORTLIST_TESTS_KERNELS_SKETCH_FIXTURE_H_
#define SHORTLIST_TESTS_KERNELS_SKETCH_FIXTURE_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/noise.h"
#include "kernels/sketch.h"
#include "tests/kernels/kernel_testing.h"

namespace shortlist {

/// A random sketch, and what its rows score by definition.
struct SketchFixture {
  /// Codes in [-largest, largest], at most 7.
  SketchFixture(std::mt19937& rng, int64_t rows, int64_t sketch_rank, int largest)
      : num_rows(rows), rank(sketch_rank), unpacked(rows * sketch_rank) {
    const int64_t padded = view().num_panels() * kSketchPanelRows;
    codes.assign(padded * rank / 2, 0xff);
    scales.assign(padded, 0x7f7f);  // the largest value, after the rows
    for (int64_t row = 0; row < num_rows; ++row) {
      for (int64_t k = 0; k < rank; ++k) {
        SetCode(row, k, static_cast<int8_t>(RandomInt(rng, -largest, largest)));
      }
      scales[row] = FloatToBf16(std::ldexp(static_cast<float>(RandomInt(rng, 0, 9)), -8));
    }
  }

  SketchRows view() const { return {codes.data(), scales.data(), num_rows, rank}; }

  void SetCode(int64_t row, int64_t k, int8_t code) {
    unpacked[row * rank + k] = code;
    const int64_t panel = row / kSketchPanelRows * kSketchPanelRows * rank / 2;
    uint8_t& byte = codes[panel + (k / 8 * kSketchPanelRows + row % kSketchPanelRows) * 4 + k % 4];
    const int stored = code + 8;
    byte = static_cast<uint8_t>(k % 8 < 4 ? (byte & 0xf0) | stored : (byte & 0x0f) | stored << 4);
  }

  /// scale * (codes . query as rounded), but for the query's own scale.
  float ScoreOfCodes(const float* query, int64_t row) const {
    float largest = 0;
    for (int64_t k = 0; k < rank; ++k) largest = std::max(largest, std::abs(query[k]));
    int64_t dot = 0;
    for (int64_t k = 0; k < rank && largest > 0; ++k) {
      dot += unpacked[row * rank + k] * std::lrint(query[k] * (127.0f / largest));
    }
    return static_cast<float>(dot) * Bf16ToFloat(scales[row]);
  }

  float Score(const float* query, int64_t row) const {
    float largest = 0;
    for (int64_t k = 0; k < rank; ++k) largest = std::max(largest, std::abs(query[k]));
    return ScoreOfCodes(query, row) * (largest / 127.0f);
  }

  /// The chosen rows, by a full sort.
  std::vector<int32_t> Best(const float* query, const SketchRace& race, int64_t count) const {
    float largest = 0;
    for (int64_t k = 0; k < rank; ++k) largest = std::max(largest, std::abs(query[k]));
    const uint64_t noise = NoiseKey(race.seed, race.position, /*stream=*/0);
    std::vector<float> keys;
    for (int64_t row = 0; row < num_rows; ++row) {
      float key = ScoreOfCodes(query, row);
      if (race.inverse_temperature > 0) {
        key *= largest / 127.0f * race.inverse_temperature * 1.44269504f;
        const uint32_t bits =
            Mix32(Mix32(static_cast<uint32_t>(row) + static_cast<uint32_t>(noise)) ^
                  static_cast<uint32_t>(noise >> 32));
        const float half = static_cast<float>(bits / 2) + 0.5f;
        key -= static_cast<float>(std::bit_cast<int32_t>(half)) / 8388608.0f;
      }
      keys.push_back(key);
    }
    std::vector<int32_t> order(num_rows);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return keys[a] > keys[b]; });
    order.resize(std::min(count, num_rows));
    std::ranges::sort(order);
    return order;
  }

  int64_t num_rows, rank;
  std::vector<int8_t> unpacked;  // [num_rows, rank]
  std::vector<uint8_t> codes;
  std::vector<uint16_t> scales;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_KERNELS_SKETCH_FIXTURE_H_
