#ifndef SHORTLIST_MODEL_ROPE_H_
#define SHORTLIST_MODEL_ROPE_H_

#include <cstdint>
#include <vector>

#include "model/config.h"

namespace shortlist {

/// Cosines and sines of the rotary angles of one model, as RopeCpu takes them. The table grows with
/// the longest position asked for: a configuration may admit far more context than any request
/// uses.
class RopeTable {
 public:
  explicit RopeTable(const ModelConfig& config);

  /// Makes positions [0, num_positions) available; num_positions <= context_len. Mutates; pointers
  /// from before are void. Throws std::bad_alloc.
  void Reserve(int64_t num_positions);

  const float* cos() const { return cos_.data(); }  // [reserved positions, head_dim / 2]
  const float* sin() const { return sin_.data(); }

 private:
  int64_t context_len_;
  std::vector<float> inverse_frequency_;  // [head_dim / 2], radians per position, scaling applied
  int64_t num_positions_ = 0;
  std::vector<float> cos_, sin_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_ROPE_H_
