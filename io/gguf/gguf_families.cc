#include "io/gguf/gguf_families.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();
constexpr char kMtpLayers[] = "nextn_predict_layers";

constexpr GgufName kTopModules[] = {
    {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};

/// Of a layer, in all architectures.
constexpr GgufName kModules[] = {
    {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"}, {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"}, {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
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

/// Keys that are read, or do not change the result, in every architecture.
constexpr const char* kKnownKeys[] = {
    "attention.head_count",   "attention.head_count_kv",
    "attention.key_length",   "attention.layer_norm_rms_epsilon",
    "attention.value_length", "block_count",
    "context_length",         "embedding_length",
    "feed_forward_length",    "rope.dimension_count",
    "rope.freq_base",         "rope.scaling.factor",
    "rope.scaling.type",      "vocab_size",
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
    "ssm.time_step_rank",      "ssm.inner_size",  "rope.dimension_sections", kMtpLayers,
};

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

constexpr GgufFamily kFamilies[] = {
    {.arch = "llama",
     .architecture = "LlamaForCausalLM",
     .model_type = "llama",
     .pairs_rows = true,
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

absl::StatusOr<int64_t> GgufKeys::Size(const char* name, std::optional<int64_t> otherwise) const {
  SHORTLIST_ASSIGN_OR_RETURN(const auto size, metadata_.Int(Key(name), 1, kMaxSize));
  if (!size && !otherwise) return metadata_.Invalid(Key(name), "missing");
  return size ? *size : *otherwise;
}

absl::StatusOr<double> GgufKeys::Real(const char* name, std::optional<double> otherwise) const {
  SHORTLIST_ASSIGN_OR_RETURN(const auto value, metadata_.Real(Key(name)));
  if (!value && !otherwise) return metadata_.Invalid(Key(name), "missing");
  char text[32];
  const float narrow = static_cast<float>(value ? *value : *otherwise);
  const auto end = std::to_chars(std::begin(text), std::end(text), narrow).ptr;
  double shortest = 0.0;
  std::from_chars(text, end, shortest);
  return shortest;
}

absl::Status GgufKeys::CheckKnown() const {
  const std::string prefix = Key("");
  for (const auto& [key, value] : metadata_.values()) {
    if (!key.starts_with(prefix)) continue;
    const std::string name = key.substr(prefix.size());
    const auto is_name = [&](const char* known) { return name == known; };
    if (std::any_of(std::begin(kKnownKeys), std::end(kKnownKeys), is_name)) continue;
    if (std::any_of(family_.keys.begin(), family_.keys.end(), is_name)) continue;
    return absl::UnimplementedError(
        std::string(metadata_.Invalid(key, "not supported: it may change the result").message()));
  }
  return absl::OkStatus();
}

absl::StatusOr<json> GgufKeys::RopeScaling() const {
  SHORTLIST_ASSIGN_OR_RETURN(const auto stored, metadata_.String(Key("rope.scaling.type")));
  // llama.cpp's defaults
  const std::string type = stored                                           ? *stored
                           : metadata_.Contains(Key("rope.scaling.factor")) ? "linear"
                                                                            : "none";
  if (type == "none") return json();
  if (type != "linear") {
    return absl::UnimplementedError(std::string(
        metadata_
            .Invalid(Key("rope.scaling.type"),
                     absl::StrCat(Quote(type), " is not supported; none and linear are"))
            .message()));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const double factor, Real("rope.scaling.factor", std::nullopt));
  return json{{"rope_type", "linear"}, {"factor", factor}};
}

absl::StatusOr<int64_t> GgufKeys::NumLayers() const {
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t num_blocks, Size("block_count"));
  SHORTLIST_ASSIGN_OR_RETURN(const auto num_mtp, metadata_.Int(Key(kMtpLayers), 0, num_blocks - 1));
  return num_blocks - num_mtp.value_or(0);
}

std::string GgufKeys::Key(const char* name) const { return absl::StrCat(family_.arch, ".", name); }

absl::StatusOr<GgufHeads> ReadHeads(const GgufKeys& keys) {
  GgufHeads heads;
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t hidden, keys.Size("embedding_length"));
  SHORTLIST_ASSIGN_OR_RETURN(heads.num_heads, keys.Size("attention.head_count"));
  SHORTLIST_ASSIGN_OR_RETURN(heads.num_kv_heads,
                             keys.Size("attention.head_count_kv", heads.num_heads));
  SHORTLIST_ASSIGN_OR_RETURN(
      heads.head_dim,
      keys.Size("attention.key_length", std::max<int64_t>(hidden / heads.num_heads, 1)));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t value_dim,
                             keys.Size("attention.value_length", heads.head_dim));
  SHORTLIST_ASSIGN_OR_RETURN(heads.rotary_dim, keys.Size("rope.dimension_count", heads.head_dim));
  const bool rotates_part = keys.family().may_rotate_part && heads.rotary_dim < heads.head_dim;
  if (value_dim != heads.head_dim || (heads.rotary_dim != heads.head_dim && !rotates_part)) {
    return absl::UnimplementedError(absl::StrCat(
        "metadata: keys of ", heads.head_dim, ", values of ", value_dim, " and RoPE over ",
        heads.rotary_dim, " dimensions; supported are models where the three are equal"));
  }
  return heads;
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
