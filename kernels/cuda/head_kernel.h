#ifndef SHORTLIST_KERNELS_CUDA_HEAD_KERNEL_H_
#define SHORTLIST_KERNELS_CUDA_HEAD_KERNEL_H_

#include <cstdint>

#include "kernels/cuda/head_job.h"
#include "kernels/cuda/row_tiles.h"
#include "kernels/cuda/selection.h"
#include "kernels/host_device.h"

namespace shortlist {

/// Flags invalid lengths on the device. Called by one thread of the grid.
template <class Device>
SHORTLIST_DEVICE void FlagLengths(const CudaHeadArgs& args) {
  if (args.num_rows != nullptr && *args.num_rows != NumSharedRows(args)) {
    Device::Flag(args.error, kHeadCountError);
  }
  for (int token = 0; token < args.x.num_tokens; ++token) {
    if (!TailOf(args, token).valid) Device::Flag(args.error, kHeadTailError);
  }
}

/// Adds the sums that the warps have stored for one token tile, and writes its logits.
template <class Device, RowFormat kFormat>
SHORTLIST_DEVICE void WriteLogits(const HeadJob& job, const HeadItem& item, int tile,
                                  const float* meet) {
  constexpr int kItemRows = kMaxRowTiles * kTileRows;
  static_assert(kHeadThreads % kItemRows == 0);
  const int row = Device::Thread() % kItemRows;
  if (row >= item.num_rows) return;
  const int id = RowIdAt(job, item, row);
  float row_factor = 1.0f;
  if constexpr (kFormat == RowFormat::kFp8) {
    if (id >= 0) row_factor = kFp8Factor * job.args.row_factors[id];
  }
  const int place = row + (item.token < 0 ? item.first : NumSharedRows(job.args) + item.first);
  const int num_tokens = item.token < 0 ? static_cast<int>(job.args.x.num_tokens) : 1;
  for (int column = Device::Thread() / kItemRows; column < kTileTokens;
       column += kHeadThreads / kItemRows) {
    if (tile * kTileTokens + column >= num_tokens) return;
    const int token = item.token < 0 ? tile * kTileTokens + column : item.token;
    const float* const at = meet + column * kMeetStride + row;
    constexpr int kWarp = kTileTokens * kMeetStride;
    float sum = ((at[0] + at[kWarp]) + at[2 * kWarp]) + at[3 * kWarp];
    if constexpr (kFormat == RowFormat::kFp8) sum *= row_factor;
    if constexpr (kFormat == RowFormat::kFp8 || kFormat == RowFormat::kF16) {
      sum *= job.args.x.factors[token];
    }
    job.logits[token * job.stride + place] = id < 0 ? -kFloatInfinity : sum;
  }
}

/// Writes -infinity to rows after a token's own. The blocks of the grid share the work.
template <class Device>
SHORTLIST_DEVICE void PadLogits(const HeadJob& job) {
  for (int token = 0; token < job.args.x.num_tokens; ++token) {
    const int64_t used = NumSharedRows(job.args) + TailOf(job.args, token).len;
    const int64_t first = Device::Block() * kHeadThreads + Device::Thread();
    for (int64_t s = used + first; s < job.stride; s += job.plan.num_blocks * kHeadThreads) {
      job.logits[token * job.stride + s] = -kFloatInfinity;
    }
  }
}

/// Runs one block of the head's scores: kHeadThreads threads and plan.shared_bytes of shared
/// memory, aligned to 16. kRowTiles is the plan's, and kTokenTiles * 8 >= num_tokens.
template <class Device, RowFormat kFormat, int kRowTiles, int kTokenTiles>
SHORTLIST_DEVICE void ScoreItems(const HeadJob& job, uint8_t* shared) {
  if (Device::Block() == 0 && Device::Thread() == 0) FlagLengths<Device>(job.args);
  // The warps combine the sums of a tile in one buffer while those of the previous tile are read
  // from the other.
  auto* const meet = reinterpret_cast<float*>(shared);
  int buffer = 0;
  HeadItem item = NextItem(job, Device::Block());
  while (item.index < NumItems(job)) {
    RowTiles<Device, kFormat, kRowTiles, kTokenTiles> tiles(job, item, shared + kMeetBytes);
    tiles.AddRows();
    for (int tile = 0; tile < tiles.num_token_tiles(); ++tile) {
      float* const at = meet + buffer * kMeetFloats;
      tiles.Store(tile, at + Device::Warp() * kTileTokens * kMeetStride);
      Device::SyncBlock();
      WriteLogits<Device, kFormat>(job, item, tile, at);
      buffer ^= 1;
    }
    item = NextItem(job, item.index + job.plan.num_blocks);
  }
  if (job.k == 0) PadLogits<Device>(job);
}

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_HEAD_KERNEL_H_
