#ifndef SHORTLIST_HEAD_DEVICE_SELECTION_H_
#define SHORTLIST_HEAD_DEVICE_SELECTION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "kernels/cuda/head_args.h"
#include "vocab/active_vocab.h"

namespace shortlist {

/// The rows that a head scores, in a device's memory: arrays of fixed address and capacity, whose
/// lengths the kernels read there. So a captured graph stays valid while the active vocabulary and
/// the tails change, as long as they fit: Set between two replays is all it takes.
///
/// Not thread-safe.
class DeviceSelection {
 public:
  /// Room for `row_capacity` shared rows and, of each of kHeadMaxTokens tokens, `tail_capacity` of
  /// its own. Throws what ATen throws.
  DeviceSelection(int64_t row_capacity, int64_t tail_capacity, at::Device device);

  /// Makes the arrays hold `active` and one tail for each of num_tokens tokens; `tails` empty: no
  /// token has one. Copies what has changed alone. ResourceExhausted names the size and the
  /// capacity that it passes: nothing has been written then. num_tokens is at most kHeadMaxTokens.
  /// Throws what ATen throws.
  absl::Status Set(const ActiveVocab& active, std::span<const std::span<const int32_t>> tails,
                   int64_t num_tokens);

  /// Points `args` to the arrays.
  void Fill(CudaHeadArgs& args) const;

  int64_t row_capacity() const { return row_capacity_; }
  int64_t tail_capacity() const { return tail_capacity_; }

 private:
  void SetRows(const ActiveVocab& active);

  int64_t row_capacity_, tail_capacity_;
  at::Tensor rows_;   // i32: the number of shared rows, then [row_capacity] their ids
  at::Tensor tails_;  // i32: [kHeadMaxTokens + 1] indptr, then [kHeadMaxTokens * tail_capacity] ids
  // What the arrays hold.
  std::shared_ptr<const VocabBase> base_;
  std::vector<int32_t> dynamic_;
  std::vector<int32_t> tail_words_;
};

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_DEVICE_SELECTION_H_
