#ifndef SHORTLIST_MODEL_ROPE_H_
#define SHORTLIST_MODEL_ROPE_H_

#include <cstdint>
#include <vector>

#include "model/checkpoint/config.h"

namespace shortlist {

/// Radians per position of each pair of a head's dimensions at the last position of a sequence of
/// `length` (which only dynamic scaling asks for), scaling applied: [head_dim / 2].
std::vector<float> RopeFrequencies(const ModelConfig& config, int64_t length);

/// Cosines and sines of the rotary angles of one model, as QkvProjection takes them. The table
/// grows with the longest position asked for: a configuration may admit far more context than any
/// request uses.
///
/// A position's angles depend on the position alone. With dynamic scaling, whose frequencies follow
/// the length of the sequence, that length is position + 1: what transformers computes when it
/// decodes token by token. (There, a prompt beyond the original length takes the frequencies of
/// its own length throughout, so that the same text has other angles when it comes in other
/// pieces.)
class RopeTable {
 public:
  explicit RopeTable(const ModelConfig& config);

  /// Makes positions [0, num_positions) available; num_positions <= context_len. Mutates; pointers
  /// from before are void. Throws std::bad_alloc.
  void Reserve(int64_t num_positions);

  const float* cos() const { return cos_.data(); }  // [reserved positions, head_dim / 2]
  const float* sin() const { return sin_.data(); }

 private:
  ModelConfig config_;
  std::vector<float> frequencies_;  // [head_dim / 2], radians per position, scaling applied
  int64_t num_positions_ = 0;
  std::vector<float> cos_, sin_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_ROPE_H_
