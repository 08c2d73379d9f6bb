#ifndef SHORTLIST_MODEL_LINEAR_WEIGHT_H_
#define SHORTLIST_MODEL_LINEAR_WEIGHT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/linear.h"
#include "model/checkpoint.h"

namespace shortlist {

/// A weight [out_features, in_features] of a checkpoint, before it is packed.
struct SourceWeight {
  std::shared_ptr<const void> data;  // rows of `row_bytes`
  int64_t row_bytes = 0;
  DType dtype = DType::kF32;  // may be one of blocks

  /// Returns rows [first, first + num_rows), without a copy.
  MatrixView Rows(int64_t first, int64_t num_rows) const;
};

/// Reads a weight to be packed as `dtype`. Quantised weights are made directly from the
/// checkpoint's numbers. A weight that the checkpoint keeps in blocks is read in blocks, unless
/// `decode` is true. Errors and exceptions are those of Checkpoint::Load and CheckPacked.
absl::StatusOr<SourceWeight> LoadSource(Checkpoint& checkpoint, const std::string& name,
                                        int64_t out_features, int64_t in_features, DType dtype,
                                        ThreadPool& pool, bool decode = false);

/// Packs rows of weights as `dtype`, or as they are if all of them are blocks. Precondition: rows
/// in blocks can be packed (PackedLinear::CanPackBlocks).
PackedLinear PackRows(Checkpoint& checkpoint, std::span<const MatrixView> rows, int64_t in_features,
                      DType dtype, ThreadPool& pool);

/// Reads one linear weight [out_features, in_features] and packs it. `decode`, errors and
/// exceptions are those of LoadSource.
absl::StatusOr<PackedLinear> LoadLinear(Checkpoint& checkpoint, const std::string& name,
                                        int64_t out_features, int64_t in_features, DType dtype,
                                        ThreadPool& pool, bool decode = false);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_LINEAR_WEIGHT_H_
