#ifndef SHORTLIST_KERNELS_CUDA_SKETCH_ARGS_H_
#define SHORTLIST_KERNELS_CUDA_SKETCH_ARGS_H_

#include <cstdint>

#include "kernels/sketch.h"

namespace shortlist {

/// Arguments of SketchSelectCpu (kernels/sketch.h), on the device. The codes are 4-byte aligned.
struct CudaSketchArgs {
  SketchRows rows;
  const float* query = nullptr;       // [num_tokens, rank]
  const SketchRace* races = nullptr;  // [num_tokens], or null
  int64_t num_tokens = 0;             // at most 2^16
  int64_t num_chosen = 0;             // in [1, num_rows]
  int32_t* ids = nullptr;             // out: [num_tokens, num_chosen]
  uint32_t* keys = nullptr;           // out: [num_tokens, num_chosen]; may be null
};

/// Returns why the arguments are rejected, with the bound; null if they are valid. Reads no device
/// memory.
const char* SketchProblem(const CudaSketchArgs& args);

/// How the work is cut: each block takes kSketchChunkRows rows and keeps their best, for one token
/// after the other. Then one block for each token chooses among these candidates.
inline constexpr int kSketchChunkRows = 2048;
inline constexpr int kSketchThreads = 256;

int64_t SketchNumChunks(const CudaSketchArgs& args);
/// Number of candidates of a token: those of all chunks, concatenated.
int64_t SketchNumCandidates(const CudaSketchArgs& args);
/// Bytes of a uint32 and an int32 for each token's candidates.
int64_t SketchWorkspaceBytes(const CudaSketchArgs& args);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_SKETCH_ARGS_H_
