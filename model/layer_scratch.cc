#include "model/layer_scratch.h"

#include <algorithm>

namespace shortlist {

void LayerScratch::Reserve(const ModelConfig& config, int64_t num_tokens) {
  const bool is_recurrent = config.num_recurrent_layers() > 0;
  const DeltaNetShape& delta_net = config.delta_net;
  const int64_t q_features = config.num_heads * config.head_dim;
  const int64_t qkv_features = q_features + 2 * config.num_kv_heads * config.head_dim;
  const int64_t width = std::max(q_features, is_recurrent ? delta_net.value_width() : 0);
  ReserveFloats(qkv,
                num_tokens * std::max(qkv_features, is_recurrent ? delta_net.num_channels() : 0));
  ReserveFloats(attended, num_tokens * width);
  if (config.output_gate || is_recurrent) ReserveFloats(gate, num_tokens * width);
  if (is_recurrent) ReserveFloats(step_gates, num_tokens * 2 * delta_net.num_value_heads);
  ReserveFloats(gated, num_tokens * config.intermediate);
  if (config.output_norms) ReserveFloats(branch, num_tokens * config.hidden);
}

}  // namespace shortlist
