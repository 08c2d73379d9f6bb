#include "model/linear_weight.h"

#include <utility>

#include "base/status_macros.h"
#include "kernels/quant.h"

namespace shortlist {

MatrixView SourceWeight::Rows(int64_t first, int64_t num_rows) const {
  const auto* data = static_cast<const char*>(tensor.data());
  return {data + first * tensor.cols() * DTypeBytes(dtype), dtype, num_rows};
}

absl::StatusOr<SourceWeight> LoadSource(Checkpoint& checkpoint, const std::string& name,
                                        int64_t out_features, int64_t in_features, DType dtype,
                                        ThreadPool& pool) {
  SHORTLIST_RETURN_IF_ERROR(checkpoint.CheckPacked(name));
  if (IsQuantized(dtype)) {
    SHORTLIST_ASSIGN_OR_RETURN(dtype, checkpoint.StoredDType(name));
  }
  SHORTLIST_ASSIGN_OR_RETURN(Matrix tensor,
                             checkpoint.Load(name, {out_features, in_features}, dtype, pool));
  return SourceWeight{std::move(tensor), dtype};
}

absl::StatusOr<PackedLinear> LoadLinear(Checkpoint& checkpoint, const std::string& name,
                                        int64_t out_features, int64_t in_features, DType dtype,
                                        ThreadPool& pool) {
  SHORTLIST_ASSIGN_OR_RETURN(const SourceWeight source,
                             LoadSource(checkpoint, name, out_features, in_features, dtype, pool));
  const MatrixView rows = source.Rows(0, out_features);
  return PackedLinear::Pack({&rows, 1}, in_features, dtype, pool, &checkpoint.packed_memory());
}

}  // namespace shortlist
