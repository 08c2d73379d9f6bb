#include "embed/vector_modules.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "embed/modules_file.h"
#include "embed/text_field.h"
#include "io/quote.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr char kConfigFile[] = "config.json";
constexpr size_t kMaxTextBytes = 256;
constexpr char kSupportedModes[] = "one of \"cls\", \"mean\" and \"lasttoken\" is";

struct Mode {
  const char* flag;
  const char* name;
  std::optional<Pooling> pooling;  // nullopt: not supported
};
constexpr Mode kModes[] = {
    {"pooling_mode_cls_token", "cls", Pooling::kCls},
    {"pooling_mode_max_tokens", "max", std::nullopt},
    {"pooling_mode_mean_tokens", "mean", Pooling::kMean},
    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", std::nullopt},
    {"pooling_mode_weightedmean_tokens", "weightedmean", std::nullopt},
    {"pooling_mode_lasttoken", "lasttoken", Pooling::kLast},
};

/// Reads the mode of a `pooling_mode`: a name, or a list of one name.
absl::StatusOr<Pooling> ReadModeName(const ConfigFields& fields, const json& value) {
  const json& name = value.is_array() && value.size() == 1 ? value[0] : value;
  const bool is_list = name.is_array() && !name.empty();
  if (!is_list && !name.is_string()) {
    return fields.Invalid("pooling_mode",
                          absl::StrCat("= ", Quote(value), " is not the name of a mode"));
  }
  for (const Mode& mode : kModes) {
    if (name == mode.name && mode.pooling) return *mode.pooling;
  }
  return fields.Unsupported("pooling_mode", value, kSupportedModes);
}

/// Reads the mode whose flag is set.
absl::StatusOr<Pooling> ReadModeFlags(const ConfigFields& fields) {
  std::vector<const Mode*> modes;
  for (const Mode& mode : kModes) {
    SHORTLIST_ASSIGN_OR_RETURN(const bool is_set, fields.Bool(mode.flag, false));
    if (is_set) modes.push_back(&mode);
  }
  for (const auto& [name, value] : fields.object().items()) {
    bool is_known = !name.starts_with("pooling_mode_");
    for (const Mode& mode : kModes) is_known = is_known || name == mode.flag;
    if (!is_known) return fields.Unsupported(name.c_str(), value, kSupportedModes);
  }
  if (modes.empty()) return Pooling::kMean;
  if (modes.size() == 1 && modes[0]->pooling) return *modes[0]->pooling;
  return absl::UnimplementedError(absl::StrCat(
      fields.where(), ": ",
      absl::StrJoin(modes, " with ",
                    [](std::string* out, const Mode* mode) { absl::StrAppend(out, mode->flag); }),
      " is not supported; ", kSupportedModes));
}

/// Checks that a module reads and writes this feature.
absl::Status CheckFeature(const ConfigFields& fields) {
  constexpr char kFeature[] = "sentence_embedding";
  for (const char* name : {"module_input_name", "module_output_name"}) {
    SHORTLIST_ASSIGN_OR_RETURN(const auto feature, OptionalText(fields, name, kMaxTextBytes));
    if (feature && *feature != kFeature) {
      return fields.Unsupported(name, *feature, absl::StrCat("only \"", kFeature, "\" is"));
    }
  }
  return absl::OkStatus();
}

int64_t VectorSize(const EmbeddingConfig& config) {
  return config.dense.empty() ? config.hidden : config.dense.back().shape.out_features;
}

}  // namespace

absl::Status ReadPoolingModule(const ModelSource& source, EmbeddingConfig& config) {
  SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig file, RequireModuleConfig(source, kConfigFile));
  const ConfigFields fields = file.fields();
  const char* const width = fields.Find("embedding_dimension") != nullptr
                                ? "embedding_dimension"
                                : "word_embedding_dimension";
  SHORTLIST_ASSIGN_OR_RETURN(config.hidden, fields.Int(width, 1, kMaxVectorSize));
  const json* const mode = fields.Find("pooling_mode");
  SHORTLIST_ASSIGN_OR_RETURN(config.pooling,
                             mode != nullptr ? ReadModeName(fields, *mode) : ReadModeFlags(fields));
  SHORTLIST_ASSIGN_OR_RETURN(config.include_prompt, fields.Bool("include_prompt", true));
  return absl::OkStatus();
}

absl::Status ReadDenseModule(const ModelSource& source, EmbeddingConfig& config) {
  SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig file, RequireModuleConfig(source, kConfigFile));
  const ConfigFields fields = file.fields();
  DenseModule module = {.source = source};
  DenseShape& shape = module.shape;
  SHORTLIST_ASSIGN_OR_RETURN(shape.in_features, fields.Int("in_features", 1, kMaxVectorSize));
  SHORTLIST_ASSIGN_OR_RETURN(shape.out_features, fields.Int("out_features", 1, kMaxVectorSize));
  if (shape.in_features != VectorSize(config)) {
    return fields.Invalid("in_features",
                          absl::StrCat("= ", shape.in_features, " is not ", VectorSize(config),
                                       ", the size of the vectors that it gets"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(shape.has_bias, fields.Bool("bias", true));
  SHORTLIST_ASSIGN_OR_RETURN(const auto path,
                             OptionalText(fields, "activation_function", kMaxTextBytes));
  const auto activation = path ? FindTorchActivation(*path) : HeadActivation::kTanh;
  if (!activation) return fields.Unsupported("activation_function", *path, kTorchActivations);
  shape.activation = *activation;
  SHORTLIST_RETURN_IF_ERROR(CheckFeature(fields));
  SHORTLIST_ASSIGN_OR_RETURN(const bool has_residual, fields.Bool("use_residual", false));
  if (has_residual) return fields.Unsupported("use_residual", true, "only false is");
  config.dense.push_back(std::move(module));
  return absl::OkStatus();
}

absl::Status ReadNormalizeModule(const ModelSource& source, EmbeddingConfig& config) {
  config.normalize = true;
  SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig file, ReadModuleConfig(source, kConfigFile));
  return CheckFeature(file.fields());
}

}  // namespace shortlist
