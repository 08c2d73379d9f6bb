#include "cli/eagle3_facts.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/counted.h"
#include "base/status_macros.h"
#include "io/weight_files.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

const char* FormatName(Eagle3Config::Format format) {
  return format == Eagle3Config::Format::kSpeculators ? "speculators"
                                                      : "flat (SafeAILab, SpecForge)";
}

int64_t NumHeadRows(const Eagle3Config& config) {
  return config.num_head_rows > 0 ? config.num_head_rows : config.layers.vocab_size;
}

const char* HeadOf(const Eagle3Config& config) {
  if (config.num_head_rows > 0) return "its own";
  return config.head_is_embedding ? "its embedding" : "its target's";
}

std::string ReadsOf(const Eagle3Config& config) {
  if (config.reads_output()) return "the target's state after its final norm";
  const std::string which = config.layer_ids ? absl::StrCat("eagle_aux_hidden_state_layer_ids ",
                                                            absl::StrJoin(*config.layer_ids, ", "))
                                             : "layer boundaries 2, n / 2 and n - 3 of n layers";
  const std::string norms = config.feature_norms.empty()
                                ? ""
                                : absl::StrCat(", normed by ", config.feature_norms.front(),
                                               config.feature_norms.size() > 1 ? ", ..." : "");
  return absl::StrCat(Counted(config.num_taps, "state"), " of the target, of ",
                      config.target_hidden, " numbers: ", which, norms);
}

}  // namespace

absl::StatusOr<Eagle3Facts> ReadEagle3Facts(const ModelSource& source) {
  Eagle3Facts facts{.config = {}, .path = source.path()};
  SHORTLIST_ASSIGN_OR_RETURN(facts.config, ReadEagle3Config(source));
  SHORTLIST_ASSIGN_OR_RETURN(const WeightFiles weights, source.OpenWeights());
  for (const auto& [name, location] : weights.tensors()) {
    if (name == "d2t" || name == "t2d") continue;
    facts.num_parameters += location.entry->num_elements;
    facts.num_bytes += location.entry->num_bytes;
  }
  return facts;
}

std::vector<std::pair<std::string, std::string>> LinesOf(const Eagle3Facts& facts) {
  const Eagle3Config& config = facts.config;
  const ModelConfig& c = config.layers;
  return {
      {"model", facts.path},
      {"draft", absl::StrCat("EAGLE-3 head, ", FormatName(config.format),
                             ": give it to its target as --draft")},
      {"layers", absl::StrCat(Counted(c.num_layers, "layer"), ", hidden ", c.hidden, ", FFN ",
                              c.intermediate, ", ", Counted(c.num_heads, "head"), " (",
                              c.num_kv_heads, " of keys and values) of ", c.head_dim)},
      {"reads", ReadsOf(config)},
      {"recurs", config.recurs_normed ? "its output after the final norm"
                                      : "its output before the final norm"},
      {"embedding", config.has_embedding ? "its own" : "its target's"},
      {"head",
       absl::StrCat(HeadOf(config), ", rows for ", NumHeadRows(config), " of ", c.vocab_size,
                    " tokens", config.d2t_holds_ids ? " (d2t holds ids, not offsets)" : "")},
      {"parameters", absl::StrCat(facts.num_parameters)},
      {"weights", absl::StrCat(facts.num_bytes, " bytes as stored")},
  };
}

nlohmann::ordered_json JsonOf(const Eagle3Facts& facts) {
  const Eagle3Config& config = facts.config;
  const ModelConfig& c = config.layers;
  nlohmann::ordered_json json = {
      {"model", facts.path},
      {"architecture", "EAGLE-3"},
      {"format", config.format == Eagle3Config::Format::kSpeculators ? "speculators" : "flat"},
      {"num_layers", c.num_layers},
      {"hidden", c.hidden},
      {"intermediate", c.intermediate},
      {"num_heads", c.num_heads},
      {"num_kv_heads", c.num_kv_heads},
      {"head_dim", c.head_dim},
      {"vocab_size", c.vocab_size},
      {"target_hidden", config.target_hidden},
      {"num_taps", config.num_taps}};
  json["layer_ids"] =
      config.layer_ids ? nlohmann::ordered_json(*config.layer_ids) : nlohmann::ordered_json();
  json["feature_norms"] = config.feature_norms;
  json["norm_before_residual"] = config.norm_before_residual;
  json["recurs_normed"] = config.recurs_normed;
  json["own_embedding"] = config.has_embedding;
  json["head"] = HeadOf(config);
  json["head_rows"] = NumHeadRows(config);
  json["d2t_holds_ids"] = config.d2t_holds_ids;
  json["parameters"] = facts.num_parameters;
  json["weight_bytes_stored"] = facts.num_bytes;
  return json;
}

}  // namespace shortlist
