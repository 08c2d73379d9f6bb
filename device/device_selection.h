#ifndef SHORTLIST_DEVICE_DEVICE_SELECTION_H_
#define SHORTLIST_DEVICE_DEVICE_SELECTION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "kernels/cuda/head_args.h"
#include "vocab/active_vocab.h"

namespace shortlist {

/// Ids of the rows that a head scores, in device memory. The arrays have fixed addresses and
/// capacities; the kernels read their lengths there. So a captured graph stays valid while the
/// active vocabulary and the tails change, as long as they fit: between two replays only Set() is
/// needed.
///
/// Not thread-safe.
class DeviceSelection {
 public:
  /// Allocates `row_capacity` shared rows and `tail_capacity` own rows for each of kHeadMaxTokens
  /// tokens. Throws ATen's exceptions.
  DeviceSelection(int64_t row_capacity, int64_t tail_capacity, at::Device device);

  /// Sets the arrays to `active` and one tail for each of num_tokens tokens; empty `tails`: no
  /// token has one. Copies only what has changed. ResourceExhausted names the size and the capacity
  /// that it exceeds; nothing has been written then. num_tokens is at most kHeadMaxTokens. Throws
  /// ATen's exceptions.
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
  // Contents of the arrays.
  std::shared_ptr<const VocabBase> base_;
  std::vector<int32_t> dynamic_;
  std::vector<int32_t> tail_words_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DEVICE_DEVICE_SELECTION_H_
