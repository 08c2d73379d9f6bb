#ifndef SHORTLIST_KERNELS_CUDA_SELECT_KERNEL_H_
#define SHORTLIST_KERNELS_CUDA_SELECT_KERNEL_H_

#include <cstdint>

#include "kernels/cuda/head_job.h"
#include "kernels/cuda/selection.h"
#include "kernels/cuda/top_k.h"
#include "kernels/host_device.h"

namespace shortlist {

SHORTLIST_DEVICE_CALL inline float NoisyScore(float logit, uint64_t noise_key, int32_t id) {
  return PerturbedScore(logit, noise_key, id);
}

/// A block's result for one token.
struct Found {
  BestOfLane best;  // in each lane of warp 0
  SumExp sum;       // in each lane of warp 0, the same in all
};

/// Where the warps' results are combined.
struct SelectShared {
  uint64_t keys[kSelectWarps][32];
  float logits[kSelectWarps][32];
  SumExp sums[kSelectWarps];
};

/// Combines the results of all warps of the block in warp 0.
template <class Device>
SHORTLIST_DEVICE Found MergeWarps(Found own, SelectShared& shared) {
  const int warp = Device::Warp();
  const int lane = Device::Lane();
  if (lane == 0) shared.sums[warp] = own.sum;
  SHORTLIST_DEVICE_LOOP
  for (int half = kSelectWarps / 2; half > 0; half /= 2) {
    if (warp >= half && warp < 2 * half) {
      shared.keys[warp][lane] = own.best.key;
      shared.logits[warp][lane] = own.best.logit;
    }
    Device::SyncBlock();
    if (warp < half && shared.keys[warp + half][0] != 0) {  // the whole warp
      MergeSorted<Device>({shared.keys[warp + half][lane], shared.logits[warp + half][lane]},
                          own.best);
    }
  }
  if (warp == 0) own.sum = SumOfLanes<Device>(lane < kSelectWarps ? shared.sums[lane] : SumExp{});
  return own;
}

/// Writes a token's result from warp 0.
template <class Device>
SHORTLIST_DEVICE void WriteResult(const HeadJob& job, int token, const Found& found) {
  const int lane = Device::Lane();
  if (Device::Warp() != 0) return;
  if (lane < job.k) {
    job.out.ids[int64_t{token} * job.k + lane] = CandidateId(found.best.key);
    job.out.logits[int64_t{token} * job.k + lane] = found.best.logit;
  }
  if (lane == 0 && job.out.log_sum_exp != nullptr) job.out.log_sum_exp[token] = LogOf(found.sum);
}

/// Selects from kPartRows logits of a token: one block of kSelectThreads threads for each token and
/// part. If a token has one part, writes its result; otherwise writes the input of MergeParts.
template <class Device>
SHORTLIST_DEVICE void SelectPart(const HeadJob& job, SelectShared& shared) {
  const int num_parts = job.plan.num_parts;
  const int token = Device::Block() / num_parts;
  const int part = Device::Block() % num_parts;
  const int lane = Device::Lane();
  const CudaHeadArgs& args = job.args;
  const int num_shared = NumSharedRows(args);
  const TailRange tail = TailOf(args, token);
  const int num_rows = num_shared + tail.len;

  const int first = part * kPartRows + Device::Warp() * (kPartRows / kSelectWarps);
  constexpr int kBatches = kPartRows / kSelectThreads;
  float values[kBatches];
  int ids[kBatches];
  SHORTLIST_DEVICE_UNROLL
  for (int b = 0; b < kBatches; ++b) {
    const int place = first + b * 32 + lane;
    values[b] = -kFloatInfinity;
    ids[b] = -1;
    if (place >= num_rows) continue;
    values[b] = job.logits[token * job.stride + place];
    ids[b] = place >= num_shared       ? args.tail_ids[tail.begin + place - num_shared]
             : args.row_ids != nullptr ? args.row_ids[place]
                                       : place;
  }
  const HeadNoise& noise = job.noise;
  const float temperature = noise.temperatures != nullptr ? noise.temperatures[token] : 0.0f;
  const bool noisy = temperature > 0.0f;
  uint64_t noise_key = 0;
  if (noisy) noise_key = NoiseKey(noise.seeds[token], noise.positions[token], noise.stream);
  SHORTLIST_DEVICE_UNROLL
  for (int b = 0; b < kBatches; ++b) {
    if (values[b] != values[b]) values[b] = -kFloatInfinity;
    if (noisy) values[b] /= temperature;
  }
  Found found;
  const bool any = first < num_rows;  // the warp has rows
  if (any && job.out.log_sum_exp != nullptr) found.sum = WarpSumExp<Device>(values);
  BestOfLane candidates[kBatches];
  SHORTLIST_DEVICE_UNROLL
  for (int b = 0; b < kBatches; ++b) {
    // Rows without probability are never chosen; a row whose id is out of range is -infinity.
    if (!(values[b] > -kFloatInfinity)) continue;
    const float score = noisy ? NoisyScore(values[b], noise_key, ids[b]) : values[b];
    candidates[b] = {CandidateKey(score, ids[b]), values[b]};
  }
  if (any) found.best = BestOf<Device>(job.k, candidates);
  found = MergeWarps<Device>(found, shared);
  if (num_parts == 1) return WriteResult<Device>(job, token, found);
  if (Device::Warp() != 0) return;
  const int64_t at = Device::Block();
  if (lane < job.k) {
    job.part_keys[at * job.k + lane] = found.best.key;
    job.part_logits[at * job.k + lane] = found.best.logit;
  }
  if (lane == 0) job.part_sums[at] = found.sum;
}

/// Merges a token's parts: one block of kSelectThreads threads for each token.
template <class Device>
SHORTLIST_DEVICE void MergeParts(const HeadJob& job, SelectShared& shared) {
  const int token = Device::Block();
  const int lane = Device::Lane();
  const int num_parts = job.plan.num_parts;
  const int64_t first = int64_t{token} * num_parts;
  Found found;
  SHORTLIST_DEVICE_LOOP
  for (int i = Device::Warp() * 32; i < num_parts * job.k; i += kSelectThreads) {
    BestOfLane own;
    if (i + lane < num_parts * job.k) {
      own = {job.part_keys[first * job.k + i + lane], job.part_logits[first * job.k + i + lane]};
    }
    SortCandidates<Device>(own);
    MergeSorted<Device>(own, found.best);
  }
  SumExp sum;
  SHORTLIST_DEVICE_LOOP
  for (int p = Device::Thread(); p < num_parts; p += kSelectThreads) {
    sum = AddSumExp(sum, job.part_sums[first + p]);
  }
  found.sum = SumOfLanes<Device>(sum);
  WriteResult<Device>(job, token, MergeWarps<Device>(found, shared));
}

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_SELECT_KERNEL_H_
