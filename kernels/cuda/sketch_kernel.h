#ifndef SHORTLIST_KERNELS_CUDA_SKETCH_KERNEL_H_
#define SHORTLIST_KERNELS_CUDA_SKETCH_KERNEL_H_

#include <bit>
#include <cstdint>

#include "kernels/cuda/selection.h"
#include "kernels/cuda/sketch_args.h"
#include "kernels/host_device.h"
#include "kernels/sketch_query.h"

namespace shortlist {

inline constexpr int kSketchWarps = kSketchThreads / 32;
static_assert(kSketchThreads == 256, "a thread for each value of a digit");

/// Shared memory for one choice.
struct SketchShared {
  uint32_t num_of_digit[256];
  uint32_t above_of_warp[kSketchWarps], ties_of_warp[kSketchWarps];
  uint32_t digit, num_left;  // results of a pass
};

struct SketchChunkShared {
  SketchShared choice;
  SketchQuery query;
  uint32_t keys[kSketchChunkRows];
};

struct CudaSketchJob {
  CudaSketchArgs args;
  int64_t num_candidates = 0;
  uint32_t* candidate_keys = nullptr;  // [num_tokens, num_candidates]
  int32_t* candidate_ids = nullptr;    // [num_tokens, num_candidates], ascending
};

/// Calls keep(place, i) for the `num_chosen` largest keys of key(0) .. key(count - 1), in ascending
/// order of i. Ties go to the lower i. All threads of a block take part.
///
/// A radix select: four passes find the smallest kept key, digit by digit.
template <class Device, typename KeyOf, typename Keep>
SHORTLIST_DEVICE void KeepLargest(int64_t count, int64_t num_chosen, SketchShared* shared,
                                  const KeyOf& key, const Keep& keep) {
  const int thread = Device::Thread();
  uint32_t prefix = 0;
  auto num_left = static_cast<uint32_t>(num_chosen);  // among the keys with this prefix
  for (int shift = 24; shift >= 0; shift -= 8) {
    shared->num_of_digit[thread] = 0;
    Device::SyncBlock();
    for (int64_t i = thread; i < count; i += kSketchThreads) {
      const uint32_t value = key(i);
      if (shift == 24 || (value ^ prefix) >> (shift + 8) == 0) {
        Device::AddShared(&shared->num_of_digit[value >> shift & 0xff]);
      }
    }
    Device::SyncBlock();
    uint32_t num_above = 0;
    for (int digit = thread + 1; digit < 256; ++digit) num_above += shared->num_of_digit[digit];
    if (num_above < num_left && num_left <= num_above + shared->num_of_digit[thread]) {
      shared->digit = static_cast<uint32_t>(thread);
      shared->num_left = num_left - num_above;
    }
    Device::SyncBlock();
    prefix |= shared->digit << shift;
    num_left = shared->num_left;
  }

  // `prefix` is the smallest kept key; of the keys equal to it, the first num_left are kept.
  int64_t num_kept = 0;
  uint32_t num_ties = 0;
  const uint32_t lanes_before = (1u << Device::Lane()) - 1u;
  for (int64_t first = 0; first < count; first += kSketchThreads) {
    const int64_t i = first + thread;
    const uint32_t value = i < count ? key(i) : 0;
    const bool is_above = i < count && value > prefix, is_tie = i < count && value == prefix;
    const uint32_t above = Device::Ballot(is_above), ties = Device::Ballot(is_tie);
    if (Device::Lane() == 0) {
      shared->above_of_warp[Device::Warp()] = static_cast<uint32_t>(std::popcount(above));
      shared->ties_of_warp[Device::Warp()] = static_cast<uint32_t>(std::popcount(ties));
    }
    Device::SyncBlock();
    uint32_t above_before = 0, ties_before = num_ties, above_here = 0, ties_here = 0;
    for (int w = 0; w < kSketchWarps; ++w) {
      if (w < Device::Warp()) {
        above_before += shared->above_of_warp[w];
        ties_before += shared->ties_of_warp[w];
      }
      above_here += shared->above_of_warp[w];
      ties_here += shared->ties_of_warp[w];
    }
    above_before += static_cast<uint32_t>(std::popcount(above & lanes_before));
    ties_before += static_cast<uint32_t>(std::popcount(ties & lanes_before));
    const auto kept = [&](uint32_t ties_so_far) {
      return ties_so_far < num_left ? ties_so_far : num_left;
    };
    if (is_above || (is_tie && ties_before < num_left)) {
      keep(num_kept + above_before + kept(ties_before) - kept(num_ties), i);
    }
    num_kept += above_here + kept(num_ties + ties_here) - kept(num_ties);
    num_ties += ties_here;
    Device::SyncBlock();  // before the counts of warps are written again
  }
}

/// Returns the key of a row, as an integer of the same order.
template <class Device>
SHORTLIST_DEVICE uint32_t SketchKey(const SketchRows& rows, const SketchQuery& query, int64_t row) {
  const uint8_t* const panel =
      rows.codes + row / kSketchPanelRows * kSketchPanelRows * rows.rank / 2;
  const auto* words = reinterpret_cast<const uint32_t*>(panel) + row % kSketchPanelRows;
  const auto* of_query = reinterpret_cast<const uint32_t*>(query.codes);
  int32_t dot = query.offset;
  for (int64_t step = 0; step < rows.rank / kSketchStep; ++step) {
    const uint32_t word = words[step * kSketchPanelRows];
    dot = Device::DotBytes(word & 0x0f0f0f0fu, of_query[2 * step], dot);
    dot = Device::DotBytes(word >> 4 & 0x0f0f0f0fu, of_query[2 * step + 1], dot);
  }
  const float scale = std::bit_cast<float>(uint32_t{rows.scales[row]} << 16);
  float key = static_cast<float>(dot) * scale * query.factor;
  if (query.races) key += SketchNoise(query.noise_key, static_cast<int32_t>(row));
  return OrderedBits(key);
}

/// Block b keeps the best rows of chunk b, token by token, so that the chunk's codes come from
/// memory once.
template <class Device>
SHORTLIST_DEVICE void ChooseInChunk(const CudaSketchJob& job, SketchChunkShared* shared) {
  const CudaSketchArgs& args = job.args;
  const int64_t first = int64_t{Device::Block()} * kSketchChunkRows;
  const int64_t left = args.rows.num_rows - first;
  const int64_t num_rows = left < kSketchChunkRows ? left : kSketchChunkRows;
  const int64_t most = args.num_chosen < kSketchChunkRows ? args.num_chosen : kSketchChunkRows;
  for (int64_t m = 0; m < args.num_tokens; ++m) {
    if (Device::Thread() == 0) {
      shared->query.Set(args.query + m * args.rows.rank, args.rows.rank,
                        args.races != nullptr ? args.races[m] : SketchRace());
    }
    Device::SyncBlock();
    for (int64_t i = Device::Thread(); i < num_rows; i += kSketchThreads) {
      shared->keys[i] = SketchKey<Device>(args.rows, shared->query, first + i);
    }
    Device::SyncBlock();
    const int64_t to = m * job.num_candidates + Device::Block() * most;
    const auto key = [&](int64_t i) { return shared->keys[i]; };
    const auto keep = [&](int64_t place, int64_t i) {
      job.candidate_keys[to + place] = shared->keys[i];
      job.candidate_ids[to + place] = static_cast<int32_t>(first + i);
    };
    KeepLargest<Device>(num_rows, most < num_rows ? most : num_rows, &shared->choice, key, keep);
  }
}

/// Block m chooses among the candidates of token m.
template <class Device>
SHORTLIST_DEVICE void ChooseOfToken(const CudaSketchJob& job, SketchShared* shared) {
  const int64_t token = Device::Block();
  const uint32_t* const keys = job.candidate_keys + token * job.num_candidates;
  const int32_t* const ids = job.candidate_ids + token * job.num_candidates;
  int32_t* const out = job.args.ids + token * job.args.num_chosen;
  const auto key = [&](int64_t i) { return keys[i]; };
  uint32_t* const out_keys =
      job.args.keys != nullptr ? job.args.keys + token * job.args.num_chosen : nullptr;
  const auto keep = [&](int64_t place, int64_t i) {
    out[place] = ids[i];
    if (out_keys != nullptr) out_keys[place] = keys[i];
  };
  KeepLargest<Device>(job.num_candidates, job.args.num_chosen, shared, key, keep);
}

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_SKETCH_KERNEL_H_
