#include "model/checkpoint/eagle3_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "model/checkpoint/config_fields.h"
#include "model/checkpoint/other_models.h"
#include "nlohmann/json.hpp"
#include "vocab/formats/draft_map.h"
#include "vocab/vocab_list.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr char kIds[] = "eagle_aux_hidden_state_layer_ids";
constexpr int64_t kMaxTaps = 64;
constexpr double kMaxScale = 1e6;

/// The tensors of a head: names and shapes.
class Tensors {
 public:
  explicit Tensors(const WeightFiles& weights) : weights_(weights) {}

  bool Contains(const std::string& name) const { return weights_.tensors().contains(name); }
  /// The shape of `name`; empty if it is missing.
  std::vector<int64_t> Shape(const std::string& name) const {
    const auto found = weights_.tensors().find(name);
    return found == weights_.tensors().end() ? std::vector<int64_t>() : found->second.entry->shape;
  }
  /// The shape of the matrix `name`. InvalidArgument if it is missing or no matrix.
  absl::StatusOr<std::vector<int64_t>> MatrixShape(const std::string& name) const {
    if (!Contains(name)) return Missing(name);
    std::vector<int64_t> shape = Shape(name);
    if (shape.size() == 2 && shape[0] > 0 && shape[1] > 0) return shape;
    return Invalid(name, "is no matrix");
  }
  absl::Status Missing(const std::string& name) const {
    return absl::InvalidArgumentError(
        absl::StrCat(weights_.dir(), ": an EAGLE-3 head without tensor ", name));
  }
  absl::Status Invalid(const std::string& name, const std::string& problem) const {
    return absl::InvalidArgumentError(absl::StrCat(weights_.dir(), ": tensor ", name, " ",
                                                   ShapeString(Shape(name)), " ", problem));
  }
  const WeightFiles& weights() const { return weights_; }

 private:
  const WeightFiles& weights_;
};

/// Returns the fields of the layers as a Llama's, which ParseModelConfig reads: without what
/// Eagle3Config decides by the tensors, or what belongs to whole models.
json LayerFields(json object) {
  const auto text = [&object](const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
  };
  const std::string type = text("model_type");
  const auto is_set = [&object](const char* name) {
    const auto found = object.find(name);
    return found != object.end() && *found == true;
  };
  // Qwen's files give the window's size even where it is not used.
  if (absl::StartsWith(type, "qwen") && !is_set("use_sliding_window")) {
    object.erase("sliding_window");
  }
  if (type == "llama4_text" && object.contains("intermediate_size_mlp")) {
    object["intermediate_size"] = object["intermediate_size_mlp"];
  }
  // Positions of pictures; those of text are plain.
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    const auto rope = object.find(name);
    if (rope == object.end() || !rope->is_object() || !rope->contains("mrope_section")) continue;
    for (const char* key : {"mrope_section", "mrope_interleaved"}) rope->erase(key);
    for (const char* key : {"type", "rope_type"}) {
      if (rope->contains(key) && (*rope)[key] == "mrope") rope->erase(key);
    }
  }
  constexpr int64_t kLlamasContext = 2048;  // transformers' default
  if (!object.contains("max_position_embeddings")) {
    object["max_position_embeddings"] = kLlamasContext;
  }
  object["architectures"] = {"LlamaForCausalLM"};
  for (const char* name : {"model_type", "attention_bias", "qkv_bias", "bias", "auto_map",
                           "logit_scale", "tie_word_embeddings", "eos_token_id", "bos_token_id",
                           "pad_token_id", "max_window_layers"}) {
    object.erase(name);
  }
  return object;
}

/// Sets `layers`, from the fields of one level and the tensors of the first layer.
absl::Status ReadLayers(const ConfigFields& fields, const Tensors& tensors, Eagle3Config& config) {
  config.first_layer = tensors.Contains("midlayer.hidden_norm.weight") ? "midlayer." : "layers.0.";
  SHORTLIST_ASSIGN_OR_RETURN(config.layers,
                             ParseModelConfig(LayerFields(fields.object()), fields.where()));
  ModelConfig& layers = config.layers;
  const std::string attention = config.first_layer + "self_attn.";
  layers.qk_norm = tensors.Contains(attention + "q_norm.weight");
  layers.qkv_bias = tensors.Contains(attention + "q_proj.bias");
  // SafeAILab's code ignores head_dim.
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<int64_t> queries,
                             tensors.MatrixShape(attention + "q_proj.weight"));
  const int64_t plain = layers.hidden / layers.num_heads;
  if (queries[0] != layers.num_heads * layers.head_dim && plain >= 2 && plain % 2 == 0 &&
      queries[0] == layers.num_heads * plain) {
    layers.head_dim = plain;
    layers.rotary_dim = plain;
  }
  layers.attention_scale = 1.0 / std::sqrt(static_cast<double>(layers.head_dim));
  int64_t num_layers = 1;
  while (tensors.Contains(absl::StrCat("layers.", num_layers, ".mlp.up_proj.weight"))) {
    ++num_layers;
  }
  if (num_layers == layers.num_layers) return absl::OkStatus();
  return fields.Invalid("num_hidden_layers",
                        absl::StrCat("= ", layers.num_layers, ", and the file holds ", num_layers));
}

/// Sets taps as far as the file knows them, fc and its norms.
absl::Status ReadFusion(const ConfigFields& fields, const ConfigFields& nested,
                        const Tensors& tensors, Eagle3Config& config) {
  SHORTLIST_ASSIGN_OR_RETURN(const bool uses_taps, nested.Bool("use_aux_hidden_state", true));
  if (!uses_taps) {
    if (config.target_hidden == config.layers.hidden) return absl::OkStatus();
    return fields.Invalid("target_hidden_size",
                          absl::StrCat("= ", config.target_hidden, ", and without fc it must be ",
                                       config.layers.hidden));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<int64_t> fc, tensors.MatrixShape("fc.weight"));
  config.num_taps = fc[1] / config.target_hidden;
  if (config.num_taps < 1 || config.num_taps > kMaxTaps ||
      fc[1] != config.num_taps * config.target_hidden) {
    return tensors.Invalid("fc.weight",
                           absl::StrCat("does not join 1 to ", kMaxTaps,
                                        " states of target_hidden_size = ", config.target_hidden));
  }
  config.fc_bias = tensors.Contains("fc.bias");
  if (tensors.Contains("input_norm.weight")) config.feature_norms = {"input_norm.weight"};
  const bool has_old_names = tensors.Contains("aux_norm_low.weight");
  if (has_old_names) {
    config.feature_norms = {"aux_norm_low.weight", "aux_norm_mid.weight", "aux_norm_high.weight"};
  } else if (tensors.Contains("fc_norm.0.weight")) {
    config.feature_norms.clear();
    for (int64_t i = 0; i < config.num_taps; ++i) {
      config.feature_norms.push_back(absl::StrCat("fc_norm.", i, ".weight"));
    }
  }
  if (has_old_names && config.num_taps != 3) {
    return tensors.Invalid("fc.weight",
                           "joins other than the 3 states of aux_norm_low, _mid, _high");
  }
  // What the file says must be what it holds.
  const bool has_one = config.feature_norms.size() == 1 && config.feature_norms[0][0] == 'i';
  const bool has_each = !config.feature_norms.empty() && !has_one;
  const std::array claims = {std::pair("norm_before_fc", has_one), std::pair("fc_norm", has_each),
                             std::pair("use_aux_norm", has_each)};
  for (const auto& [name, is_there] : claims) {
    const ConfigFields& of = nested.Find(name) != nullptr ? nested : fields;
    SHORTLIST_ASSIGN_OR_RETURN(const bool claimed, of.Bool(name, is_there));
    if (claimed != is_there) {
      return of.Invalid(
          name, absl::StrCat("= ", claimed ? "true" : "false", ", and the file holds ",
                             is_there ? "the tensor " + config.feature_norms[0] : "no such norm"));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadLayerIds(const ConfigFields& fields, const ConfigFields& nested,
                          Eagle3Config& config) {
  const ConfigFields& of = nested.Find(kIds) != nullptr ? nested : fields;
  const json* const list = of.Find(kIds);
  if (list == nullptr || config.reads_output()) return absl::OkStatus();
  const auto is_layer = [](const json& id) {
    return id.is_number_integer() &&
           (!id.is_number_unsigned() || id.get<uint64_t>() <= kMaxLayers) && id.get<int64_t>() >= 0;
  };
  if (!list->is_array() || list->empty() || !std::ranges::all_of(*list, is_layer)) {
    return of.Invalid(kIds, absl::StrCat("= ", Quote(*list), " is not a list of layers in [0, ",
                                         kMaxLayers, "]"));
  }
  config.layer_ids = list->get<std::vector<int64_t>>();
  if (std::ssize(*config.layer_ids) == config.num_taps) return absl::OkStatus();
  return of.Invalid(
      kIds, absl::StrCat("= ", Quote(*list), ", and fc joins ", config.num_taps, " states"));
}

/// Sets what scores: its own rows, its embedding or the target's head.
absl::Status ReadHead(const ConfigFields& fields, const Tensors& tensors, Eagle3Config& config) {
  constexpr char kHead[] = "lm_head.weight", kSize[] = "draft_vocab_size";
  const int64_t vocab_size = config.layers.vocab_size;
  config.has_embedding = tensors.Contains("embed_tokens.weight");
  if (config.has_embedding) {
    SHORTLIST_ASSIGN_OR_RETURN(const std::vector<int64_t> embedding,
                               tensors.MatrixShape("embed_tokens.weight"));
    config.layers.vocab_size = embedding[0];
  }
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t draft_size, fields.Int(kSize, 1, kMaxVocabSize, 0));
  SHORTLIST_ASSIGN_OR_RETURN(const bool is_tied, fields.Bool("tie_word_embeddings", false));
  if (!tensors.Contains(kHead)) {
    if (is_tied && config.has_embedding && (draft_size == 0 || draft_size == vocab_size)) {
      config.head_is_embedding = true;
      return absl::OkStatus();
    }
    if (draft_size == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(tensors.weights().dir(), ": no tensor ", kHead, ", and ", kSize, " = ",
                     draft_size, " says that the head has rows of its own; take the whole file"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<int64_t> head, tensors.MatrixShape(kHead));
  config.num_head_rows = head[0];
  if (draft_size != 0 && draft_size != head[0]) {
    return tensors.Invalid(kHead, absl::StrCat("has not the ", draft_size, " rows of ", kSize));
  }
  if (head[0] >= vocab_size && !tensors.Contains("d2t")) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(HeadMap map, ReadHeadMap(tensors.weights(), head[0], vocab_size));
  config.d2t_holds_ids = map.holds_ids;
  config.head_ids = std::move(map.ids);
  return absl::OkStatus();
}

/// Sets what the fields of the outer level say.
absl::Status ReadSwitches(const ConfigFields& fields, Eagle3Config& config) {
  const bool is_speculators = config.format == Eagle3Config::Format::kSpeculators;
  constexpr char kNormBefore[] = "norm_before_residual";
  if (is_speculators && fields.Find(kNormBefore) == nullptr) {
    return fields.Invalid(kNormBefore,
                          "is missing: the speculators library takes false for it, and vLLM true");
  }
  SHORTLIST_ASSIGN_OR_RETURN(config.norm_before_residual, fields.Bool(kNormBefore, false));
  // speculators, vLLM and SGLang mean by norm_output that the normed output recurs. SpecForge,
  // which writes flat files with it, trains with the output before the norm in any case.
  SHORTLIST_ASSIGN_OR_RETURN(const bool norm_output, fields.Bool("norm_output", false));
  config.recurs_normed = is_speculators && norm_output;
  SHORTLIST_ASSIGN_OR_RETURN(config.logit_scale, fields.Real("logit_scale", 0.0, kMaxScale, 1.0));
  SHORTLIST_ASSIGN_OR_RETURN(config.target_hidden,
                             fields.Int("target_hidden_size", 1, kMaxHidden, config.layers.hidden));
  return absl::OkStatus();
}

std::string Listed(const std::vector<int64_t>& numbers) { return absl::StrJoin(numbers, ","); }

/// The boundaries that the file implies for a target of `num_layers`, and why.
std::pair<std::vector<int64_t>, std::string> ImpliedTaps(const Eagle3Config& config,
                                                         int64_t num_layers) {
  if (!config.layer_ids) {
    return {{2, num_layers / 2, num_layers - 3},
            absl::StrCat("the file names none: 2, n / 2 and n - 3 of ", num_layers, " layers")};
  }
  std::vector<int64_t> taps = *config.layer_ids;
  if (config.format == Eagle3Config::Format::kSpeculators) {
    return {taps, absl::StrCat(kIds, " of a speculators file")};
  }
  if (taps.front() != 1 || *std::ranges::max_element(taps) == num_layers) {
    return {taps, absl::StrCat(kIds, " taken for boundaries")};
  }
  for (int64_t& tap : taps) ++tap;
  return {taps, absl::StrCat(kIds, " = ", Listed(*config.layer_ids),
                             " taken for the layers whose outputs they are")};
}

}  // namespace

absl::Status Eagle3Config::FitTarget(const ModelConfig& target,
                                     std::optional<std::vector<int64_t>> given,
                                     const std::string& path) {
  const auto misfit = [&path](const char* what, int64_t own, int64_t others) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": ", what, " ", own, " does not fit the target's ", others));
  };
  if (target_hidden != target.hidden) {
    return misfit("target_hidden_size", target_hidden, target.hidden);
  }
  const bool borrows = !has_embedding || (num_head_rows == 0 && !head_is_embedding);
  if (borrows && layers.hidden != target.hidden) {
    return misfit("hidden_size, without an embedding and a head of its own,", layers.hidden,
                  target.hidden);
  }
  if (std::abs(layers.vocab_size - target.vocab_size) > VocabList::kMaxPadding) {
    return misfit("vocab_size", layers.vocab_size, target.vocab_size);
  }
  if (!has_embedding) layers.vocab_size = target.vocab_size;
  layers.context_len = target.context_len;
  if (!head_ids.empty()) {
    std::vector<int32_t> ids = head_ids;
    std::ranges::sort(ids);
    absl::StatusOr<std::shared_ptr<const HeadRows>> rows =
        HeadRows::Create(std::move(ids), target.vocab_size);
    if (!rows.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": d2t: ", std::string(rows.status().message())));
    }
    head_rows = *std::move(rows);
  }
  if (reads_output()) {
    if (!given) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": taps ", Listed(*given),
                     " for a head that reads the target's output (use_aux_hidden_state)"));
  }
  std::tie(taps, taps_reason) = given ? std::pair(*given, std::string("as asked for"))
                                      : ImpliedTaps(*this, target.num_layers);
  if (std::ssize(taps) != num_taps) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": taps ", Listed(taps), " (", taps_reason,
                                                   "), and fc joins ", num_taps, " states"));
  }
  for (const int64_t tap : taps) {
    if (tap >= 0 && tap <= target.num_layers) continue;
    return absl::InvalidArgumentError(absl::StrCat(path, ": taps ", Listed(taps), " (", taps_reason,
                                                   "): layer boundary ", tap, " not in [0, ",
                                                   target.num_layers, "]"));
  }
  return absl::OkStatus();
}

bool IsEagle3(const WeightFiles& weights) {
  return weights.tensors().contains("midlayer.hidden_norm.weight") ||
         weights.tensors().contains("layers.0.hidden_norm.weight");
}

absl::StatusOr<Eagle3Config> ReadEagle3Config(const ModelSource& source) {
  constexpr char kName[] = "config.json", kLayers[] = "transformer_layer_config";
  SHORTLIST_ASSIGN_OR_RETURN(const json object, source.ReadJson(kName));
  const std::string path = source.PathOf(kName);
  if (!object.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a JSON object"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const WeightFiles weights, source.OpenWeights());
  SHORTLIST_RETURN_IF_ERROR(RefuseOtherDrafts(weights));
  const Tensors tensors(weights);
  const ConfigFields fields(path, object);
  const auto object_of = [&fields](const char* name) -> absl::StatusOr<json> {
    const json* const value = fields.Find(name);
    if (value == nullptr) return json::object();
    if (value->is_object()) return *value;
    return fields.Invalid(name, absl::StrCat("= ", Quote(*value), " is not an object"));
  };
  SHORTLIST_ASSIGN_OR_RETURN(const json eagle_object, object_of("eagle_config"));
  SHORTLIST_ASSIGN_OR_RETURN(const json layer_object, object_of(kLayers));
  const ConfigFields nested(absl::StrCat(path, ": eagle_config"), eagle_object);
  Eagle3Config config;
  const bool is_speculators = fields.Find(kLayers) != nullptr;
  if (is_speculators) config.format = Eagle3Config::Format::kSpeculators;
  SHORTLIST_RETURN_IF_ERROR(ReadLayers(
      is_speculators ? ConfigFields(absl::StrCat(path, ": ", kLayers), layer_object) : fields,
      tensors, config));
  SHORTLIST_RETURN_IF_ERROR(ReadSwitches(fields, config));
  SHORTLIST_RETURN_IF_ERROR(ReadFusion(fields, nested, tensors, config));
  SHORTLIST_RETURN_IF_ERROR(ReadLayerIds(fields, nested, config));
  SHORTLIST_RETURN_IF_ERROR(ReadHead(fields, tensors, config));
  return config;
}

}  // namespace shortlist
