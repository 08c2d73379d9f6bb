#ifndef SHORTLIST_KERNELS_CUDA_TOP_K_H_
#define SHORTLIST_KERNELS_CUDA_TOP_K_H_

#include <bit>
#include <cstdint>

#include "kernels/cuda/selection.h"
#include "kernels/host_device.h"

namespace shortlist {

/// A warp's sorted list of its best candidates: lane i holds the candidate of rank i.
struct BestOfLane {
  uint64_t key = 0;  // CandidateKey; 0: none
  float logit = -kFloatInfinity;
};

/// One step of a bitonic network: the lane keeps the better or the worse of its own candidate and
/// that of the lane `distance` away.
template <class Device>
SHORTLIST_DEVICE void CompareExchange(int distance, bool keep_better, BestOfLane& own) {
  const uint64_t other_key = Device::ShuffleXor(own.key, distance);
  const float other_logit = Device::ShuffleXor(own.logit, distance);
  const bool take = keep_better ? other_key > own.key : other_key < own.key;
  own.key = take ? other_key : own.key;
  own.logit = take ? other_logit : own.logit;
}

/// Sorts the warp's candidates, best first.
template <class Device>
SHORTLIST_DEVICE void SortCandidates(BestOfLane& own) {
  const int lane = Device::Lane();
  SHORTLIST_DEVICE_LOOP
  for (int size = 2; size <= 32; size *= 2) {
    SHORTLIST_DEVICE_LOOP
    for (int distance = size / 2; distance > 0; distance /= 2) {
      const bool best_first = (lane & size) == 0;
      CompareExchange<Device>(distance, ((lane & distance) == 0) == best_first, own);
    }
  }
}

/// Stores in `best` the best 32 of two sorted lists.
template <class Device>
SHORTLIST_DEVICE void MergeSorted(const BestOfLane& other, BestOfLane& best) {
  const int lane = Device::Lane();
  const uint64_t key = Device::Shuffle(other.key, 31 - lane);
  const float logit = Device::Shuffle(other.logit, 31 - lane);
  if (key > best.key) best = {key, logit};
  SHORTLIST_DEVICE_LOOP
  for (int distance = 16; distance > 0; distance /= 2) {
    CompareExchange<Device>(distance, (lane & distance) == 0, best);
  }
}

/// Inserts each lane's candidate (key 0: none) into the list if it is among the k best. Inserts one
/// by one, which is efficient if few are.
template <class Device>
SHORTLIST_DEVICE void InsertCandidates(int k, const BestOfLane& own, BestOfLane& best) {
  const int lane = Device::Lane();
  uint32_t better = Device::Ballot(own.key > Device::Shuffle(best.key, k - 1));
  SHORTLIST_DEVICE_LOOP
  for (; better != 0; better &= better - 1) {
    const int owner = Device::FirstLane(better);
    const uint64_t top = Device::Shuffle(own.key, owner);
    const float top_logit = Device::Shuffle(own.logit, owner);
    const uint64_t above_key = Device::ShuffleUp(best.key, 1);
    const float above_logit = Device::ShuffleUp(best.logit, 1);
    // Selections instead of branches: the lanes stay together for the next operation of the warp.
    const bool below = best.key < top;
    const bool first_below = below && (lane == 0 || above_key >= top);
    best.key = first_below ? top : below ? above_key : best.key;
    best.logit = first_below ? top_logit : below ? above_logit : best.logit;
  }
}

/// Returns the k best of the lanes' kValues candidates each, sorted. Most of the k best are the
/// best of their lane: these are sorted, and few of the rest are inserted.
template <class Device, int kValues>
SHORTLIST_DEVICE BestOfLane BestOf(int k, BestOfLane (&candidates)[kValues]) {
  BestOfLane best;
  int which = 0;
  SHORTLIST_DEVICE_UNROLL
  for (int i = 0; i < kValues; ++i) {
    if (candidates[i].key <= best.key) continue;
    best = candidates[i];
    which = i;
  }
  SortCandidates<Device>(best);
  SHORTLIST_DEVICE_UNROLL
  for (int i = 0; i < kValues; ++i) {
    if (i == which) candidates[i].key = 0;
    InsertCandidates<Device>(k, candidates[i], best);
  }
  return best;
}

/// Returns the sum of exponentials of the lanes' values, which contain no NaN, to every lane.
template <class Device, int kValues>
SHORTLIST_DEVICE SumExp WarpSumExp(const float (&values)[kValues]) {
  float most = values[0];
  SHORTLIST_DEVICE_UNROLL
  for (int i = 1; i < kValues; ++i) most = values[i] > most ? values[i] : most;
  const float max = OrderedValue(Device::WarpMax(OrderedBits(most)));
  if (max == -kFloatInfinity) return {};
  if (max == kFloatInfinity) return {kFloatInfinity, 1};
  float sum = 0;
  SHORTLIST_DEVICE_UNROLL
  for (int i = 0; i < kValues; ++i) sum += expf(values[i] - max);
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += Device::ShuffleXor(sum, distance);
  }
  return {max, sum};
}

/// Returns the sum of the lanes' sums, added in one order, to every lane.
template <class Device>
SHORTLIST_DEVICE SumExp SumOfLanes(SumExp sum) {
  SHORTLIST_DEVICE_LOOP
  for (int distance = 16; distance > 0; distance /= 2) {
    const SumExp other{Device::ShuffleXor(sum.max, distance),
                       Device::ShuffleXor(sum.sum, distance)};
    sum = (Device::Lane() & distance) == 0 ? AddSumExp(sum, other) : AddSumExp(other, sum);
  }
  return sum;
}

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_TOP_K_H_
