#include "embed/sentence_transformers.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "embed/modules_file.h"
#include "embed/text_field.h"
#include "embed/transformer_file.h"
#include "embed/vector_modules.h"
#include "io/quote.h"
#include "io/weight_files.h"
#include "model/checkpoint/other_models.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr size_t kMaxNameBytes = 256;
constexpr size_t kMaxPromptBytes = 1 << 16;
constexpr size_t kMaxPrompts = 1024;

struct ArchitecturePooling {
  std::string_view name;
  Pooling pooling;
};
constexpr ArchitecturePooling kArchitectures[] = {
    {"BertModel", Pooling::kCls},
    {"BertForMaskedLM", Pooling::kCls},
    {"BertForPreTraining", Pooling::kCls},
    {"DistilBertModel", Pooling::kCls},
    {"DistilBertForMaskedLM", Pooling::kCls},
    {"RobertaModel", Pooling::kCls},
    {"RobertaForMaskedLM", Pooling::kCls},
    {"XLMRobertaModel", Pooling::kCls},
    {"XLMRobertaForMaskedLM", Pooling::kCls},
    {"ModernBertModel", Pooling::kCls},
    {"ModernBertForMaskedLM", Pooling::kCls},
    {"Contriever", Pooling::kMean},
    {"LlamaModel", Pooling::kLast},
    {"LlamaEmbeddingModel", Pooling::kLast},
    {"LlamaForCausalLM", Pooling::kLast},
    {"MistralModel", Pooling::kLast},
    {"MistralForCausalLM", Pooling::kLast},
    {"Qwen2Model", Pooling::kLast},
    {"Qwen2ForCausalLM", Pooling::kLast},
    {"Qwen3Model", Pooling::kLast},
    {"Qwen3ForCausalLM", Pooling::kLast},
    {"GemmaModel", Pooling::kLast},
    {"GemmaForCausalLM", Pooling::kLast},
    {"Gemma3TextModel", Pooling::kLast},
    {"Gemma3ForCausalLM", Pooling::kLast},
};

/// Precondition: DefaultPooling succeeds.
bool IsMaskedLm(const ConfigFields& fields) {
  return (*fields.Find("architectures"))[0].get<std::string>().ends_with("ForMaskedLM");
}

/// Default pooling of the transformer's architecture, if there is no Pooling module.
absl::StatusOr<Pooling> DefaultPooling(const ConfigFields& fields) {
  const json* const list = fields.Find("architectures");
  if (list == nullptr) return fields.Invalid("architectures", "is missing");
  if (!list->is_array() || list->size() != 1 || !(*list)[0].is_string()) {
    return fields.Invalid("architectures",
                          absl::StrCat("= ", Quote(*list), " is not a list of one name"));
  }
  for (const ArchitecturePooling& known : kArchitectures) {
    if ((*list)[0] == known.name) return known.pooling;
  }
  return UnsupportedArchitecture(fields, (*list)[0]);
}

/// Name of the hidden size in config.json; only DistilBERT's name differs.
const char* HiddenName(const ConfigFields& fields) {
  const bool is_distilled = fields.Find("hidden_size") == nullptr && fields.Find("dim") != nullptr;
  return is_distilled ? "dim" : "hidden_size";
}

/// Output of a transformer: its hidden states, or a masked language model's logits.
enum class TransformerTask { kHiddenStates, kMaskedLm };

/// Rejects settings that would change the encoder: another task, or replaced fields of config.json.
absl::Status CheckTransformerTask(const ConfigFields& fields, TransformerTask task) {
  const bool is_masked_lm = task == TransformerTask::kMaskedLm;
  SHORTLIST_RETURN_IF_ERROR(
      CheckTexts(fields, {{"transformer_task", is_masked_lm ? "fill-mask" : "feature-extraction"},
                          {"module_output_name", "token_embeddings"}}));
  for (const char* name : {"config_args", "config_kwargs"}) {
    SHORTLIST_ASSIGN_OR_RETURN(const json* const values, OptionalObject(fields, name));
    if (values == nullptr) continue;
    for (const auto& [key, value] : values->items()) {
      if (key == "trust_remote_code") continue;
      return fields.Unsupported(name, *values, "what config.json says is");
    }
  }
  return absl::OkStatus();
}

/// Rejects lower-casing with a chat template: it would also change the template's letters.
absl::Status CheckLetterCase(const ConfigFields& fields,
                             const std::optional<MessageConfig>& messages, bool lowers) {
  if (!messages || !lowers) return absl::OkStatus();
  return fields.Unsupported("do_lower_case", true, "false is, where a chat template renders texts");
}

absl::Status ReadTransformerModule(const ModelSource& source, TransformerTask task,
                                   EmbeddingConfig& config) {
  config.transformer = source;
  SHORTLIST_ASSIGN_OR_RETURN(const TransformerFile transformer, ReadTransformerFile(source));
  config.max_seq_len = transformer.max_seq_len;
  config.tokenizer = transformer.tokenizer;
  const ConfigFields fields = transformer.file.fields();
  SHORTLIST_ASSIGN_OR_RETURN(config.do_lower_case, fields.Bool("do_lower_case", false));
  SHORTLIST_ASSIGN_OR_RETURN(
      config.messages,
      ReadMessageConfig(fields,
                        task == TransformerTask::kMaskedLm ? "logits" : "last_hidden_state"));
  SHORTLIST_RETURN_IF_ERROR(CheckLetterCase(fields, config.messages, config.do_lower_case));
  return CheckTransformerTask(fields, task);
}

absl::Status ReadPrompts(const ConfigFields& fields, EmbeddingConfig& config) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* const prompts, OptionalObject(fields, "prompts"));
  if (prompts != nullptr) {
    if (prompts->size() > kMaxPrompts) {
      return fields.Invalid(
          "prompts", absl::StrCat("has ", prompts->size(), " members, more than ", kMaxPrompts));
    }
    const ConfigFields texts(absl::StrCat(fields.where(), ": prompts"), *prompts);
    for (const auto& [name, value] : prompts->items()) {
      if (name.size() > kMaxNameBytes) {
        return fields.Invalid("prompts",
                              absl::StrCat("has a name of ", name.size(), " bytes, more than ",
                                           kMaxNameBytes, ": ", Quote(name)));
      }
      SHORTLIST_ASSIGN_OR_RETURN(auto text, OptionalText(texts, name.c_str(), kMaxPromptBytes));
      if (text) config.prompts.insert_or_assign(name, *std::move(text));
    }
  }
  constexpr char kDefault[] = "default_prompt_name";
  SHORTLIST_ASSIGN_OR_RETURN(config.default_prompt_name,
                             OptionalText(fields, kDefault, kMaxNameBytes));
  if (config.default_prompt_name && !config.prompts.contains(*config.default_prompt_name)) {
    return fields.Invalid(
        kDefault, absl::StrCat("= ", Quote(*config.default_prompt_name), " is not one of prompts"));
  }
  return absl::OkStatus();
}

absl::Status ReadSimilarity(const ConfigFields& fields, EmbeddingConfig& config) {
  constexpr char kName[] = "similarity_fn_name";
  constexpr std::pair<std::string_view, Similarity> kFunctions[] = {
      {"cosine", Similarity::kCosine},       {"dot", Similarity::kDot},
      {"dot_product", Similarity::kDot},     {"euclidean", Similarity::kEuclidean},
      {"manhattan", Similarity::kManhattan},
  };
  SHORTLIST_ASSIGN_OR_RETURN(const auto text, OptionalText(fields, kName, kMaxNameBytes));
  if (!text) return absl::OkStatus();
  for (const auto& [name, function] : kFunctions) {
    if (*text != name) continue;
    config.similarity = function;
    return absl::OkStatus();
  }
  return fields.Unsupported(kName, *text, "cosine, dot, euclidean and manhattan are");
}

bool HasSpladePooling(const std::vector<ModuleEntry>& modules) {
  return std::any_of(modules.begin(), modules.end(),
                     [](const ModuleEntry& module) { return module.type == "SpladePooling"; });
}

/// Reads the modules Transformer, SpladePooling.
absl::Status ReadSpladeModules(const std::string& path, const std::vector<ModuleEntry>& modules,
                               EmbeddingConfig& config) {
  const bool fits = modules.size() == 2 && modules[1].type == "SpladePooling" &&
                    (modules[0].type == "Transformer" || modules[0].type == "MLMTransformer");
  if (!fits) {
    return absl::UnimplementedError(
        absl::StrCat(path,
                     ": a SpladePooling is supported after a Transformer or MLMTransformer "
                     "alone, and as the last module"));
  }
  config.makes_dense = false;
  config.sparse = SparseKind::kSplade;
  SHORTLIST_RETURN_IF_ERROR(
      ReadTransformerModule(modules[0].source, TransformerTask::kMaskedLm, config));
  SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig file,
                             ReadModuleConfig(modules[1].source, "config.json"));
  return CheckTexts(file.fields(), {{"pooling_strategy", "max"}, {"activation_function", "relu"}});
}

/// Reads the modules Transformer, Pooling, Dense, ..., Dense, Normalize. Dense and Normalize are
/// optional.
absl::Status ReadModules(const std::string& path, const std::vector<ModuleEntry>& modules,
                         EmbeddingConfig& config) {
  if (HasSpladePooling(modules)) return ReadSpladeModules(path, modules, config);
  config.normalize = false;
  enum class Stage { kNone, kTransformer, kPooling, kDense, kNormalize };
  Stage stage = Stage::kNone;
  for (size_t i = 0; i < modules.size(); ++i) {
    const auto& [type, source] = modules[i];
    if (type == "Transformer" && stage == Stage::kNone) {
      SHORTLIST_RETURN_IF_ERROR(
          ReadTransformerModule(source, TransformerTask::kHiddenStates, config));
      stage = Stage::kTransformer;
    } else if (type == "Pooling" && stage == Stage::kTransformer) {
      SHORTLIST_RETURN_IF_ERROR(ReadPoolingModule(source, config));
      stage = Stage::kPooling;
    } else if (type == "Dense" && (stage == Stage::kPooling || stage == Stage::kDense)) {
      SHORTLIST_RETURN_IF_ERROR(ReadDenseModule(source, config));
      stage = Stage::kDense;
    } else if (type == "Normalize" && (stage == Stage::kPooling || stage == Stage::kDense)) {
      SHORTLIST_RETURN_IF_ERROR(ReadNormalizeModule(source, config));
      stage = Stage::kNormalize;
    } else {
      return absl::UnimplementedError(
          absl::StrCat(path, ": module ", i, ": type = ", Quote(type),
                       " is not supported here; Transformer, Pooling, Dense (any number) and "
                       "Normalize are, once each and in this order"));
    }
  }
  if (stage == Stage::kNone || stage == Stage::kTransformer) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": there is no Pooling after the Transformer"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<EmbeddingConfig> ReadEmbeddingConfig(const ModelSource& source) {
  EmbeddingConfig config;
  SHORTLIST_ASSIGN_OR_RETURN(const auto modules, ReadModulesFile(source));
  const bool is_splade = modules && HasSpladePooling(*modules);
  SHORTLIST_ASSIGN_OR_RETURN(
      const ModuleConfig model,
      ReadModelFile(source, is_splade ? "SparseEncoder" : "SentenceTransformer"));
  SHORTLIST_RETURN_IF_ERROR(ReadPrompts(model.fields(), config));
  SHORTLIST_RETURN_IF_ERROR(ReadSimilarity(model.fields(), config));
  if (model.fields().Find("truncate_dim") != nullptr) {
    SHORTLIST_ASSIGN_OR_RETURN(config.truncate_dim,
                               model.fields().Int("truncate_dim", 1, kMaxVectorSize));
  }
  if (model.fields().Find("max_active_dims") != nullptr) {
    SHORTLIST_ASSIGN_OR_RETURN(config.max_sparse_weights,
                               model.fields().Int("max_active_dims", 1, kMaxVocabSize));
  }
  if (modules) {
    SHORTLIST_RETURN_IF_ERROR(ReadModules(source.PathOf("modules.json"), *modules, config));
  } else {
    SHORTLIST_RETURN_IF_ERROR(
        ReadTransformerModule(source, TransformerTask::kHiddenStates, config));
  }

  SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig file,
                             RequireModuleConfig(config.transformer, "config.json"));
  SHORTLIST_RETURN_IF_ERROR(CheckArchitecture(file.fields()));
  const char* const hidden_name = HiddenName(file.fields());
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t hidden,
                             file.fields().Int(hidden_name, 1, kMaxVectorSize));
  if (const auto weights = config.transformer.OpenWeights(); weights.ok()) {
    SHORTLIST_RETURN_IF_ERROR(RefuseEagle3(*weights, hidden));
  }
  if (!modules) {
    config.hidden = hidden;
    SHORTLIST_ASSIGN_OR_RETURN(config.pooling, DefaultPooling(file.fields()));
    if (IsMaskedLm(file.fields())) config.sparse = SparseKind::kSplade;
  } else if (!config.makes_dense) {
    config.hidden = hidden;
  } else if (config.hidden != hidden) {
    return file.fields().Invalid(hidden_name,
                                 absl::StrCat("= ", hidden, " is not ", config.hidden,
                                              ", the size that the Pooling module says it pools"));
  }
  if (config.transformer.Contains("sparse_linear.pt")) {
    config.sparse = SparseKind::kTokenWeights;
  }
  config.makes_multi_vector = config.transformer.Contains("colbert_linear.pt");
  return config;
}

absl::StatusOr<std::optional<std::vector<std::string>>> ReadFramingTokens(
    const ModelSource& source) {
  std::vector<std::string> tokens;
  bool is_named = false;
  for (const char* file_name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig file, ReadModuleConfig(source, file_name));
    const ConfigFields fields = file.fields();
    for (const char* name : {"cls_token", "eos_token", "pad_token", "unk_token"}) {
      const json* const value = fields.Find(name);
      if (value == nullptr) continue;
      is_named = true;
      const bool is_added = value->is_object() && value->contains("content");
      const json& spelling = is_added ? (*value)["content"] : *value;
      if (!spelling.is_string()) {
        return fields.Invalid(name, absl::StrCat("= ", Quote(*value), " is no token"));
      }
      tokens.push_back(spelling.get<std::string>());
    }
  }
  if (!is_named) return std::nullopt;
  return tokens;
}

absl::StatusOr<PairConfig> ReadPairConfig(const ModelSource& source) {
  PairConfig pair;
  SHORTLIST_ASSIGN_OR_RETURN(const auto modules, ReadModulesFile(source));
  if (!modules) {
    SHORTLIST_ASSIGN_OR_RETURN(pair.max_seq_len, ReadTokenizerMaxLength(source));
    pair.messages = MessageConfig{.pairs_alone = true};
    return pair;
  }
  SHORTLIST_ASSIGN_OR_RETURN(const TransformerFile transformer,
                             ReadTransformerFile(modules->front().source));
  pair.max_seq_len = transformer.max_seq_len;
  pair.tokenizer = transformer.tokenizer;
  const ConfigFields fields = transformer.file.fields();
  SHORTLIST_ASSIGN_OR_RETURN(pair.do_lower_case, fields.Bool("do_lower_case", false));
  SHORTLIST_ASSIGN_OR_RETURN(pair.messages, ReadMessageConfig(fields, "logits"));
  SHORTLIST_RETURN_IF_ERROR(CheckLetterCase(fields, pair.messages, pair.do_lower_case));
  EmbeddingConfig config;
  SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig model, ReadCrossEncoderFile(source));
  SHORTLIST_RETURN_IF_ERROR(ReadPrompts(model.fields(), config));
  if (config.default_prompt_name) {
    pair.default_prompt = config.prompts.at(*config.default_prompt_name);
  }
  return pair;
}

}  // namespace shortlist
