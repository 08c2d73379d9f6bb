#include "embed/yes_no_format.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "embed/modules_file.h"
#include "embed/text_field.h"
#include "embed/transformer_file.h"
#include "text/chat/chat_template.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Kind = YesNoFormat::Kind;

constexpr std::string_view kMarker = "answer can only be \"yes\" or \"no\"";
constexpr std::string_view kQwenSystem =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    "the Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n"
    "<|im_start|>user\n";
constexpr std::string_view kQwenInstruction =
    "Given a web search query, retrieve relevant passages that answer the query";
constexpr std::string_view kQwenSuffix = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>";
constexpr std::string_view kGemmaInstruction =
    "Given a query A and a passage B, determine whether the passage contains an answer to the "
    "query by providing a prediction of either 'Yes' or 'No'.";

/// Number of line breaks directly before `tag`; npos if the tag is missing.
size_t CountBreaksBefore(std::string_view text, std::string_view tag) {
  const size_t place = text.find(tag);
  if (place == std::string_view::npos) return place;
  size_t count = 0;
  while (count < place && text[place - count - 1] == '\n') ++count;
  return count;
}

absl::Status Unknown(const ModelSource& source, std::string_view what) {
  return absl::UnimplementedError(absl::StrCat(
      source.path(), ": the chat template is that of a reranker that answers yes or no, but ",
      std::string(what), ", as Qwen3-Reranker's has it"));
}

/// The text of the first default("...") after `begin`; empty if there is none.
std::string ReadDefault(std::string_view text, size_t begin) {
  constexpr std::string_view kFilter = "default(";
  const size_t place = text.find(kFilter, begin);
  if (place == std::string_view::npos) return "";
  const size_t quote = text.find_first_of("\"'", place + kFilter.size());
  if (quote == std::string_view::npos) return "";
  const size_t end = text.find(text[quote], quote + 1);
  return end == std::string_view::npos ? "" : std::string(text.substr(quote + 1, end - quote - 1));
}

/// Reads the variable parts of a template: the separators between instruction, query and document,
/// the end, and the default instruction.
absl::Status ReadTemplateFormat(const ModelSource& source, std::string_view chat_template,
                                YesNoFormat& format) {
  // In a Jinja string, quotes and line breaks are escaped.
  const std::string text =
      absl::StrReplaceAll(std::string(chat_template), {{"\\n", "\n"}, {"\\\"", "\""}});
  if (text.find(kQwenSystem) == std::string::npos) {
    return Unknown(source, "its system message is not the task");
  }
  const size_t instruct = text.find("<Instruct>: "), query = text.find("<Query>:"),
               document = text.find("<Document>:");
  constexpr size_t kNone = std::string::npos;
  if (instruct == kNone || query == kNone || document == kNone || instruct > query ||
      query > document) {
    return Unknown(source,
                   "<Instruct>:, <Query>: and <Document>: do not stand there in this order");
  }
  const size_t breaks = CountBreaksBefore(text, "<Query>:");
  if (breaks != CountBreaksBefore(text, "<Document>:") || (breaks != 1 && breaks != 2)) {
    return Unknown(source, "<Query>: and <Document>: do not follow one or two line breaks each");
  }
  format.separator = std::string(breaks, '\n');
  const size_t suffix = text.find(kQwenSuffix, document);
  if (suffix == kNone) {
    return Unknown(source, "the assistant's empty thoughts do not follow the document");
  }
  // The rest consists of line breaks, as text or in strings. The file's own last one is not
  // counted.
  const std::string_view rest = std::string_view(text).substr(suffix + kQwenSuffix.size());
  if (rest.find('<') != kNone) return Unknown(source, "there is more after the empty thoughts");
  auto num_breaks = std::count(rest.begin(), rest.end(), '\n');
  if (num_breaks > 0 && chat_template.ends_with('\n')) --num_breaks;
  format.suffix_end = std::string(static_cast<size_t>(num_breaks), '\n');
  format.instruction = ReadDefault(text, 0);
  return absl::OkStatus();
}

/// Returns the source of the chat template; empty if there is none.
absl::StatusOr<std::string> ReadTemplate(const ModelSource& source) {
  const auto chat_template = ChatTemplate::Load(source);
  if (absl::IsNotFound(chat_template.status())) return std::string();
  SHORTLIST_RETURN_IF_ERROR(chat_template.status());
  return chat_template->source();
}

std::string LastPart(std::string_view name) {
  while (name.ends_with('/')) name.remove_suffix(1);
  return absl::AsciiStrToLower(std::string(name.substr(name.rfind('/') + 1)));
}

/// Possible names of the model, in lower case.
std::vector<std::string> ModelNames(const ModelSource& source, std::string_view model) {
  std::vector<std::string> names = {LastPart(model.substr(0, model.find('@')))};
  std::error_code error;
  const fs::path absolute = fs::absolute(source.path(), error).lexically_normal();
  if (error) return names;
  names.push_back(LastPart(absolute.string()));
  // .../models--Qwen--Qwen3-Reranker-0.6B/snapshots/REVISION
  for (const fs::path& part : absolute) {
    if (part.string().starts_with("models--")) names.push_back(LastPart(part.string()));
  }
  return names;
}

bool HasArchitecture(const json& config, std::string_view name) {
  const auto list = config.find("architectures");
  return list != config.end() && list->is_array() && list->size() == 1 && (*list)[0] == name;
}

/// Returns Unimplemented if a LogitScore module after the transformer in `source` reads pairs
/// differently than the format. `is_template`: the format is that of the chat template.
absl::Status CheckPairsOf(const ModelSource& source, bool is_template) {
  SHORTLIST_ASSIGN_OR_RETURN(const TransformerFile transformer, ReadTransformerFile(source));
  const ConfigFields fields = transformer.file.fields();
  SHORTLIST_ASSIGN_OR_RETURN(const json* const modalities,
                             OptionalObject(fields, "modality_config"));
  if (modalities == nullptr) return absl::OkStatus();
  if (!modalities->contains("message")) {
    return fields.Unsupported("modality_config", *modalities,
                              "one with \"message\" is: without it, LogitScore judges query and "
                              "document without the chat template");
  }
  if (is_template) return absl::OkStatus();
  return fields.Unsupported("modality_config", *modalities,
                            "with \"message\", LogitScore judges what the chat template makes of a "
                            "pair: only Qwen3-Reranker's is");
}

/// Reads the ids of a LogitScore module, if any. Errors as for CheckPairsOf().
absl::Status ReadLogitScore(const ModelSource& source, bool is_template, YesNoFormat& format) {
  constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max();
  SHORTLIST_ASSIGN_OR_RETURN(const auto modules, ReadModulesFile(source));
  if (!modules || modules->back().type != "LogitScore") return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig file,
                             RequireModuleConfig(modules->back().source, "config.json"));
  SHORTLIST_RETURN_IF_ERROR(CheckPairsOf(modules->front().source, is_template));
  const ConfigFields fields = file.fields();
  const auto read = [&](const char* name, std::optional<TokenId>& id) {
    const absl::StatusOr<int64_t> value = fields.Int(name, 0, kMaxId);
    if (value.ok()) id = TokenId{static_cast<int32_t>(*value)};
    return value.status();
  };
  SHORTLIST_RETURN_IF_ERROR(read("true_token_id", format.yes_id));
  if (fields.Find("false_token_id") == nullptr) return absl::OkStatus();
  return read("false_token_id", format.no_id);
}

}  // namespace

std::vector<PromptPiece> YesNoFormat::Prefix(std::string_view instruction,
                                             std::string_view query) const {
  if (kind == Kind::kBgeGemma) {
    return {{.text = absl::StrCat("A: ", std::string(query))}, {.text = "\n"}};
  }
  const std::string_view own =
      this->instruction.empty() ? kQwenInstruction : std::string_view(this->instruction);
  const std::string_view task = instruction.empty() ? own : instruction;
  return {{.text = std::string(kQwenSystem), .is_template = true},
          {.text = absl::StrCat("<Instruct>: ", std::string(task), separator,
                                "<Query>: ", std::string(query), separator, "<Document>:")}};
}

PromptPiece YesNoFormat::Document(std::string_view document) const {
  // Qwen's tokenizer splits a text before the space of " word". Prefix and document therefore have
  // the same ids as in one text.
  const std::string_view before = kind == Kind::kQwen3 ? " " : "B: ";
  return {.text = absl::StrCat(std::string(before), std::string(document))};
}

std::vector<PromptPiece> YesNoFormat::Suffix(std::string_view instruction) const {
  if (kind == Kind::kQwen3) {
    return {{.text = absl::StrCat(std::string(kQwenSuffix), suffix_end), .is_template = true}};
  }
  const std::string_view own =
      this->instruction.empty() ? kGemmaInstruction : std::string_view(this->instruction);
  return {{.text = "\n"}, {.text = std::string(instruction.empty() ? own : instruction)}};
}

absl::StatusOr<std::optional<YesNoFormat>> DetectYesNoFormat(const ModelSource& source,
                                                             std::string_view model) {
  SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig config, ReadModuleConfig(source, "config.json"));
  SHORTLIST_ASSIGN_OR_RETURN(const std::string chat_template, ReadTemplate(source));
  const std::vector<std::string> names = ModelNames(source, model);
  const auto is_called = [&names](std::string_view word) {
    return std::any_of(names.begin(), names.end(), [word](const std::string& name) {
      return name.find(word) != std::string::npos;
    });
  };
  YesNoFormat format;
  const bool is_template =
      absl::StrReplaceAll(chat_template, {{"\\\"", "\""}}).find(kMarker) != std::string::npos;
  if (is_template) {
    SHORTLIST_RETURN_IF_ERROR(ReadTemplateFormat(source, chat_template, format));
  } else if (HasArchitecture(config.object, "GemmaForCausalLM") && is_called("bge-reranker")) {
    format.kind = Kind::kBgeGemma;
  } else if (!HasArchitecture(config.object, "Qwen3ForCausalLM") || !is_called("qwen3-reranker")) {
    return std::nullopt;
  }
  SHORTLIST_RETURN_IF_ERROR(ReadLogitScore(source, is_template, format));
  return format;
}

}  // namespace shortlist
