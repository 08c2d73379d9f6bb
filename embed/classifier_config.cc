#include "embed/classifier_config.h"

#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "embed/modules_file.h"
#include "embed/text_field.h"
#include "io/quote.h"

namespace shortlist {
namespace {

using nlohmann::json;
using Architecture = ClassifierConfig::Architecture;

constexpr int64_t kMaxLabels = int64_t{1} << 16;
constexpr size_t kMaxTextBytes = 1024;

constexpr std::pair<std::string_view, Architecture> kArchitectures[] = {
    {"BertForSequenceClassification", Architecture::kBert},
    {"DistilBertForSequenceClassification", Architecture::kDistilBert},
    {"RobertaForSequenceClassification", Architecture::kRoberta},
    {"XLMRobertaForSequenceClassification", Architecture::kRoberta},
    {"ModernBertForSequenceClassification", Architecture::kModernBert},
    {"LlamaForSequenceClassification", Architecture::kDecoder},
    {"MistralForSequenceClassification", Architecture::kDecoder},
    {"Qwen2ForSequenceClassification", Architecture::kDecoder},
    {"Qwen3ForSequenceClassification", Architecture::kDecoder},
    {"GemmaForSequenceClassification", Architecture::kDecoder},
};

absl::StatusOr<Architecture> ReadArchitecture(const ConfigFields& fields) {
  const json* const list = fields.Find("architectures");
  if (list == nullptr) return fields.Invalid("architectures", "is missing");
  if (!list->is_array() || list->size() != 1 || !(*list)[0].is_string()) {
    return fields.Invalid("architectures",
                          absl::StrCat("= ", Quote(*list), " is not a list of one name"));
  }
  for (const auto& [name, architecture] : kArchitectures) {
    if ((*list)[0] == name) return architecture;
  }
  return fields.Unsupported(
      "architecture", (*list)[0],
      "Bert-, DistilBert-, Roberta-, XLMRoberta-, ModernBert-, Llama-, Mistral-, Qwen2-, "
      "Qwen3- and GemmaForSequenceClassification are");
}

/// id2label: {"0": text, ..., "n - 1": text}. Without it, num_labels default names of transformers.
absl::StatusOr<std::vector<std::string>> ReadLabels(const ConfigFields& fields) {
  constexpr char kName[] = "id2label";
  constexpr int64_t kDefault = 2;
  SHORTLIST_ASSIGN_OR_RETURN(const json* const labels, OptionalObject(fields, kName));
  const int64_t num_labels = labels != nullptr ? std::ssize(*labels) : kDefault;
  if (num_labels < 1 || num_labels > kMaxLabels) {
    return fields.Invalid(
        kName, absl::StrCat("has ", num_labels, " labels, not in [1, ", kMaxLabels, "]"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t count,
                             fields.Int("num_labels", 1, kMaxLabels, num_labels));
  if (labels != nullptr && count != num_labels) {
    return fields.Invalid("num_labels",
                          absl::StrCat("= ", count, " is not ", num_labels, ", as id2label has"));
  }
  std::vector<std::string> texts;
  for (int64_t i = 0; i < count; ++i) {
    const std::string key = absl::StrCat(i);
    if (labels == nullptr) {
      texts.push_back(absl::StrCat("LABEL_", key));
      continue;
    }
    const ConfigFields members(absl::StrCat(fields.where(), ": ", kName), *labels);
    SHORTLIST_ASSIGN_OR_RETURN(std::string text, RequiredText(members, key.c_str(), kMaxTextBytes));
    texts.push_back(std::move(text));
  }
  return texts;
}

/// Returns the function for the PyTorch class in field `name`; nullopt if the field is absent.
absl::StatusOr<std::optional<ScoreFunction>> ReadFunction(const ConfigFields& fields,
                                                          const char* name) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto path, OptionalText(fields, name, kMaxTextBytes));
  if (!path) return std::nullopt;
  if (*path == "torch.nn.modules.activation.Softmax" || *path == "torch.nn.Softmax") {
    return ScoreFunction::kSoftmax;
  }
  const auto activation = FindTorchActivation(*path);
  if (activation == HeadActivation::kIdentity) return ScoreFunction::kRaw;
  if (activation == HeadActivation::kSigmoid) return ScoreFunction::kSigmoid;
  return fields.Unsupported(name, *path, "torch.nn's Identity, Sigmoid and Softmax are");
}

/// Returns the function for the loss that transformers trains with; nullopt if the field is absent.
absl::StatusOr<std::optional<ScoreFunction>> ReadProblemType(const ConfigFields& fields) {
  constexpr char kName[] = "problem_type";
  constexpr std::pair<std::string_view, ScoreFunction> kTypes[] = {
      {"regression", ScoreFunction::kRaw},
      {"single_label_classification", ScoreFunction::kSoftmax},
      {"multi_label_classification", ScoreFunction::kSigmoid}};
  SHORTLIST_ASSIGN_OR_RETURN(const auto type, OptionalText(fields, kName, kMaxTextBytes));
  if (!type) return std::nullopt;
  for (const auto& [name, function] : kTypes) {
    if (*type == name) return function;
  }
  return fields.Unsupported(
      kName, *type, "regression, single_label_classification and multi_label_classification are");
}

/// Returns the first function found; nullopt if there is none.
absl::StatusOr<std::optional<ScoreFunction>> FindSavedFunction(const ModelSource& source,
                                                               const ConfigFields& fields) {
  constexpr char kName[] = "activation_fn";
  constexpr char kOwner[] = "sentence_transformers";
  SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig file, ReadCrossEncoderFile(source));
  SHORTLIST_ASSIGN_OR_RETURN(const auto function, ReadFunction(file.fields(), kName));
  if (function) return function;
  SHORTLIST_ASSIGN_OR_RETURN(const json* const owner, OptionalObject(fields, kOwner));
  if (owner != nullptr && owner->contains(kName)) {
    return ReadFunction(ConfigFields(absl::StrCat(fields.where(), ": ", kOwner), *owner), kName);
  }
  return ReadFunction(fields, "sbert_ce_default_activation_function");
}

/// Returns the function that a CrossEncoder was saved with; nullopt if there is none.
absl::StatusOr<std::optional<ScoreFunction>> ReadSavedFunction(const ModelSource& source,
                                                               const ConfigFields& fields,
                                                               int64_t num_labels) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto saved, FindSavedFunction(source, fields));
  if (!saved) return saved;
  const absl::Status status = CheckScoreFunction(*saved, num_labels);
  if (status.ok()) return saved;
  return absl::Status(status.code(), absl::StrCat(fields.where(), ": ", status.message()));
}

absl::StatusOr<ScoreFunction> ReadScoreFunction(const ModelSource& source,
                                                const ConfigFields& fields, int64_t num_labels) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto saved, ReadSavedFunction(source, fields, num_labels));
  SHORTLIST_ASSIGN_OR_RETURN(const auto of_problem, ReadProblemType(fields));
  if (saved) return *saved;
  if (num_labels == 1) return ScoreFunction::kSigmoid;
  return of_problem.value_or(ScoreFunction::kSoftmax);
}

/// Returns Unimplemented for a sentence-transformers model with other modules than a Transformer.
absl::Status CheckModules(const ModelSource& source) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto modules, ReadModulesFile(source));
  if (!modules) return absl::OkStatus();
  for (size_t i = 0; i < modules->size(); ++i) {
    const std::string& type = (*modules)[i].type;
    if (i == 0 && type == "Transformer") continue;
    return absl::UnimplementedError(absl::StrCat(source.PathOf("modules.json"), ": module ", i,
                                                 ": ", type,
                                                 ": of a classifier, only a Transformer is "
                                                 "supported"));
  }
  return absl::OkStatus();
}

absl::Status ReadModernBertHead(const ConfigFields& fields, ClassifierConfig& config) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto pooling,
                             OptionalText(fields, "classifier_pooling", kMaxTextBytes));
  if (pooling && *pooling != "cls" && *pooling != "mean") {
    return fields.Unsupported("classifier_pooling", *pooling, "\"cls\" and \"mean\" are");
  }
  config.pooling = pooling && *pooling == "mean" ? Pooling::kMean : Pooling::kCls;
  SHORTLIST_ASSIGN_OR_RETURN(const auto name,
                             OptionalText(fields, "classifier_activation", kMaxTextBytes));
  const auto activation = name ? FindTransformersActivation(*name) : HeadActivation::kGelu;
  if (!activation) {
    return fields.Unsupported("classifier_activation", *name, kTransformersActivations);
  }
  config.activation = *activation;
  SHORTLIST_ASSIGN_OR_RETURN(config.dense_has_bias, fields.Bool("classifier_bias", false));
  SHORTLIST_ASSIGN_OR_RETURN(config.norm_has_bias, fields.Bool("norm_bias", false));
  SHORTLIST_ASSIGN_OR_RETURN(config.norm_eps, fields.Real("norm_eps", 0.0, 1.0, 1e-5));
  return absl::OkStatus();
}

}  // namespace

bool IsSequenceClassifier(const ModelSource& source) {
  const auto file = ReadModuleConfig(source, "config.json");
  return file.ok() && ReadArchitecture(file->fields()).ok();
}

absl::Status RefuseOtherCrossEncoder(const ModelSource& source) {
  SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig model,
                             ReadModuleConfig(source, "config_sentence_transformers.json"));
  const json* const type = model.fields().Find("model_type");
  if (type == nullptr || *type != "CrossEncoder") return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(const auto modules, ReadModulesFile(source));
  for (size_t i = 0; modules && i < modules->size(); ++i) {
    if ((*modules)[i].type != "LogitScore") continue;
    return absl::UnimplementedError(absl::StrCat(
        source.PathOf("modules.json"), ": module ", i,
        ": LogitScore is supported of Qwen3-Reranker and bge-reranker-v2-gemma: the directory's "
        "name must hold one of these, or the chat template be Qwen3-Reranker's"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig file,
                             RequireModuleConfig(TransformerOf(source), "config.json"));
  return ReadArchitecture(file.fields()).status();
}

absl::StatusOr<ScoreFunction> ReadYesNoFunction(const ModelSource& source) {
  SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig file, RequireModuleConfig(source, "config.json"));
  SHORTLIST_ASSIGN_OR_RETURN(const auto saved,
                             ReadSavedFunction(source, file.fields(), /*num_labels=*/1));
  return saved.value_or(ScoreFunction::kSigmoid);
}

absl::StatusOr<ClassifierConfig> ReadClassifierConfig(const ModelSource& source) {
  SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig file, RequireModuleConfig(source, "config.json"));
  const ConfigFields fields = file.fields();
  ClassifierConfig config;
  SHORTLIST_ASSIGN_OR_RETURN(config.architecture, ReadArchitecture(fields));
  const bool is_distilled = config.architecture == Architecture::kDistilBert;
  SHORTLIST_ASSIGN_OR_RETURN(config.hidden,
                             fields.Int(is_distilled ? "dim" : "hidden_size", 1, kMaxHidden));
  if (is_distilled) config.activation = HeadActivation::kRelu;
  SHORTLIST_RETURN_IF_ERROR(CheckModules(source));
  SHORTLIST_ASSIGN_OR_RETURN(config.labels, ReadLabels(fields));
  SHORTLIST_ASSIGN_OR_RETURN(config.score_function,
                             ReadScoreFunction(source, fields, std::ssize(config.labels)));
  if (config.architecture == Architecture::kDecoder) {
    config.pooling = Pooling::kLast;
    SHORTLIST_ASSIGN_OR_RETURN(
        const int64_t pad,
        fields.Int("pad_token_id", -1, std::numeric_limits<int32_t>::max(), /*otherwise=*/-1));
    config.pad_token_id = static_cast<int32_t>(pad);
  }
  if (config.architecture == Architecture::kModernBert) {
    SHORTLIST_RETURN_IF_ERROR(ReadModernBertHead(fields, config));
  }
  return config;
}

}  // namespace shortlist
