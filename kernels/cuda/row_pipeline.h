#ifndef SHORTLIST_KERNELS_CUDA_ROW_PIPELINE_H_
#define SHORTLIST_KERNELS_CUDA_ROW_PIPELINE_H_

#include <cstdint>

#include "kernels/cuda/head_job.h"
#include "kernels/host_device.h"

namespace shortlist {

/// Brings a block's chunks from memory into a ring of stages in shared memory, num_stages - 1 of
/// them ahead of their use and on into the next items. The whole block calls every function.
///
/// Bulk copies (sm_90): each lane of warp 0 copies whole pieces of rows, and a stage's barrier
/// counts the bytes in. Otherwise cp.async: eight lanes copy 128 contiguous bytes of a row.
template <class Device, bool kBulk>
class RowPipeline {
 public:
  /// `barriers`: [num_stages], in shared memory.
  SHORTLIST_DEVICE RowPipeline(const HeadJob& job, uint8_t* stages, uint64_t* barriers,
                               const HeadItem& first)
      : job_(job), stages_(stages), barriers_(barriers) {
    if constexpr (kBulk) {
      if (Device::Thread() == 0) {
        for (int s = 0; s < job.plan.num_stages; ++s) Device::InitBarrier(&barriers[s], kWorkers);
        Device::FenceBarriers();
      }
      Device::SyncBlock();
    }
    StartItem(first);
    for (int s = 0; s + 1 < job.plan.num_stages; ++s) FillNext();
  }

  /// Waits for the next chunk and starts to fill the stage of the one before. Returns the chunk's
  /// stage, which is valid until the next call.
  SHORTLIST_DEVICE const uint8_t* Next() {
    if constexpr (kBulk) {
      Device::WaitBarrier(&barriers_[read_stage_], read_parity_);
    } else {
      Device::WaitCopies(job_.plan.num_stages - 2);
    }
    Device::SyncBlock();  // all of the chunk is seen by all, and nobody reads the one before
    FillNext();
    const uint8_t* const stage = stages_ + read_stage_ * job_.plan.stage_bytes;
    if (++read_stage_ == job_.plan.num_stages) {
      read_stage_ = 0;
      read_parity_ ^= 1;
    }
    return stage;
  }

 private:
  static constexpr int kWorkers = kBulk ? 32 : kHeadThreads;
  static constexpr int kRowLanes = kBulk ? 1 : 8;  // that share a row
  static constexpr int kRowStep = kWorkers / kRowLanes;
  static constexpr int kOwnRows = kMaxRowTiles * kTileRows / kRowStep;

  SHORTLIST_DEVICE void StartItem(const HeadItem& item) {
    item_ = item;
    chunk_ = 0;
    if (item.index >= NumItems(job_) || Device::Thread() >= kWorkers) return;
    SHORTLIST_DEVICE_UNROLL
    for (int i = 0; i < kOwnRows; ++i) {
      const int row = Device::Thread() / kRowLanes + i * kRowStep;
      ids_[i] = -1;
      if (row >= item.num_rows) continue;
      ids_[i] = RowIdAt(job_, item, row);
      if (ids_[i] < 0) Device::Flag(job_.args.error, kHeadRowIdError);
    }
  }

  /// Starts the copies of the next chunk, if there is one.
  SHORTLIST_DEVICE void FillNext() {
    if (item_.index < NumItems(job_)) {
      if (Device::Thread() < kWorkers) Fill();
      if (++fill_stage_ == job_.plan.num_stages) fill_stage_ = 0;
      if (++chunk_ == job_.plan.num_chunks) {
        StartItem(NextItem(job_, item_.index + job_.plan.num_blocks));
      }
    }
    if constexpr (!kBulk) Device::CommitCopies();  // maybe of nothing: groups are counted
  }

  /// The part of a row's bytes that a chunk needs.
  struct Span {
    int64_t begin;
    int bytes;
  };
  SHORTLIST_DEVICE static Span SpanOf(int64_t begin, int64_t most, int64_t end) {
    return {begin, static_cast<int>(end - begin < most ? end - begin : most)};
  }

  SHORTLIST_DEVICE void Fill() {
    const HeadPlan& plan = job_.plan;
    const RowLayout& rows = job_.rows;
    const int64_t pieces = StatePieces(rows.format);
    const int64_t unit = int64_t{chunk_} * plan.chunk_units;
    const int64_t unit_groups = rows.format == RowFormat::kInt4 ? 4 : 1;
    const int64_t chunk_bytes = int64_t{plan.chunk_units} * kUnitBytes;
    const Span codes = SpanOf(unit * kUnitBytes, chunk_bytes, rows.code_bytes);
    const Span states{codes.begin * pieces, static_cast<int>(codes.bytes * pieces)};
    Span scales{0, 0}, state_scales{0, 0};
    if (rows.quantized()) {
      scales = SpanOf(unit * unit_groups * 2 / 16 * 16, plan.row_scales.stride, rows.scale_bytes);
      state_scales = SpanOf(unit * unit_groups * 4, plan.state_scales.stride, rows.x_scale_bytes);
    }
    uint8_t* const stage = stages_ + fill_stage_ * plan.stage_bytes;
    const auto* weight = static_cast<const uint8_t*>(job_.args.weight);
    const HeadStates& x = job_.args.x;
    const int first_token = item_.token < 0 ? 0 : item_.token;
    const int num_tokens = item_.token < 0 ? static_cast<int>(x.num_tokens) : 1;
    const int first_row = Device::Thread() / kRowLanes;

    if constexpr (kBulk) {
      int bytes = 0;
      SHORTLIST_DEVICE_UNROLL
      for (int i = 0; i < kOwnRows; ++i) bytes += ids_[i] < 0 ? 0 : codes.bytes + scales.bytes;
      for (int t = first_row; t < num_tokens; t += kRowStep) {
        bytes += states.bytes + state_scales.bytes;
      }
      Device::ArriveExpecting(&barriers_[fill_stage_], bytes);
    }
    SHORTLIST_DEVICE_UNROLL
    for (int i = 0; i < kOwnRows; ++i) {
      if (ids_[i] < 0) continue;
      const int row = first_row + i * kRowStep;
      const uint8_t* from = weight + ids_[i] * rows.row_bytes;
      Copy(stage + plan.row_codes.offset + row * plan.row_codes.stride, from, codes);
      Copy(stage + plan.row_scales.offset + row * plan.row_scales.stride, from + rows.code_bytes,
           scales);
    }
    for (int t = first_row; t < num_tokens; t += kRowStep) {
      const auto* from =
          static_cast<const uint8_t*>(x.codes) + (first_token + t) * rows.x_code_bytes;
      Copy(stage + plan.state_codes.offset + t * plan.state_codes.stride, from, states);
      if (!rows.quantized()) continue;
      const auto* from_scales =
          reinterpret_cast<const uint8_t*>(x.scales) + (first_token + t) * rows.x_scale_bytes;
      Copy(stage + plan.state_scales.offset + t * plan.state_scales.stride, from_scales,
           state_scales);
    }
  }

  SHORTLIST_DEVICE void Copy(uint8_t* to, const uint8_t* from, const Span& span) {
    if constexpr (kBulk) {
      if (span.bytes > 0) {
        Device::BulkCopy(to, from + span.begin, span.bytes, &barriers_[fill_stage_]);
      }
    } else {
      for (int at = Device::Thread() % kRowLanes * 16; at < span.bytes; at += kRowLanes * 16) {
        Device::CopyAsync16(to + at, from + span.begin + at);
      }
    }
  }

  const HeadJob& job_;
  uint8_t* const stages_;
  uint64_t* const barriers_;
  HeadItem item_;  // being filled
  int chunk_ = 0;
  int ids_[kOwnRows];
  int fill_stage_ = 0;
  int read_stage_ = 0;
  int read_parity_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_ROW_PIPELINE_H_
