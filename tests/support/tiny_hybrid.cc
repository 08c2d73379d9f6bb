#include "tests/support/tiny_hybrid.h"

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/random_tensors.h"

namespace shortlist {
namespace {

constexpr int64_t kVocab = 96, kHidden = 32, kIntermediate = 48;
constexpr int64_t kHeads = 4, kKvHeads = 2, kHeadDim = 8;
constexpr int64_t kKeyHeads = 2, kValueHeads = 4, kKeyDim = 8, kValueDim = 20, kConvLen = 4;
constexpr int64_t kLayers = 4;

/// Norms are stored without their 1.
void AddNorm(RandomTensors& random, const std::string& name, int64_t size) {
  random.Add(name, {size}, 0.0, 0.1);
}

void AddAttention(RandomTensors& random, const std::string& prefix) {
  random.AddLinear(prefix + "q_proj.weight", 2 * kHeads * kHeadDim, kHidden);
  random.AddLinear(prefix + "k_proj.weight", kKvHeads * kHeadDim, kHidden);
  random.AddLinear(prefix + "v_proj.weight", kKvHeads * kHeadDim, kHidden);
  random.AddLinear(prefix + "o_proj.weight", kHidden, kHeads * kHeadDim);
  AddNorm(random, prefix + "q_norm.weight", kHeadDim);
  AddNorm(random, prefix + "k_norm.weight", kHeadDim);
}

void AddDeltaNet(RandomTensors& random, const std::string& prefix) {
  constexpr int64_t kChannels = 2 * kKeyHeads * kKeyDim + kValueHeads * kValueDim;
  random.AddLinear(prefix + "in_proj_qkv.weight", kChannels, kHidden);
  random.AddLinear(prefix + "in_proj_z.weight", kValueHeads * kValueDim, kHidden);
  random.AddLinear(prefix + "in_proj_a.weight", kValueHeads, kHidden);
  random.AddLinear(prefix + "in_proj_b.weight", kValueHeads, kHidden);
  random.Add(prefix + "conv1d.weight", {kChannels, 1, kConvLen}, 0.0, 0.5);
  random.Add(prefix + "A_log", {kValueHeads}, 0.0, 0.5);
  random.Add(prefix + "dt_bias", {kValueHeads}, 0.0, 0.5);
  random.AddNorm(prefix + "norm.weight", kValueDim);
  random.AddLinear(prefix + "out_proj.weight", kHidden, kValueHeads * kValueDim);
}

void AddLayer(RandomTensors& random, const std::string& prefix, bool is_recurrent) {
  AddNorm(random, prefix + "input_layernorm.weight", kHidden);
  if (is_recurrent) {
    AddDeltaNet(random, prefix + "linear_attn.");
  } else {
    AddAttention(random, prefix + "self_attn.");
  }
  AddNorm(random, prefix + "post_attention_layernorm.weight", kHidden);
  random.AddLinear(prefix + "mlp.gate_proj.weight", kIntermediate, kHidden);
  random.AddLinear(prefix + "mlp.up_proj.weight", kIntermediate, kHidden);
  random.AddLinear(prefix + "mlp.down_proj.weight", kHidden, kIntermediate);
}

}  // namespace

absl::Status WriteTinyHybrid(const std::string& dir, uint64_t seed) {
  RandomTensors random(DType::kF32, seed);
  random.Add("model.embed_tokens.weight", {kVocab, kHidden}, 0.0, 1.0);
  for (int64_t i = 0; i < kLayers; ++i) {
    AddLayer(random, absl::StrCat("model.layers.", i, "."), /*is_recurrent=*/i % 2 == 0);
  }
  AddNorm(random, "model.norm.weight", kHidden);
  random.Add("lm_head.weight", {kVocab, kHidden}, 0.0, 0.5);
  random.AddLinear("mtp.fc.weight", kHidden, 2 * kHidden);
  AddNorm(random, "mtp.pre_fc_norm_embedding.weight", kHidden);
  AddNorm(random, "mtp.pre_fc_norm_hidden.weight", kHidden);
  AddNorm(random, "mtp.norm.weight", kHidden);
  AddLayer(random, "mtp.layers.0.", /*is_recurrent=*/false);
  const nlohmann::json config = {{"architectures", {"Qwen3_5ForCausalLM"}},
                                 {"model_type", "qwen3_5_text"},
                                 {"vocab_size", kVocab},
                                 {"hidden_size", kHidden},
                                 {"intermediate_size", kIntermediate},
                                 {"num_hidden_layers", kLayers},
                                 {"num_attention_heads", kHeads},
                                 {"num_key_value_heads", kKvHeads},
                                 {"head_dim", kHeadDim},
                                 {"partial_rotary_factor", 0.5},
                                 {"full_attention_interval", 2},
                                 {"linear_num_key_heads", kKeyHeads},
                                 {"linear_num_value_heads", kValueHeads},
                                 {"linear_key_head_dim", kKeyDim},
                                 {"linear_value_head_dim", kValueDim},
                                 {"linear_conv_kernel_dim", kConvLen},
                                 {"mtp_num_hidden_layers", 1},
                                 {"max_position_embeddings", 2048},
                                 {"rms_norm_eps", 1e-6},
                                 {"rope_theta", 10000.0},
                                 {"hidden_act", "silu"},
                                 {"tie_word_embeddings", false},
                                 {"bos_token_id", 1},
                                 {"eos_token_id", 2},
                                 {"dtype", "float32"}};
  return WriteModel(dir, config, random.tensors);
}

}  // namespace shortlist
