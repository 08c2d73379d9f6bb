#ifndef SHORTLIST_CLI_MODEL_SIZE_H_
#define SHORTLIST_CLI_MODEL_SIZE_H_

#include <cstdint>
#include <set>

#include "base/dtype.h"
#include "io/weight_files.h"
#include "model/checkpoint/config.h"

namespace shortlist {

/// Number of weights that a model of this configuration keeps.
int64_t NumParameters(const ModelConfig& config);

/// Bytes of memory for the weights: linear layers and head in `weight_dtype`, which is not one of
/// blocks, the rest in `dtype`.
int64_t WeightBytes(const ModelConfig& config, DType dtype, DType weight_dtype);

/// The weights of a model that are kept in blocks.
struct BlockSizes {
  std::set<DType> types;  // of the blocks; empty: none
  int64_t bytes = 0;      // memory for all weights
};

/// Those of a GGUF file. `dtype`: of matrices that are not in blocks.
BlockSizes SizesInBlocks(const WeightFiles& weights, DType dtype);

/// The largest that the weights of a GPTQ or AWQ checkpoint may be: zero points, which are not read
/// here, decide between Q4_0 and Q5_0. No types if its layers are unpacked on load.
BlockSizes LargestPackedSizes(const ModelConfig& config, DType dtype);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_MODEL_SIZE_H_
