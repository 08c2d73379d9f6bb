#include "kernels/cpu/kth_largest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

namespace shortlist {
namespace {

constexpr int kNumBins = 2048;

/// Compares eight at a time, which compilers vectorise.
std::pair<float, float> MinMax(std::span<const float> values) {
  constexpr size_t kLanes = 8;
  std::array<float, kLanes> least, most;
  least.fill(values[0]);
  most.fill(values[0]);
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float value = values[i + lane];
      least[lane] = value < least[lane] ? value : least[lane];
      most[lane] = value > most[lane] ? value : most[lane];
    }
  }
  for (; i < values.size(); ++i) {
    least[0] = std::min(least[0], values[i]);
    most[0] = std::max(most[0], values[i]);
  }
  return {*std::ranges::min_element(least), *std::ranges::max_element(most)};
}

float Select(std::vector<float>& values, int64_t k) {
  const auto at = values.begin() + (k - 1);
  std::nth_element(values.begin(), at, values.end(), std::greater<>());
  return *at;
}

}  // namespace

float KthLargest(std::span<const float> values, int64_t k) {
  constexpr int64_t kFew = 256;
  thread_local std::vector<float> chosen;
  const auto [least, most] = MinMax(values);
  const float bins_per_unit = static_cast<float>(kNumBins) / (most - least);
  if (std::ssize(values) <= kFew || !std::isfinite(bins_per_unit) || bins_per_unit == 0.0f) {
    chosen.assign(values.begin(), values.end());
    return Select(chosen, k);
  }
  // Monotonic in `value`.
  const auto bin_of = [&, low = least](float value) {
    return std::min(static_cast<int>((value - low) * bins_per_unit), kNumBins - 1);
  };
  std::array<int32_t, kNumBins> even{}, odd{};  // neighbouring values often share a bin
  size_t i = 0;
  for (; i + 1 < values.size(); i += 2) {
    ++even[bin_of(values[i])];
    ++odd[bin_of(values[i + 1])];
  }
  if (i < values.size()) ++even[bin_of(values[i])];
  int bin = kNumBins - 1;
  while (k > even[bin] + odd[bin]) {
    k -= even[bin] + odd[bin];
    --bin;
  }
  chosen.clear();
  for (const float value : values) {
    if (bin_of(value) == bin) chosen.push_back(value);
  }
  return Select(chosen, k);
}

}  // namespace shortlist
