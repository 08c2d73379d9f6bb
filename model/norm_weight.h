#ifndef SHORTLIST_MODEL_NORM_WEIGHT_H_
#define SHORTLIST_MODEL_NORM_WEIGHT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "kernels/matrix.h"
#include "model/checkpoint.h"

namespace shortlist {

/// Returns the weights of a norm of `size` values: the stored ones plus `offset`. InvalidArgument
/// if they are all zeros. Other errors and exceptions are those of Checkpoint::Load.
absl::StatusOr<Matrix> LoadNorm(Checkpoint& checkpoint, const std::string& name, int64_t size,
                                double offset, ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_NORM_WEIGHT_H_
