#include "embed/yes_no_format.h"

#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "embed/modules_file.h"
#include "text/chat/chat_template.h"

namespace shortlist {
namespace {

using nlohmann::json;
using Kind = YesNoFormat::Kind;

constexpr std::string_view kMarker = "answer can only be \"yes\" or \"no\"";
constexpr std::string_view kQwenSystem =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    "the Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n"
    "<|im_start|>user\n";
constexpr std::string_view kQwenInstruction =
    "Given a web search query, retrieve relevant passages that answer the query";
constexpr std::string_view kQwenSuffix =
    "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";
constexpr std::string_view kGemmaInstruction =
    "Given a query A and a passage B, determine whether the passage contains an answer to the "
    "query by providing a prediction of either 'Yes' or 'No'.";

/// The line breaks right before `tag`; npos where the tag is missing.
size_t CountBreaksBefore(std::string_view text, std::string_view tag) {
  const size_t place = text.find(tag);
  if (place == std::string_view::npos) return place;
  size_t count = 0;
  while (count < place && text[place - count - 1] == '\n') ++count;
  return count;
}

/// What a template puts between instruction, query and document.
absl::StatusOr<std::string> ReadSeparator(const std::string& dir, std::string_view source) {
  // In a string of Jinja's, quotes and line breaks are escaped.
  const std::string text = absl::StrReplaceAll(std::string(source), {{"\\n", "\n"}});
  const size_t query = CountBreaksBefore(text, "<Query>:");
  const size_t document = CountBreaksBefore(text, "<Document>:");
  if (query != document || (query != 1 && query != 2)) {
    return absl::UnimplementedError(
        absl::StrCat(dir,
                     ": the chat template is that of a reranker, but <Query>: and <Document>: "
                     "do not stand behind one or two line breaks each, which alone is "
                     "supported"));
  }
  return std::string(query, '\n');
}

/// The source of the chat template; empty where there is none.
absl::StatusOr<std::string> ReadTemplate(const std::string& dir) {
  const auto chat_template = ChatTemplate::Load(dir);
  if (absl::IsNotFound(chat_template.status())) return std::string();
  SHORTLIST_RETURN_IF_ERROR(chat_template.status());
  return chat_template->source();
}

/// The last part of the name, in lower case.
std::string ModelName(std::string_view model) {
  std::string_view name = model.substr(0, model.find('@'));
  while (name.ends_with('/')) name.remove_suffix(1);
  return absl::AsciiStrToLower(std::string(name.substr(name.rfind('/') + 1)));
}

bool HasArchitecture(const json& config, std::string_view name) {
  const auto list = config.find("architectures");
  return list != config.end() && list->is_array() && list->size() == 1 && (*list)[0] == name;
}

/// The ids of a LogitScore module, where there is one.
absl::Status ReadLogitScore(const std::string& dir, YesNoFormat& format) {
  constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max();
  SHORTLIST_ASSIGN_OR_RETURN(const auto modules, ReadModulesFile(dir));
  if (!modules || modules->back().type != "LogitScore") return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig file,
                             RequireModuleConfig(modules->back().dir, "config.json"));
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
  const std::string_view task = instruction.empty() ? kQwenInstruction : instruction;
  return {{.text = std::string(kQwenSystem), .is_template = true},
          {.text = absl::StrCat("<Instruct>: ", std::string(task), separator,
                                "<Query>: ", std::string(query), separator, "<Document>:")}};
}

PromptPiece YesNoFormat::Document(std::string_view document) const {
  // Qwen's tokenizer cuts a text before the space of " word", so that prefix and document have the
  // ids that they have in one text.
  const std::string_view before = kind == Kind::kQwen3 ? " " : "B: ";
  return {.text = absl::StrCat(std::string(before), std::string(document))};
}

std::vector<PromptPiece> YesNoFormat::Suffix(std::string_view instruction) const {
  if (kind == Kind::kQwen3) return {{.text = std::string(kQwenSuffix), .is_template = true}};
  return {{.text = "\n"},
          {.text = std::string(instruction.empty() ? kGemmaInstruction : instruction)}};
}

absl::StatusOr<std::optional<YesNoFormat>> DetectYesNoFormat(const std::string& dir,
                                                             std::string_view model) {
  SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig config, ReadModuleConfig(dir, "config.json"));
  SHORTLIST_ASSIGN_OR_RETURN(const std::string source, ReadTemplate(dir));
  const std::string name = ModelName(model);
  const auto is_called = [&name](std::string_view word) {
    return name.find(word) != std::string::npos;
  };
  YesNoFormat format;
  if (absl::StrReplaceAll(source, {{"\\\"", "\""}}).find(kMarker) != std::string::npos) {
    SHORTLIST_ASSIGN_OR_RETURN(format.separator, ReadSeparator(dir, source));
  } else if (HasArchitecture(config.object, "GemmaForCausalLM") && is_called("bge-reranker")) {
    format.kind = Kind::kBgeGemma;
  } else if (!HasArchitecture(config.object, "Qwen3ForCausalLM") || !is_called("qwen3-reranker")) {
    return std::nullopt;
  }
  SHORTLIST_RETURN_IF_ERROR(ReadLogitScore(dir, format));
  return format;
}

}  // namespace shortlist
