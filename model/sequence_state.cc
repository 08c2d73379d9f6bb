#include "model/sequence_state.h"

namespace shortlist {
namespace {

int64_t TailFloats(const DeltaNetShape& shape) {
  return (shape.conv_len - 1) * shape.num_channels();
}

}  // namespace

SequenceState::SequenceState(const ModelConfig& config) : layers_(config.num_layers) {
  const DeltaNetShape& shape = config.delta_net;
  for (int64_t i = 0; i < config.num_layers; ++i) {
    if (!config.IsRecurrent(i)) continue;
    layers_[i].state.assign(shape.state_floats(), 0.0f);
    layers_[i].rows.assign(TailFloats(shape), 0.0f);
  }
}

int64_t SequenceState::Bytes(const ModelConfig& config) {
  const int64_t floats = config.delta_net.state_floats() + TailFloats(config.delta_net);
  return config.num_recurrent_layers() * floats * static_cast<int64_t>(sizeof(float));
}

int64_t SequenceState::PendingBytes(const ModelConfig& config) {
  const int64_t floats = config.delta_net.num_channels() + 2 * config.delta_net.num_value_heads;
  return config.num_recurrent_layers() * floats * static_cast<int64_t>(sizeof(float));
}

}  // namespace shortlist
