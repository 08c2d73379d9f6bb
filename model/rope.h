#ifndef SHORTLIST_MODEL_ROPE_H_
#define SHORTLIST_MODEL_ROPE_H_

#include <cstdint>
#include <vector>

#include "model/checkpoint/config.h"

namespace shortlist {

/// Returns the radians per position of each pair of a head's dimensions, with scaling applied:
/// [rotary_dim / 2]. The frequencies are those at the last position of a sequence of `length`,
/// which only dynamic scaling uses.
std::vector<float> RopeFrequencies(const ModelConfig& config, int64_t length);

/// Cosines and sines of the rotary angles of one model, in the layout of QkvProjection. The table
/// grows with the longest position requested: a configuration may admit far more context than any
/// request uses.
///
/// A position's angles depend on the position alone. With dynamic scaling, whose frequencies follow
/// the length of the sequence, that length is position + 1. transformers computes the same when it
/// decodes token by token. (For a prompt beyond the original length, transformers uses the
/// frequencies of the prompt's length at all positions. So there, the angles of a text depend on
/// how it is split into pieces.)
class RopeTable {
 public:
  explicit RopeTable(const ModelConfig& config);

  /// Makes positions [0, num_positions) available; num_positions <= context_len. Invalidates
  /// pointers from cos() and sin(). Throws std::bad_alloc.
  void Reserve(int64_t num_positions);

  const float* cos() const { return cos_.data(); }  // [reserved positions, rotary_dim / 2]
  const float* sin() const { return sin_.data(); }
  /// Factors of queries, [reserved positions]; null: all are 1.
  const float* query_scale() const { return query_scale_.empty() ? nullptr : query_scale_.data(); }

 private:
  ModelConfig config_;
  std::vector<float> frequencies_;  // [rotary_dim / 2], radians per position, scaling applied
  int64_t num_positions_ = 0;
  std::vector<float> cos_, sin_, query_scale_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_ROPE_H_
