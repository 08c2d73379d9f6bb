#include "model/linear_weight.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "kernels/blocks.h"
#include "kernels/matrix.h"
#include "kernels/quant.h"

namespace shortlist {

MatrixView SourceWeight::Rows(int64_t first, int64_t num_rows) const {
  return {static_cast<const char*>(data.get()) + first * row_bytes, dtype, num_rows};
}

absl::StatusOr<SourceWeight> LoadSource(Checkpoint& checkpoint, const std::string& name,
                                        int64_t out_features, int64_t in_features, DType dtype,
                                        ThreadPool& pool, bool decode) {
  SHORTLIST_RETURN_IF_ERROR(checkpoint.CheckPacked(name));
  const std::optional<DType> blocks =
      checkpoint.StoredBlocks(name, out_features, in_features, pool);
  if (blocks && !decode) {
    SHORTLIST_ASSIGN_OR_RETURN(std::shared_ptr<const void> data,
                               checkpoint.LoadBlocks(name, out_features, in_features, pool));
    return SourceWeight{std::move(data), StoredRowBytes(*blocks, in_features), *blocks};
  }
  if (IsQuantized(dtype)) {
    SHORTLIST_ASSIGN_OR_RETURN(dtype, checkpoint.StoredDType(name));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const Matrix tensor,
                             checkpoint.Load(name, {out_features, in_features}, dtype, pool));
  const auto owner = std::make_shared<Matrix>(tensor);
  return SourceWeight{{owner, owner->data()}, in_features * DTypeBytes(dtype), dtype};
}

PackedLinear PackRows(Checkpoint& checkpoint, std::span<const MatrixView> rows, int64_t in_features,
                      DType dtype, ThreadPool& pool) {
  ArenaBlocks* const memory = &checkpoint.packed_memory();
  const bool in_blocks = std::all_of(rows.begin(), rows.end(),
                                     [](const MatrixView& part) { return IsBlocked(part.dtype); });
  return in_blocks ? PackedLinear::PackBlocks(rows, in_features, pool, memory)
                   : PackedLinear::Pack(rows, in_features, dtype, pool, memory);
}

absl::StatusOr<PackedLinear> LoadLinear(Checkpoint& checkpoint, const std::string& name,
                                        int64_t out_features, int64_t in_features, DType dtype,
                                        ThreadPool& pool, bool decode) {
  SHORTLIST_ASSIGN_OR_RETURN(
      const SourceWeight source,
      LoadSource(checkpoint, name, out_features, in_features, dtype, pool, decode));
  const MatrixView rows = source.Rows(0, out_features);
  return PackRows(checkpoint, {&rows, 1}, in_features, dtype, pool);
}

}  // namespace shortlist
