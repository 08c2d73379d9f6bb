#include "io/gguf/gguf_families.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr char kExpertWidth[] = "expert_feed_forward_length";
constexpr char kSharedExpertWidth[] = "expert_shared_feed_forward_length";

constexpr GgufName kTopModules[] = {
    {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};

/// Of a layer, in all architectures.
constexpr GgufName kModules[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"ffn_gate_inp", "mlp.gate"},
    // All experts in one tensor.
    {"ffn_gate_exps", "mlp.experts.gate_proj"},
    {"ffn_up_exps", "mlp.experts.up_proj"},
    {"ffn_gate_up_exps", "mlp.experts.gate_up_proj"},
    {"ffn_down_exps", "mlp.experts.down_proj"},
    {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
    {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
};

/// Of a layer for multi-token prediction, beside those of a layer.
constexpr GgufName kMtpModules[] = {
    {"nextn.eh_proj", "fc"},
    {"nextn.enorm", "pre_fc_norm_embedding"},
    {"nextn.hnorm", "pre_fc_norm_hidden"},
    {"nextn.shared_head_norm", "norm"},
    {"nextn.embed_tokens", "embed_tokens"},
    {"nextn.shared_head_head", "shared_head"},
};

constexpr GgufName kGemma3Modules[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
};
constexpr const char* kGemma3Keys[] = {"attention.sliding_window",
                                       "attention.sliding_window_pattern", "rope.freq_base_swa"};

constexpr GgufName kQwen35Modules[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"attn_qkv", "linear_attn.in_proj_qkv"},
    {"attn_gate", "linear_attn.in_proj_z"},
    {"ssm_alpha", "linear_attn.in_proj_a"},
    {"ssm_beta", "linear_attn.in_proj_b"},
    {"ssm_conv1d", "linear_attn.conv1d"},
    {"ssm_norm", "linear_attn.norm"},
    {"ssm_out", "linear_attn.out_proj"},
};
constexpr GgufName kQwen35Tensors[] = {{"ssm_a", "linear_attn.A"},
                                       {"ssm_dt.bias", "linear_attn.dt_bias"}};
constexpr const char* kQwen35Keys[] = {
    "full_attention_interval", "ssm.conv_kernel", "ssm.state_size",          "ssm.group_count",
    "ssm.time_step_rank",      "ssm.inner_size",  "rope.dimension_sections", kMtpLayersKey,
};
constexpr const char* kQwen35MoeKeys[] = {
    "full_attention_interval", "ssm.conv_kernel",    "ssm.state_size",
    "ssm.group_count",         "ssm.time_step_rank", "ssm.inner_size",
    "rope.dimension_sections", kMtpLayersKey,        "expert_count",
    "expert_used_count",       kExpertWidth,         kSharedExpertWidth,
};
constexpr const char* kExpertKeys[] = {"expert_count", "expert_used_count", kExpertWidth,
                                       kSharedExpertWidth};

constexpr GgufName kOutputNorms[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
};
constexpr GgufName kGlm4Modules[] = {
    {"post_attention_norm", "post_self_attn_layernorm"},
    {"post_ffw_norm", "post_mlp_layernorm"},
    {"ffn_up", "mlp.gate_up_proj"},
};
constexpr const char* kGraniteKeys[] = {"attention.scale", "embedding_scale", "residual_scale",
                                        "logit_scale"};

absl::Status AddSilu(const GgufKeys& /*keys*/, json& config) {
  config["hidden_act"] = "silu";
  return absl::OkStatus();
}

absl::Status AddQwen(const GgufKeys& keys, json& config) {
  config["use_sliding_window"] = false;
  return AddSilu(keys, config);
}

/// What llama.cpp knows rather than its files: every sixth layer has no window, layers with a
/// window have a base of 10,000, and the model of 62 layers (27B) scales its queries by the width
/// of a head if the heads divided the hidden state.
absl::Status AddGemma3(const GgufKeys& keys, json& config) {
  constexpr int64_t kPattern = 6, kLayersOf27B = 62;
  constexpr double kWindowTheta = 10000.0;
  SHORTLIST_ASSIGN_OR_RETURN(const GgufHeads heads, ReadHeads(keys));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t hidden, keys.Size("embedding_length"));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t num_layers, keys.NumLayers());
  config["hidden_activation"] = "gelu_pytorch_tanh";
  config["query_pre_attn_scalar"] =
      num_layers == kLayersOf27B ? hidden / heads.num_heads : heads.head_dim;
  config["norm_offset"] = 0;  // the stored weights of norms include it
  config["sliding_window"] = json();
  config["sliding_window_pattern"] = 1;
  if (!keys.Contains("attention.sliding_window")) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(config["sliding_window"], keys.Size("attention.sliding_window"));
  SHORTLIST_ASSIGN_OR_RETURN(config["sliding_window_pattern"],
                             keys.Size("attention.sliding_window_pattern", kPattern));
  SHORTLIST_ASSIGN_OR_RETURN(config["rope_local_base_freq"],
                             keys.Real("rope.freq_base_swa", kWindowTheta));
  return absl::OkStatus();
}

absl::Status AddQwen35(const GgufKeys& keys, json& config) {
  constexpr int64_t kInterval = 4;  // llama.cpp's, if the file has none
  SHORTLIST_ASSIGN_OR_RETURN(const GgufHeads heads, ReadHeads(keys));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t num_value_heads, keys.Size("ssm.time_step_rank"));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t width, keys.Size("ssm.inner_size"));
  if (width % num_value_heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata: ssm.inner_size = ", width,
                     " is not a multiple of ssm.time_step_rank = ", num_value_heads));
  }
  SHORTLIST_ASSIGN_OR_RETURN(config["full_attention_interval"],
                             keys.Size("full_attention_interval", kInterval));
  SHORTLIST_ASSIGN_OR_RETURN(config["linear_num_key_heads"], keys.Size("ssm.group_count"));
  SHORTLIST_ASSIGN_OR_RETURN(config["linear_key_head_dim"], keys.Size("ssm.state_size"));
  SHORTLIST_ASSIGN_OR_RETURN(config["linear_conv_kernel_dim"], keys.Size("ssm.conv_kernel"));
  config["linear_num_value_heads"] = num_value_heads;
  config["linear_value_head_dim"] = width / num_value_heads;
  config["value_heads_are_tiled"] = true;
  config["partial_rotary_factor"] =
      static_cast<double>(heads.rotary_dim) / static_cast<double>(heads.head_dim);
  config["norm_offset"] = 0;  // the stored weights of norms include it
  return AddSilu(keys, config);
}

/// Adds the shape of experts, with llama.cpp's defaults. llama.cpp knows `normalises` rather than
/// its files.
absl::Status AddExperts(const GgufKeys& keys, bool normalises, json& config) {
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t num_used, keys.Size("expert_used_count"));
  SHORTLIST_ASSIGN_OR_RETURN(config["num_experts"], keys.Size("expert_count"));
  SHORTLIST_ASSIGN_OR_RETURN(
      config["moe_intermediate_size"],
      keys.Size(kExpertWidth, config.at("intermediate_size").get<int64_t>() / num_used));
  config["num_experts_per_tok"] = num_used;
  config["norm_topk_prob"] = normalises;
  return absl::OkStatus();
}

absl::Status AddSharedExpert(const GgufKeys& keys, json& config) {
  SHORTLIST_ASSIGN_OR_RETURN(
      config["shared_expert_intermediate_size"],
      keys.Size(kSharedExpertWidth, config.at("intermediate_size").get<int64_t>()));
  return absl::OkStatus();
}

absl::Status AddQwen3Moe(const GgufKeys& keys, json& config) {
  SHORTLIST_RETURN_IF_ERROR(AddExperts(keys, /*normalises=*/true, config));
  return AddQwen(keys, config);
}

absl::Status AddQwen2Moe(const GgufKeys& keys, json& config) {
  SHORTLIST_RETURN_IF_ERROR(AddExperts(keys, /*normalises=*/false, config));
  SHORTLIST_RETURN_IF_ERROR(AddSharedExpert(keys, config));
  return AddQwen(keys, config);
}

absl::Status AddOlmoe(const GgufKeys& keys, json& config) {
  SHORTLIST_RETURN_IF_ERROR(AddExperts(keys, /*normalises=*/false, config));
  return AddSilu(keys, config);
}

absl::Status AddQwen35Moe(const GgufKeys& keys, json& config) {
  SHORTLIST_RETURN_IF_ERROR(AddExperts(keys, /*normalises=*/true, config));
  SHORTLIST_RETURN_IF_ERROR(AddSharedExpert(keys, config));
  return AddQwen35(keys, config);
}

absl::Status AddGranite(const GgufKeys& keys, json& config) {
  SHORTLIST_ASSIGN_OR_RETURN(const GgufHeads heads, ReadHeads(keys));
  SHORTLIST_ASSIGN_OR_RETURN(
      config["attention_multiplier"],
      keys.Real("attention.scale", 1.0 / std::sqrt(static_cast<double>(heads.head_dim))));
  SHORTLIST_ASSIGN_OR_RETURN(config["embedding_multiplier"], keys.Real("embedding_scale", 1.0));
  SHORTLIST_ASSIGN_OR_RETURN(config["residual_multiplier"], keys.Real("residual_scale", 1.0));
  SHORTLIST_ASSIGN_OR_RETURN(config["logits_scaling"], keys.Real("logit_scale", std::nullopt));
  return AddSilu(keys, config);
}

/// llama.cpp knows which layers are not rotated.
absl::Status AddSmolLm3(const GgufKeys& keys, json& config) {
  config["no_rope_layer_interval"] = 4;
  return AddSilu(keys, config);
}

absl::Status AddGlm4(const GgufKeys& keys, json& config) {
  SHORTLIST_ASSIGN_OR_RETURN(const GgufHeads heads, ReadHeads(keys));
  config["partial_rotary_factor"] =
      static_cast<double>(heads.rotary_dim) / static_cast<double>(heads.head_dim);
  return AddSilu(keys, config);
}

constexpr GgufFamily kFamilies[] = {
    {.arch = "llama",
     .architecture = "LlamaForCausalLM",
     .model_type = "llama",
     .pairs_rows = true,
     .may_have_biases = true,
     .add = AddSilu},
    {.arch = "qwen2", .architecture = "Qwen2ForCausalLM", .model_type = "qwen2", .add = AddQwen},
    {.arch = "qwen3", .architecture = "Qwen3ForCausalLM", .model_type = "qwen3", .add = AddQwen},
    {.arch = "qwen35",
     .architecture = "Qwen3_5ForCausalLM",
     .model_type = "qwen3_5_text",
     .may_rotate_part = true,
     .modules = kQwen35Modules,
     .tensors = kQwen35Tensors,
     .keys = kQwen35Keys,
     .add = AddQwen35},
    {.arch = "qwen2moe",
     .architecture = "Qwen2MoeForCausalLM",
     .model_type = "qwen2_moe",
     .keys = kExpertKeys,
     .add = AddQwen2Moe},
    {.arch = "qwen3moe",
     .architecture = "Qwen3MoeForCausalLM",
     .model_type = "qwen3_moe",
     .keys = kExpertKeys,
     .add = AddQwen3Moe},
    {.arch = "qwen35moe",
     .architecture = "Qwen3_5MoeForCausalLM",
     .model_type = "qwen3_5_moe_text",
     .may_rotate_part = true,
     .modules = kQwen35Modules,
     .tensors = kQwen35Tensors,
     .keys = kQwen35MoeKeys,
     .add = AddQwen35Moe},
    {.arch = "olmoe",
     .architecture = "OlmoeForCausalLM",
     .model_type = "olmoe",
     .keys = kExpertKeys,
     .add = AddOlmoe},
    {.arch = "olmo2",
     .architecture = "Olmo2ForCausalLM",
     .model_type = "olmo2",
     .modules = kOutputNorms,
     .add = AddSilu},
    {.arch = "granite",
     .architecture = "GraniteForCausalLM",
     .model_type = "granite",
     .pairs_rows = true,
     .may_have_biases = true,
     .keys = kGraniteKeys,
     .add = AddGranite},
    {.arch = "smollm3",
     .architecture = "SmolLM3ForCausalLM",
     .model_type = "smollm3",
     .pairs_rows = true,
     .may_have_biases = true,
     .add = AddSmolLm3},
    {.arch = "glm4",
     .architecture = "Glm4ForCausalLM",
     .model_type = "glm4",
     .may_rotate_part = true,
     .may_have_biases = true,
     .modules = kGlm4Modules,
     .add = AddGlm4},
    {.arch = "gemma3",
     .architecture = "Gemma3ForCausalLM",
     .model_type = "gemma3_text",
     .modules = kGemma3Modules,
     .keys = kGemma3Keys,
     .add = AddGemma3},
};

const GgufName* FindName(std::span<const GgufName> names, const std::string& name) {
  const auto found = std::ranges::find_if(
      names, [&name](const GgufName& candidate) { return name == candidate.gguf; });
  return found == names.end() ? nullptr : &*found;
}

}  // namespace

absl::StatusOr<GgufKeys> GgufKeys::Of(const GgufMetadata& metadata) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto arch, metadata.String("general.architecture"));
  if (!arch) return metadata.Invalid("general.architecture", "missing");
  std::string known;
  for (const GgufFamily& family : kFamilies) {
    if (*arch == family.arch) return GgufKeys(metadata, family);
    absl::StrAppend(&known, known.empty() ? "" : ", ", family.arch);
  }
  return absl::UnimplementedError(
      std::string(metadata
                      .Invalid("general.architecture",
                               absl::StrCat(Quote(*arch), " is not supported; ", known, " are"))
                      .message()));
}

std::optional<std::string> HuggingFaceName(const std::string& name, const GgufFamily& family,
                                           int64_t num_layers) {
  const auto rename = [](std::span<const GgufName> names, const std::string& prefix,
                         const std::string& module,
                         const std::string& kind) -> std::optional<std::string> {
    const GgufName* const found = FindName(names, module);
    if (found == nullptr) return std::nullopt;
    return absl::StrCat(prefix, found->hugging_face, kind);
  };
  std::string rest = name, prefix;
  bool is_mtp = false;
  if (name.starts_with("blk.")) {
    const size_t end = name.find('.', 4);
    if (end == std::string::npos) return std::nullopt;
    int layer = 0;
    const auto [stop, error] = std::from_chars(name.data() + 4, name.data() + end, layer);
    if (error != std::errc() || stop != name.data() + end || layer < 0) return std::nullopt;
    is_mtp = layer >= num_layers;
    prefix = is_mtp ? absl::StrCat("mtp.layers.", layer - num_layers, ".")
                    : absl::StrCat("model.layers.", layer, ".");
    rest = name.substr(end + 1);
    if (const auto whole = rename(family.tensors, prefix, rest, "")) return whole;
  }
  const size_t dot = rest.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  const std::string kind = rest.substr(dot), module = rest.substr(0, dot);
  if (kind != ".weight" && kind != ".bias") return std::nullopt;
  if (prefix.empty()) return rename(kTopModules, "", module, kind);
  if (is_mtp) {
    if (const auto mtp = rename(kMtpModules, "mtp.", module, kind)) return mtp;
  }
  const auto own = rename(family.modules, prefix, module, kind);
  return own ? own : rename(kModules, prefix, module, kind);
}

}  // namespace shortlist
