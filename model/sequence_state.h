#ifndef SHORTLIST_MODEL_SEQUENCE_STATE_H_
#define SHORTLIST_MODEL_SEQUENCE_STATE_H_

#include <cstdint>
#include <vector>

#include "model/checkpoint/config.h"

namespace shortlist {

/// What the recurrent layers of a model remember of one sequence: their states after its first
/// len() tokens, and the inputs of the tokens computed since (pending), which may still be taken
/// back. A copy is a snapshot. Used by one pass at a time.
class SequenceState {
 public:
  /// The start of a sequence. Throws std::bad_alloc.
  explicit SequenceState(const ModelConfig& config);

  int64_t len() const { return len_; }
  int64_t num_pending() const { return num_pending_; }

  /// Bytes of a state without pending tokens.
  static int64_t Bytes(const ModelConfig& config);
  /// Bytes of a pending token.
  static int64_t PendingBytes(const ModelConfig& config);

  /// What one recurrent layer remembers (kernels/delta_net.h).
  struct Layer {
    std::vector<float> state;  // after len() tokens
    // Channels before the convolution: of the conv_len - 1 tokens before len(), then pending ones.
    std::vector<float> rows;
    std::vector<float> gates;  // of pending tokens
  };
  Layer& layer(int64_t index) { return layers_[index]; }  // empty for other layers

  /// Sets the lengths, after each layer was brought there.
  void SetLen(int64_t len, int64_t num_pending) {
    len_ = len;
    num_pending_ = num_pending;
  }

 private:
  int64_t len_ = 0;
  int64_t num_pending_ = 0;
  std::vector<Layer> layers_;  // [num_layers]
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_SEQUENCE_STATE_H_
