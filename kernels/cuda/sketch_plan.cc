#include <algorithm>
#include <limits>

#include "kernels/cuda/sketch_args.h"

namespace shortlist {

const char* SketchProblem(const CudaSketchArgs& args) {
  if (args.num_tokens < 0 || args.num_tokens > (1 << 16)) return "num_tokens is not in [0, 65536]";
  if (args.num_tokens == 0) return nullptr;
  const SketchRows& rows = args.rows;
  if (rows.num_rows < 1 || rows.num_rows > std::numeric_limits<int32_t>::max()) {
    return "num_rows is not in [1, 2^31)";
  }
  if (rows.rank < kSketchStep || rows.rank > kMaxSketchRank || rows.rank % kSketchStep != 0) {
    return "rank is not a multiple of 8 in [8, 256]";
  }
  if (args.num_chosen < 1 || args.num_chosen > rows.num_rows) {
    return "num_chosen is not in [1, num_rows]";
  }
  if (rows.codes == nullptr || rows.scales == nullptr) return "codes or scales is null";
  if (reinterpret_cast<uintptr_t>(rows.codes) % 4 != 0) return "codes are not 4-byte aligned";
  return args.query == nullptr || args.ids == nullptr ? "query or ids is null" : nullptr;
}

int64_t SketchNumChunks(const CudaSketchArgs& args) {
  return (args.rows.num_rows + kSketchChunkRows - 1) / kSketchChunkRows;
}

int64_t SketchNumCandidates(const CudaSketchArgs& args) {
  const int64_t before = SketchNumChunks(args) - 1;
  const int64_t last = args.rows.num_rows - before * kSketchChunkRows;
  return before * std::min<int64_t>(args.num_chosen, kSketchChunkRows) +
         std::min(args.num_chosen, last);
}

int64_t SketchWorkspaceBytes(const CudaSketchArgs& args) {
  return args.num_tokens * SketchNumCandidates(args) * int64_t{8};
}

}  // namespace shortlist
