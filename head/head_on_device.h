#ifndef SHORTLIST_HEAD_HEAD_ON_DEVICE_H_
#define SHORTLIST_HEAD_HEAD_ON_DEVICE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "head/head_scorer.h"
#include "kernels/head.h"
#include "kernels/sketch.h"

namespace shortlist {

/// Ranks the rows of a sketch on a device. Not thread-safe.
class SketchRanker {
 public:
  virtual ~SketchRanker() = default;

  /// Same as SketchRankCpu (kernels/sketch_rank.h) for this sketch. Internal reports an error of
  /// the device.
  virtual absl::Status Rank(const float* queries, const SketchRace* races, int64_t num_tokens,
                            int64_t num_chosen, int32_t* ids, uint32_t* keys) = 0;
};

/// The rows of an LM head in the memory of a device. Immutable; any number of scorers may share it.
class HeadOnDevice {
 public:
  virtual ~HeadOnDevice() = default;

  /// Scores these rows; the full head is rows 0 .. num_rows - 1. ResourceExhausted if the device
  /// has too little memory for a call.
  virtual absl::StatusOr<std::unique_ptr<HeadScorer>> NewScorer(int64_t num_rows) const = 0;
  /// Ranks `rows`, which must outlive the ranker, on the same device. Copies them there.
  /// ResourceExhausted if the device has too little memory.
  virtual absl::StatusOr<std::unique_ptr<SketchRanker>> NewSketchRanker(
      const SketchRows& rows) const = 0;
};

/// A device that can hold LM heads.
class HeadDevice {
 public:
  virtual ~HeadDevice() = default;

  /// Copies a head's rows to the device. InvalidArgument names what its kernels do not support;
  /// ResourceExhausted if the device has too little memory.
  virtual absl::StatusOr<std::shared_ptr<const HeadOnDevice>> Copy(
      const HeadWeight& weight) const = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_HEAD_ON_DEVICE_H_
