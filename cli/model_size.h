#ifndef SHORTLIST_CLI_MODEL_SIZE_H_
#define SHORTLIST_CLI_MODEL_SIZE_H_

#include <cstdint>
#include <set>

#include "base/dtype.h"
#include "io/weight_files.h"
#include "model/checkpoint.h"
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

/// `checkpoint` keeps blocks (Checkpoint::KeepBlocks); `weights` are its files. `dtype`: of
/// matrices that are not in blocks.
BlockSizes SizesInBlocks(const Checkpoint& checkpoint, const WeightFiles& weights, DType dtype);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_MODEL_SIZE_H_
