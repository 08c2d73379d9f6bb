#ifndef SHORTLIST_KERNELS_CUDA_TOP_K_H_
#define SHORTLIST_KERNELS_CUDA_TOP_K_H_

#include <cstdint>

#include "kernels/cuda/selection.h"
#include "kernels/host_device.h"

namespace shortlist {

/// A warp's list of its best candidates, sorted: lane i holds the one of rank i.
struct BestOfLane {
  uint64_t key = 0;  // CandidateKey; 0: none
  float logit = -kFloatInfinity;
};

/// The largest of the warp's values.
template <class Device>
SHORTLIST_DEVICE uint64_t WarpMax64(uint64_t value) {
  const uint32_t high = static_cast<uint32_t>(value >> 32);
  const uint32_t most = Device::WarpMax(high);
  const uint32_t low = Device::WarpMax(high == most ? static_cast<uint32_t>(value) : 0u);
  return uint64_t{most} << 32 | low;
}

/// Puts each lane's candidate (key 0: none) into the list where it is among the k best. Most
/// batches of candidates end after one comparison with the worst of these.
template <class Device>
SHORTLIST_DEVICE void InsertCandidates(int k, uint64_t key, float logit, BestOfLane& best) {
  const int lane = Device::Lane();
  while (true) {
    const uint64_t top = WarpMax64<Device>(key);
    if (top <= Device::Shuffle(best.key, k - 1)) return;
    const int owner = Device::FirstLane(Device::Ballot(key == top));
    const float top_logit = Device::Shuffle(logit, owner);
    if (lane == owner) key = 0;
    const uint64_t above_key = Device::ShuffleUp(best.key, 1);
    const float above_logit = Device::ShuffleUp(best.logit, 1);
    // Selections, no branch: the lanes stay together for the next operation of the warp.
    const bool below = best.key < top;
    const bool first_below = below && (lane == 0 || above_key >= top);
    best.key = first_below ? top : below ? above_key : best.key;
    best.logit = first_below ? top_logit : below ? above_logit : best.logit;
  }
}

/// The sum of exponentials of the lanes' two values each, no NaNs, in every lane.
template <class Device>
SHORTLIST_DEVICE SumExp WarpSumExp(float a, float b) {
  const uint32_t a_bits = OrderedBits(a), b_bits = OrderedBits(b);
  const float max = OrderedValue(Device::WarpMax(a_bits > b_bits ? a_bits : b_bits));
  if (max == -kFloatInfinity) return {};
  if (max == kFloatInfinity) return {kFloatInfinity, 1};
  float sum = expf(a - max) + expf(b - max);
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += Device::ShuffleXor(sum, distance);
  }
  return {max, sum};
}

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_TOP_K_H_
