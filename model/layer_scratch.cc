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
  const ExpertShape& experts = config.experts;
  const int64_t intermediate =
      std::max({config.intermediate, experts.intermediate, experts.shared_intermediate});
  ReserveFloats(gated, num_tokens * intermediate);
  if (config.mlp_bias) ReserveFloats(mlp_gate, num_tokens * intermediate);
  if (config.norms.mixer_output != nullptr || config.norms.mlp_output != nullptr ||
      config.residual_scale != 1.0 || experts.num_experts > 0) {
    ReserveFloats(branch, num_tokens * config.hidden);
  }
  if (experts.num_experts == 0) return;
  ReserveFloats(expert_logits, num_tokens * experts.num_experts);
  for (Arena* const rows : {&normed, &expert_input, &expert_output}) {
    ReserveFloats(*rows, num_tokens * config.hidden);
  }
}

}  // namespace shortlist
