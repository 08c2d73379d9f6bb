#ifndef SHORTLIST_KERNELS_CUDA_HEAD_KERNEL_H_
#define SHORTLIST_KERNELS_CUDA_HEAD_KERNEL_H_

#include <cstdint>

#include "kernels/cuda/head_job.h"
#include "kernels/cuda/row_tiles.h"
#include "kernels/cuda/selection.h"
#include "kernels/cuda/top_k.h"
#include "kernels/host_device.h"

namespace shortlist {

/// What becomes of the sums of an item: logits in memory, or each token's best and its sum of
/// exponentials. Warp w of a block takes tokens 2 w and 2 w + 1 of each tile, always, so that a
/// token's state belongs to one warp.
template <class Device, RowFormat kFormat>
class HeadEpilogue {
 public:
  SHORTLIST_DEVICE HeadEpilogue(const HeadJob& job, uint8_t* shared)
      : job_(job),
        meet_(reinterpret_cast<const float*>(shared)),
        keys_(reinterpret_cast<uint64_t*>(shared + job.plan.keys_offset)),
        logits_(reinterpret_cast<float*>(shared + job.plan.logits_offset)),
        sums_(reinterpret_cast<SumExp*>(shared + job.plan.sums_offset)),
        num_shared_(NumSharedRows(job.args)) {
    const int num_tokens = static_cast<int>(job.args.x.num_tokens);
    for (int i = Device::Thread(); i < num_tokens * job.k; i += kHeadThreads) {
      keys_[i] = 0;
      logits_[i] = -kFloatInfinity;
    }
    for (int i = Device::Thread(); i < num_tokens; i += kHeadThreads) sums_[i] = SumExp{};
    // A barrier comes before the first use.
  }

  /// Takes token `column` of the tile whose sums the warps have stored.
  SHORTLIST_DEVICE void TakeToken(const HeadItem& item, int token, int column) {
    int ids[2];
    float values[2];
    SHORTLIST_DEVICE_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int row = Device::Lane() + 32 * i;
      ids[i] = row < item.num_rows ? RowIdAt(job_, item, row) : -1;
      values[i] = ids[i] < 0 ? -kFloatInfinity : Logit(token, column, row, ids[i]);
    }
    if (job_.logits != nullptr) {
      const int first_row = item.token < 0 ? item.first : num_shared_ + item.first;
      SHORTLIST_DEVICE_UNROLL
      for (int i = 0; i < 2; ++i) {
        const int row = Device::Lane() + 32 * i;
        if (row < item.num_rows) {
          job_.logits[token * job_.stride + first_row + row] = values[i];
        }
      }
      return;
    }
    Select(item, token, ids, values);
  }

  /// Rows past a token's own hold -infinity. The blocks of the grid share them out.
  SHORTLIST_DEVICE void PadLogits() {
    for (int token = 0; token < job_.args.x.num_tokens; ++token) {
      const int64_t used = num_shared_ + TailOf(job_.args, token).len;
      const int64_t first = Device::Block() * kHeadThreads + Device::Thread();
      for (int64_t s = used + first; s < job_.stride; s += job_.plan.num_blocks * kHeadThreads) {
        job_.logits[token * job_.stride + s] = -kFloatInfinity;
      }
    }
  }

  /// Hands the block's part of each token to the merge.
  SHORTLIST_DEVICE void WriteShared() {
    for (int token = 0; token < job_.args.x.num_tokens; ++token) {
      if (token % kTileTokens / 2 != Device::Warp()) continue;
      WritePart(token, Device::Block(), LoadShared(token), sums_[token]);
    }
  }

 private:
  SHORTLIST_DEVICE float Logit(int token, int column, int row, int id) const {
    const float* at = meet_ + column * kMeetStride + row;
    constexpr int kWarpFloats = kTileTokens * kMeetStride;
    float sum = ((at[0] + at[kWarpFloats]) + at[2 * kWarpFloats]) + at[3 * kWarpFloats];
    if constexpr (kFormat == RowFormat::kFp8) sum *= kFp8Factor * job_.args.row_factors[id];
    if constexpr (kFormat == RowFormat::kFp8 || kFormat == RowFormat::kF16) {
      sum *= job_.args.x.factors[token];
    }
    return sum;
  }

  SHORTLIST_DEVICE void Select(const HeadItem& item, int token, const int (&ids)[2],
                               float (&values)[2]) {
    const HeadNoise& noise = job_.noise;
    const float temperature = noise.temperatures != nullptr ? noise.temperatures[token] : 0.0f;
    const bool noisy = temperature > 0.0f;
    uint64_t noise_key = 0;
    if (noisy) noise_key = NoiseKey(noise.seeds[token], noise.positions[token], noise.stream);
    uint64_t keys[2];
    SHORTLIST_DEVICE_UNROLL
    for (int i = 0; i < 2; ++i) {
      if (values[i] != values[i]) values[i] = -kFloatInfinity;
      if (noisy) values[i] /= temperature;
      float score = values[i];
      if (noisy && ids[i] >= 0) score = PerturbedScore(values[i], noise_key, ids[i]);
      // What has no probability is never chosen.
      const bool candidate = ids[i] >= 0 && values[i] > -kFloatInfinity;
      keys[i] = candidate ? CandidateKey(score, ids[i]) : 0;
    }
    const bool is_tail = item.token >= 0;
    BestOfLane best = is_tail ? BestOfLane{} : LoadShared(token);
    InsertCandidates<Device>(job_.k, keys[0], values[0], best);
    InsertCandidates<Device>(job_.k, keys[1], values[1], best);
    SumExp sum;
    if (job_.out.log_sum_exp != nullptr) sum = WarpSumExp<Device>(values[0], values[1]);
    if (is_tail) {
      WritePart(token, job_.plan.num_blocks + item.tail_item, best, sum);
      return;
    }
    Device::SyncWarp();  // all lanes have read the state
    if (Device::Lane() < job_.k) {
      keys_[token * job_.k + Device::Lane()] = best.key;
      logits_[token * job_.k + Device::Lane()] = best.logit;
    }
    if (Device::Lane() == 0) sums_[token] = AddSumExp(sums_[token], sum);
    Device::SyncWarp();
  }

  SHORTLIST_DEVICE BestOfLane LoadShared(int token) const {
    BestOfLane best;
    if (Device::Lane() < job_.k) {
      best.key = keys_[token * job_.k + Device::Lane()];
      best.logit = logits_[token * job_.k + Device::Lane()];
    }
    return best;
  }

  SHORTLIST_DEVICE void WritePart(int token, int part, const BestOfLane& best,
                                  const SumExp& sum) const {
    const int64_t at = int64_t{token} * job_.plan.num_parts + part;
    if (Device::Lane() < job_.k) {
      job_.part_keys[at * job_.k + Device::Lane()] = best.key;
      job_.part_logits[at * job_.k + Device::Lane()] = best.logit;
    }
    if (Device::Lane() == 0) job_.part_sums[at] = sum;
  }

  const HeadJob& job_;
  const float* const meet_;
  uint64_t* const keys_;  // [num_tokens, k]
  float* const logits_;   // [num_tokens, k]
  SumExp* const sums_;    // [num_tokens]
  const int num_shared_;
};

/// One block of the head: kHeadThreads threads and plan.shared_bytes of shared memory, aligned to
/// 16. kRowTiles is the plan's, and kTokenTiles * 8 >= num_tokens.
template <class Device, RowFormat kFormat, int kRowTiles, int kTokenTiles>
SHORTLIST_DEVICE void ScoreItems(const HeadJob& job, uint8_t* shared) {
  const HeadPlan& plan = job.plan;
  if (Device::Block() == 0 && Device::Thread() == 0) {
    const int32_t* count = job.args.num_rows;
    if (count != nullptr && *count != NumSharedRows(job.args)) {
      Device::Flag(job.args.error, kHeadCountError);
    }
    for (int token = 0; token < job.args.x.num_tokens; ++token) {
      if (!TailOf(job.args, token).valid) Device::Flag(job.args.error, kHeadTailError);
    }
  }
  HeadEpilogue<Device, kFormat> epilogue(job, shared);
  float* const own_meet =
      reinterpret_cast<float*>(shared) + Device::Warp() * kTileTokens * kMeetStride;
  HeadItem item = NextItem(job, Device::Block());
  while (item.index < NumItems(job)) {
    const bool is_tail = item.token >= 0;
    const int num_tokens = is_tail ? 1 : static_cast<int>(job.args.x.num_tokens);
    RowTiles<Device, kFormat, kRowTiles, kTokenTiles> tiles(job, item, shared + plan.ring_offset);
    tiles.AddRows();
    for (int tile = 0; tile < tiles.num_token_tiles(); ++tile) {
      tiles.Store(tile, own_meet);
      Device::SyncBlock();
      for (int i = 0; i < 2; ++i) {
        const int column = 2 * Device::Warp() + i;
        const int token = tile * kTileTokens + column;
        if (token < num_tokens) epilogue.TakeToken(item, is_tail ? item.token : token, column);
      }
      Device::SyncBlock();
    }
    item = NextItem(job, item.index + plan.num_blocks);
  }
  if (job.logits != nullptr) {
    epilogue.PadLogits();
  } else {
    Device::SyncBlock();  // the state of a block without items
    epilogue.WriteShared();
  }
}

/// Merges a token's parts: one block of kMergeThreads threads for each token.
struct MergeShared {
  uint64_t keys[kMergeWarps][32];
  float logits[kMergeWarps][32];
  SumExp sums[kMergeWarps];
};
template <class Device>
SHORTLIST_DEVICE void MergeParts(const HeadJob& job, MergeShared& shared) {
  const HeadPlan& plan = job.plan;
  const int token = Device::Block();
  const int lane = Device::Lane();
  const int warp = Device::Warp();
  const int tail_len = TailOf(job.args, token).len;
  const int item_rows = plan.item_rows();
  const int num_parts = plan.num_blocks + (tail_len + item_rows - 1) / item_rows;
  const int64_t first = int64_t{token} * plan.num_parts;

  constexpr int kBatches = 4;  // on their way from memory at a time
  const int num_candidates = num_parts * job.k;
  BestOfLane best;
  for (int i = warp * 32; i < num_candidates; i += kBatches * kMergeThreads) {
    BestOfLane candidates[kBatches];
    SHORTLIST_DEVICE_UNROLL
    for (int b = 0; b < kBatches; ++b) {
      const int c = i + b * kMergeThreads + lane;
      if (c >= num_candidates) continue;
      candidates[b] = {job.part_keys[first * job.k + c], job.part_logits[first * job.k + c]};
    }
    SHORTLIST_DEVICE_UNROLL
    for (int b = 0; b < kBatches; ++b) {
      InsertCandidates<Device>(job.k, candidates[b].key, candidates[b].logit, best);
    }
  }
  SumExp sum;
  for (int p = Device::Thread(); p < num_parts; p += kMergeThreads) {
    sum = AddSumExp(sum, job.part_sums[first + p]);
  }
  shared.sums[warp] = SumOfLanes<Device>(sum);
  for (int half = kMergeWarps / 2; half > 0; half /= 2) {
    if (warp >= half && warp < 2 * half) {
      shared.keys[warp][lane] = best.key;
      shared.logits[warp][lane] = best.logit;
    }
    Device::SyncBlock();
    if (warp < half) {
      MergeSorted<Device>({shared.keys[warp + half][lane], shared.logits[warp + half][lane]}, best);
    }
  }
  if (warp != 0) return;
  if (lane < job.k) {
    job.out.ids[int64_t{token} * job.k + lane] = CandidateId(best.key);
    job.out.logits[int64_t{token} * job.k + lane] = best.logit;
  }
  if (job.out.log_sum_exp == nullptr) return;
  sum = SumOfLanes<Device>(lane < kMergeWarps ? shared.sums[lane] : SumExp{});
  if (lane == 0) job.out.log_sum_exp[token] = LogOf(sum);
}

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_HEAD_KERNEL_H_
