#include "model/norm_weight.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"

namespace shortlist {

absl::StatusOr<Matrix> LoadNorm(Checkpoint& checkpoint, const std::string& name, int64_t size,
                                double offset, ThreadPool& pool) {
  SHORTLIST_ASSIGN_OR_RETURN(Matrix weight, checkpoint.Load(name, {size}, DType::kF32, pool));
  if (offset == 0.0) {
    const bool is_zero = std::all_of(weight.floats(), weight.floats() + size,
                                     [](float value) { return value == 0.0f; });
    if (!is_zero) return weight;
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", Excerpt(name),
                     " is all zeros: a norm that lets nothing pass; the "
                     "file is damaged"));
  }
  Matrix sum(weight.rows(), weight.cols());
  std::transform(weight.floats(), weight.floats() + size, sum.floats(),
                 [&](float value) { return value + static_cast<float>(offset); });
  return sum;
}

}  // namespace shortlist
