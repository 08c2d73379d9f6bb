#include "io/gguf/gguf_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/gguf/block_format.h"
#include "io/gguf/gguf_families.h"
#include "io/gguf/gguf_tokenizer.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

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

absl::StatusOr<json> ConfigOf(const GgufKeys& keys,
                              const std::map<std::string, TensorEntry>& tensors,
                              const std::vector<float>& rope_factors) {
  constexpr char kEmbeddings[] = "model.embed_tokens.weight";
  const auto embeddings = tensors.find(kEmbeddings);
  if (embeddings == tensors.end() || embeddings->second.shape.size() != 2) {
    return absl::InvalidArgumentError("no matrix token_embd.weight");
  }
  SHORTLIST_RETURN_IF_ERROR(keys.CheckKnown());
  SHORTLIST_ASSIGN_OR_RETURN(const GgufHeads heads, ReadHeads(keys));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t hidden, keys.Size("embedding_length"));
  // A model whose layers all have experts may lack the width of other MLPs.
  constexpr char kWidth[] = "feed_forward_length", kExpertWidth[] = "expert_feed_forward_length";
  const bool has_experts_only = !keys.Contains(kWidth) && keys.Contains(kExpertWidth);
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t intermediate,
                             keys.Size(has_experts_only ? kExpertWidth : kWidth));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t num_layers, keys.NumLayers());
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
  if (keys.family().may_have_biases) {
    config["attention_bias"] = has_bias("self_attn.q_proj");
    config["mlp_bias"] = has_bias("mlp.up_proj");
  }
  SHORTLIST_RETURN_IF_ERROR(keys.family().add(keys, config));
  return config;
}

}  // namespace

absl::StatusOr<std::map<std::string, TensorEntry>> GgufTensors(const GgufMetadata& metadata,
                                                               const GgufFile& file) {
  SHORTLIST_ASSIGN_OR_RETURN(const GgufKeys keys, GgufKeys::Of(metadata));
  // ConfigOf reports a missing number.
  int64_t num_layers = std::numeric_limits<int64_t>::max();
  if (keys.Contains("block_count")) {
    SHORTLIST_ASSIGN_OR_RETURN(num_layers, keys.NumLayers());
  }
  std::map<std::string, TensorEntry> tensors;
  for (const auto& [name, stored] : file.tensors) {
    if (name == kRopeFactors) continue;
    const std::optional<std::string> renamed = HuggingFaceName(name, keys.family(), num_layers);
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
      SHORTLIST_ASSIGN_OR_RETURN(const GgufHeads heads, ReadHeads(keys));
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
  SHORTLIST_ASSIGN_OR_RETURN(const GgufKeys keys, GgufKeys::Of(metadata));
  SHORTLIST_ASSIGN_OR_RETURN(const json config, ConfigOf(keys, tensors, rope_factors));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t context_len, keys.Size("context_length"));
  SHORTLIST_ASSIGN_OR_RETURN(
      auto documents,
      GgufTokenizerDocuments(metadata, context_len, config.at("vocab_size").get<int64_t>()));
  documents.emplace("config.json", config.dump());
  return documents;
}

}  // namespace shortlist
