#include "io/gguf/gguf_model.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/gguf/block_format.h"
#include "io/gguf/gguf_tokenizer.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

struct Renamed {
  const char* gguf;
  const char* hugging_face;
};

constexpr Renamed kGemma3Names[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
};

constexpr const char* kGemma3Keys[] = {"attention.sliding_window",
                                       "attention.sliding_window_pattern", "rope.freq_base_swa"};

/// An architecture of llama.cpp as one of Hugging Face.
struct Family {
  const char* arch;  // general.architecture
  const char* architecture;
  const char* model_type;
  bool pairs_rows;         // q and k rows of a head are stored as the pairs that RoPE rotates
  bool is_gemma3 = false;  // AddGemma3 applies
  std::span<const Renamed> names = {};     // of a layer, before kLayerNames
  std::span<const char* const> keys = {};  // in addition to kKnownKeys
};

constexpr Family kFamilies[] = {
    {"llama", "LlamaForCausalLM", "llama", true},
    {"qwen2", "Qwen2ForCausalLM", "qwen2", false},
    {"qwen3", "Qwen3ForCausalLM", "qwen3", false},
    {"gemma3", "Gemma3ForCausalLM", "gemma3_text", false, /*is_gemma3=*/true, kGemma3Names,
     kGemma3Keys},
};

/// Keys below `{arch}.` that are read, or do not change the result, in every architecture.
constexpr const char* kKnownKeys[] = {
    "attention.head_count",   "attention.head_count_kv",
    "attention.key_length",   "attention.layer_norm_rms_epsilon",
    "attention.value_length", "block_count",
    "context_length",         "embedding_length",
    "feed_forward_length",    "rope.dimension_count",
    "rope.freq_base",         "rope.scaling.factor",
    "rope.scaling.type",      "vocab_size",
};

constexpr Renamed kTopNames[] = {
    {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};

constexpr Renamed kLayerNames[] = {
    {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"}, {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"}, {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
};

/// `blk.3.attn_q.weight` -> `model.layers.3.self_attn.q_proj.weight`; nullopt for another name.
std::optional<std::string> HuggingFaceName(const std::string& name, const Family& family) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  const std::string kind = name.substr(dot);
  if (kind != ".weight" && kind != ".bias") return std::nullopt;
  std::string module = name.substr(0, dot), prefix;
  if (module.starts_with("blk.")) {
    const size_t end = module.find('.', 4);
    if (end == std::string::npos) return std::nullopt;
    int layer = 0;
    const auto [rest, error] = std::from_chars(module.data() + 4, module.data() + end, layer);
    if (error != std::errc() || rest != module.data() + end || layer < 0) return std::nullopt;
    prefix = absl::StrCat("model.layers.", layer, ".");
    module = module.substr(end + 1);
  }
  const auto find = [&](const auto& names) -> std::optional<std::string> {
    for (const auto& [gguf, hugging_face] : names) {
      if (module == gguf) return absl::StrCat(prefix, hugging_face, kind);
    }
    return std::nullopt;
  };
  if (prefix.empty()) return find(kTopNames);
  const std::optional<std::string> own = find(family.names);
  return own ? own : find(kLayerNames);
}

/// The keys of one file's architecture.
class ArchKeys {
 public:
  static absl::StatusOr<ArchKeys> Of(const GgufMetadata& metadata) {
    SHORTLIST_ASSIGN_OR_RETURN(const auto arch, metadata.String("general.architecture"));
    if (!arch) return metadata.Invalid("general.architecture", "missing");
    std::string known;
    for (const Family& family : kFamilies) {
      if (*arch == family.arch) return ArchKeys(metadata, family);
      absl::StrAppend(&known, known.empty() ? "" : ", ", family.arch);
    }
    return absl::UnimplementedError(
        std::string(metadata
                        .Invalid("general.architecture",
                                 absl::StrCat(Quote(*arch), " is not supported; ", known, " are"))
                        .message()));
  }

  const Family& family() const { return family_; }

  absl::StatusOr<int64_t> Size(const char* name) const {
    SHORTLIST_ASSIGN_OR_RETURN(const auto size, metadata_.Int(Key(name), 1, kMaxSize));
    if (!size) return metadata_.Invalid(Key(name), "missing");
    return *size;
  }
  absl::StatusOr<int64_t> Size(const char* name, int64_t otherwise) const {
    SHORTLIST_ASSIGN_OR_RETURN(const auto size, metadata_.Int(Key(name), 1, kMaxSize));
    return size.value_or(otherwise);
  }
  bool Contains(const char* name) const { return metadata_.Contains(Key(name)); }
  /// The shortest decimal number that gives the same f32: 1e-06 rather than 9.999999974752427e-07.
  absl::StatusOr<double> Real(const char* name, std::optional<double> otherwise) const {
    SHORTLIST_ASSIGN_OR_RETURN(const auto value, metadata_.Real(Key(name)));
    if (!value && !otherwise) return metadata_.Invalid(Key(name), "missing");
    char text[32];
    const float narrow = static_cast<float>(value ? *value : *otherwise);
    const auto end = std::to_chars(std::begin(text), std::end(text), narrow).ptr;
    double shortest = 0.0;
    std::from_chars(text, end, shortest);
    return shortest;
  }

  /// Unimplemented names a key that is not in kKnownKeys.
  absl::Status CheckKnown() const {
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

  absl::StatusOr<json> RopeScaling() const {
    SHORTLIST_ASSIGN_OR_RETURN(auto type, metadata_.String(Key("rope.scaling.type")));
    // llama.cpp's default
    if (!type && metadata_.Contains(Key("rope.scaling.factor"))) type = "linear";
    if (!type || *type == "none") return json();
    if (*type != "linear") {
      return absl::UnimplementedError(std::string(
          metadata_
              .Invalid(Key("rope.scaling.type"),
                       absl::StrCat(Quote(*type), " is not supported; none and linear are"))
              .message()));
    }
    SHORTLIST_ASSIGN_OR_RETURN(const double factor, Real("rope.scaling.factor", std::nullopt));
    return json{{"rope_type", "linear"}, {"factor", factor}};
  }

 private:
  ArchKeys(const GgufMetadata& metadata, const Family& family)
      : metadata_(metadata), family_(family) {}

  std::string Key(const char* name) const { return absl::StrCat(family_.arch, ".", name); }

  const GgufMetadata& metadata_;
  const Family& family_;
};

/// The scaling by which Llama 3's frequencies are divided by `factors`. GGUF files have these
/// numbers instead of the scaling's parameters, of which all models but the factor are the same.
absl::StatusOr<json> Llama3Scaling(const std::vector<float>& factors, double theta,
                                   int64_t head_dim) {
  constexpr double kLow = 1.0, kHigh = 4.0, kContextLen = 8192.0, kTolerance = 1e-4;
  const double factor = *std::max_element(factors.begin(), factors.end());
  bool fits = std::ssize(factors) * 2 == head_dim && factor > 1.0;
  for (size_t i = 0; i < factors.size() && fits; ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(head_dim);
    const double turns = kContextLen / (2.0 * std::numbers::pi * std::pow(theta, exponent));
    const double smooth = std::clamp((turns - kLow) / (kHigh - kLow), 0.0, 1.0);
    const double expected = 1.0 / ((1.0 - smooth) / factor + smooth);
    fits = std::abs(factors[i] - expected) <= kTolerance * expected;
  }
  if (!fits) {
    return absl::UnimplementedError(
        absl::StrCat("tensor ", kRopeFactors, " does not hold the factors of Llama 3's scaling"));
  }
  return json{{"rope_type", "llama3"},
              {"factor", factor},
              {"low_freq_factor", kLow},
              {"high_freq_factor", kHigh},
              {"original_max_position_embeddings", static_cast<int64_t>(kContextLen)}};
}

struct Heads {
  int64_t num_heads, num_kv_heads, head_dim;
};

absl::StatusOr<Heads> ReadHeads(const ArchKeys& keys) {
  Heads heads;
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t hidden, keys.Size("embedding_length"));
  SHORTLIST_ASSIGN_OR_RETURN(heads.num_heads, keys.Size("attention.head_count"));
  SHORTLIST_ASSIGN_OR_RETURN(heads.num_kv_heads,
                             keys.Size("attention.head_count_kv", heads.num_heads));
  SHORTLIST_ASSIGN_OR_RETURN(
      heads.head_dim,
      keys.Size("attention.key_length", std::max<int64_t>(hidden / heads.num_heads, 1)));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t value_dim,
                             keys.Size("attention.value_length", heads.head_dim));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t rope_dim,
                             keys.Size("rope.dimension_count", heads.head_dim));
  if (value_dim != heads.head_dim || rope_dim != heads.head_dim) {
    return absl::UnimplementedError(absl::StrCat(
        "metadata: keys of ", heads.head_dim, ", values of ", value_dim, " and RoPE over ",
        rope_dim, " dimensions; supported are models where the three are equal"));
  }
  return heads;
}

/// Adds what is specific to Gemma 3. What llama.cpp knows rather than its files: every sixth layer
/// has no window, layers with a window have a base of 10,000, and the model of 62 layers (27B)
/// scales its queries by the width of a head if the heads divided the hidden state.
absl::Status AddGemma3(const ArchKeys& keys, int64_t num_layers, int64_t hidden, const Heads& heads,
                       json& config) {
  constexpr int64_t kPattern = 6, kLayersOf27B = 62;
  constexpr double kWindowTheta = 10000.0;
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

absl::StatusOr<json> ConfigOf(const ArchKeys& keys,
                              const std::map<std::string, TensorEntry>& tensors,
                              const std::vector<float>& rope_factors) {
  constexpr char kEmbeddings[] = "model.embed_tokens.weight";
  const auto embeddings = tensors.find(kEmbeddings);
  if (embeddings == tensors.end() || embeddings->second.shape.size() != 2) {
    return absl::InvalidArgumentError("no matrix token_embd.weight");
  }
  SHORTLIST_RETURN_IF_ERROR(keys.CheckKnown());
  SHORTLIST_ASSIGN_OR_RETURN(const Heads heads, ReadHeads(keys));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t hidden, keys.Size("embedding_length"));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t intermediate, keys.Size("feed_forward_length"));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t num_layers, keys.Size("block_count"));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t context_len, keys.Size("context_length"));
  SHORTLIST_ASSIGN_OR_RETURN(const double epsilon,
                             keys.Real("attention.layer_norm_rms_epsilon", std::nullopt));
  SHORTLIST_ASSIGN_OR_RETURN(const double theta, keys.Real("rope.freq_base", 10000.0));
  SHORTLIST_ASSIGN_OR_RETURN(json scaling, keys.RopeScaling());
  if (!rope_factors.empty()) {
    if (!scaling.is_null()) {
      return absl::UnimplementedError(
          absl::StrCat("metadata rope.scaling.type and tensor ", kRopeFactors, " together"));
    }
    SHORTLIST_ASSIGN_OR_RETURN(scaling, Llama3Scaling(rope_factors, theta, heads.head_dim));
  }
  const DType dtype = *embeddings->second.dtype;
  const auto has_bias = [&](const char* module) {
    return tensors.contains(absl::StrCat("model.layers.0.", module, ".bias"));
  };
  json config = {
      {"architectures", {keys.family().architecture}},
      {"model_type", keys.family().model_type},
      {"hidden_size", hidden},
      {"intermediate_size", intermediate},
      {"num_hidden_layers", num_layers},
      {"num_attention_heads", heads.num_heads},
      {"num_key_value_heads", heads.num_kv_heads},
      {"head_dim", heads.head_dim},
      {"max_position_embeddings", context_len},
      {"rms_norm_eps", epsilon},
      {"rope_theta", theta},
      {"rope_scaling", std::move(scaling)},
      {"tie_word_embeddings", !tensors.contains("lm_head.weight")},
      {"torch_dtype", dtype == DType::kF32   ? "float32"
                      : dtype == DType::kF16 ? "float16"
                                             : "bfloat16"},
      // Rows of the embedding: a file may pad them beyond the tokens of its tokenizer.
      {"vocab_size", embeddings->second.shape[0]},
  };
  if (keys.family().is_gemma3) {
    SHORTLIST_RETURN_IF_ERROR(AddGemma3(keys, num_layers, hidden, heads, config));
    return config;
  }
  config["hidden_act"] = "silu";
  if (keys.family().pairs_rows) {
    config["attention_bias"] = has_bias("self_attn.q_proj");
    config["mlp_bias"] = has_bias("mlp.up_proj");
  } else {
    config["use_sliding_window"] = false;
  }
  return config;
}

}  // namespace

absl::StatusOr<std::map<std::string, TensorEntry>> GgufTensors(const GgufMetadata& metadata,
                                                               const GgufFile& file) {
  SHORTLIST_ASSIGN_OR_RETURN(const ArchKeys keys, ArchKeys::Of(metadata));
  std::map<std::string, TensorEntry> tensors;
  for (const auto& [name, stored] : file.tensors) {
    if (name == kRopeFactors) continue;
    const std::optional<std::string> renamed = HuggingFaceName(name, keys.family());
    if (!renamed) {
      return absl::UnimplementedError(absl::StrCat("tensor ", Quote(name), " is not part of a ",
                                                   keys.family().arch, " model known here"));
    }
    if (!stored.dtype.has_value()) {
      return absl::UnimplementedError(
          absl::StrCat("tensor ", Quote(name), ": weights of type ", stored.dtype_name));
    }
    TensorEntry entry = stored;
    if (keys.family().pairs_rows &&
        (name.ends_with(".attn_q.weight") || name.ends_with(".attn_k.weight"))) {
      SHORTLIST_ASSIGN_OR_RETURN(const Heads heads, ReadHeads(keys));
      if (heads.head_dim % 2 != 0 || entry.shape.size() != 2 ||
          entry.shape[0] % heads.head_dim != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("tensor ", Quote(name), " of shape ", ShapeString(entry.shape),
                         " has no whole heads of an even number of dimensions, ", heads.head_dim));
      }
      entry.paired_rows = heads.head_dim;
    }
    if (keys.family().pairs_rows &&
        (name.ends_with(".attn_q.bias") || name.ends_with(".attn_k.bias"))) {
      return absl::UnimplementedError(
          absl::StrCat("tensor ", Quote(name), ": biases of Llama's shape are not supported"));
    }
    if (!tensors.emplace(*renamed, std::move(entry)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", Quote(name), " is another one's, too: ", *renamed));
    }
  }
  return tensors;
}

absl::StatusOr<std::map<std::string, std::string>> GgufDocuments(
    const GgufMetadata& metadata, const std::map<std::string, TensorEntry>& tensors,
    const std::vector<float>& rope_factors) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto type, metadata.String("general.type"));
  if (type && *type != "model") {
    return metadata.Invalid("general.type", absl::StrCat(Quote(*type), ", not \"model\""));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const ArchKeys keys, ArchKeys::Of(metadata));
  SHORTLIST_ASSIGN_OR_RETURN(const json config, ConfigOf(keys, tensors, rope_factors));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t context_len, keys.Size("context_length"));
  SHORTLIST_ASSIGN_OR_RETURN(
      auto documents,
      GgufTokenizerDocuments(metadata, context_len, config.at("vocab_size").get<int64_t>()));
  documents.emplace("config.json", config.dump());
  return documents;
}

}  // namespace shortlist
