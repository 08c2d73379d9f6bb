#include "text/chat/chat_template.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "text/chat/final_message.h"
#include "text/chat/special_tokens.h"
#include "text/chat/tool_probe.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/parser.h"

namespace shortlist {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Sources = std::map<std::string, absl::StatusOr<std::string>>;  // by name
using Variables = std::vector<std::pair<std::string, jinja::Value>>;

constexpr size_t kMaxVariables = 64;
constexpr const char* kReasoning[] = {"reasoning_content", "thinking", "reasoning"};

absl::Status WithOrigin(const absl::Status& status, const std::string& origin) {
  return absl::Status(status.code(), absl::StrCat(origin, ": ", status.message()));
}

/// Returns the templates of a file's `chat_template` member.
absl::StatusOr<Sources> ReadMember(const std::optional<json>& config, const std::string& path) {
  Sources sources;
  if (!config || !config->contains("chat_template")) return sources;
  const json& member = (*config)["chat_template"];
  if (member.is_null()) return sources;
  if (member.is_string()) {
    sources["default"] = member.get<std::string>();
    return sources;
  }
  const absl::Status malformed = absl::InvalidArgumentError(absl::StrCat(
      path, ": chat_template is neither a text nor a list of {\"name\", \"template\"}"));
  if (!member.is_array()) return malformed;
  for (const json& entry : member) {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) {
      return malformed;
    }
    const bool has_text = entry.contains("template") && entry["template"].is_string();
    sources.insert_or_assign(entry["name"].get<std::string>(),
                             has_text
                                 ? absl::StatusOr<std::string>(entry["template"].get<std::string>())
                                 : absl::StatusOr<std::string>(malformed));
  }
  return sources;
}

struct FoundSources {
  Sources sources;
  std::string path;  // of the file that contains them
};

/// Returns the sources of the first file that has any; empty `sources` if there are none.
absl::StatusOr<FoundSources> FindSources(const ModelSource& source) {
  constexpr char kMain[] = "chat_template.jinja";
  SHORTLIST_ASSIGN_OR_RETURN(const auto config, source.ReadObject("tokenizer_config.json"));
  auto main = source.Read(kMain, ChatTemplate::kMaxBytes);
  if (main.ok()) return FoundSources{{{"default", *std::move(main)}}, source.PathOf(kMain)};
  if (!absl::IsNotFound(main.status())) return main.status();
  const std::string config_path = source.PathOf("tokenizer_config.json");
  SHORTLIST_ASSIGN_OR_RETURN(Sources sources, ReadMember(config, config_path));
  if (!sources.empty()) return FoundSources{std::move(sources), config_path};
  const std::string path = source.PathOf("chat_template.json");
  SHORTLIST_ASSIGN_OR_RETURN(const auto document, source.ReadObject("chat_template.json"));
  SHORTLIST_ASSIGN_OR_RETURN(sources, ReadMember(document, path));
  return FoundSources{std::move(sources), path};
}

/// Adds additional_chat_templates/*.jinja, which replace templates of the same name.
void AddAdditional(const ModelSource& source, Sources& sources) {
  constexpr std::string_view kEnding = ".jinja";
  const ModelSource folder = source.Folder("additional_chat_templates");
  for (const std::string& name : folder.List()) {
    if (!name.ends_with(kEnding) || name.size() == kEnding.size()) continue;
    sources.insert_or_assign(name.substr(0, name.size() - kEnding.size()),
                             folder.Read(name, ChatTemplate::kMaxBytes));
  }
}

bool IsPlainWord(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

/// Returns a message without null members, with its reasoning under each name that templates read.
ordered_json NormalizedMessage(const ordered_json& message, bool needs_content_of_calls) {
  ordered_json normalized = ordered_json::object();
  const ordered_json* reasoning = nullptr;
  for (const char* name : kReasoning) {
    const auto found = message.find(name);
    if (reasoning == nullptr && found != message.end() && !found->is_null()) reasoning = &*found;
  }
  if (reasoning != nullptr) normalized["thinking"] = *reasoning;
  for (const auto& [key, value] : message.items()) {
    if (!value.is_null()) normalized[key] = value;
  }
  if (reasoning != nullptr) normalized["reasoning_content"] = *reasoning;
  if (needs_content_of_calls && normalized.contains("tool_calls") &&
      !normalized.contains("content")) {
    normalized["content"] = "";
  }
  return normalized;
}

absl::StatusOr<jinja::Value> ToMessages(const ordered_json& messages, bool needs_content_of_calls) {
  if (!messages.is_array() || messages.empty()) {
    return absl::InvalidArgumentError("messages: not a list with at least one message");
  }
  std::vector<jinja::Value> converted;
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string origin = absl::StrCat("messages[", i, "]");
    if (!messages[i].is_object()) {
      return absl::InvalidArgumentError(absl::StrCat(origin, ": not an object"));
    }
    const auto value = jinja::FromJson(NormalizedMessage(messages[i], needs_content_of_calls));
    if (!value.ok()) return WithOrigin(value.status(), origin);
    jinja::Dict message = value->dict();
    const jinja::Value* role = message.Find("role");
    if (role != nullptr && role->Is(jinja::Kind::kText) && IsPlainWord(role->bytes())) {
      message.Set(jinja::Text::FromTemplate("role"), jinja::Text::FromTemplate(role->bytes()));
    }
    SHORTLIST_ASSIGN_OR_RETURN(converted.emplace_back(),
                               jinja::Value::MakeDict(std::move(message)));
  }
  return jinja::Value::MakeList(std::move(converted));
}

absl::StatusOr<Variables> ToVariables(const Chat& chat,
                                      const std::map<std::string, std::string>& special_tokens,
                                      bool needs_content_of_calls) {
  Variables variables;
  SHORTLIST_ASSIGN_OR_RETURN(jinja::Value messages,
                             ToMessages(chat.messages, needs_content_of_calls));
  variables.emplace_back("messages", std::move(messages));
  if (!chat.tools.is_null() && !chat.tools.is_array()) {
    return absl::InvalidArgumentError("tools: neither a list nor null");
  }
  const auto tools = jinja::FromJson(chat.tools);
  if (!tools.ok()) return WithOrigin(tools.status(), "tools");
  variables.emplace_back("tools", *tools);
  variables.emplace_back("documents", jinja::None{});
  variables.emplace_back("add_generation_prompt", chat.add_generation_prompt);
  for (const auto& [name, token] : special_tokens) {
    variables.emplace_back(name, jinja::Text::FromTemplate(token));
  }
  if (!chat.variables.is_object() || chat.variables.size() > kMaxVariables) {
    return absl::InvalidArgumentError(
        absl::StrCat("template variables: not an object of at most ", kMaxVariables, " members"));
  }
  for (const auto& [name, json_value] : chat.variables.items()) {
    if (name == "messages" || name == "tools" || name == "add_generation_prompt") {
      return absl::InvalidArgumentError(
          absl::StrCat("template variables: '", Excerpt(name), "' is taken"));
    }
    const auto value = jinja::FromJson(json_value);
    if (!value.ok()) return WithOrigin(value.status(), "template variable");
    variables.emplace_back(name, *value);
  }
  return variables;
}

std::tm LocalTime() {
  const std::time_t seconds = std::time(nullptr);
  std::tm now = {};
  localtime_r(&seconds, &now);
  return now;
}

}  // namespace

struct ChatTemplate::Parsed {
  jinja::Block block;
  std::string source;
};

absl::StatusOr<std::shared_ptr<const ChatTemplate::Parsed>> ChatTemplate::Compile(
    const std::string& name, const Source& source) {
  const std::string origin = absl::StrCat("chat template \"", Excerpt(name), "\"");
  if (!source.ok()) return WithOrigin(source.status(), origin);
  if (source->size() > static_cast<size_t>(kMaxBytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat(origin, ": ", source->size(), " bytes, above the bound of ", kMaxBytes));
  }
  if (const auto offset = FindInvalidUtf8(*source)) {
    return absl::InvalidArgumentError(absl::StrCat(origin, ": invalid UTF-8 at byte ", *offset));
  }
  auto block = jinja::ParseTemplate(*source);
  if (!block.ok()) return WithOrigin(block.status(), origin);
  return std::make_shared<const Parsed>(Parsed{*std::move(block), *source});
}

absl::StatusOr<ChatTemplate> ChatTemplate::Create(
    const std::map<std::string, std::string>& sources,
    std::map<std::string, std::string> special_tokens) {
  return CreateOf({sources.begin(), sources.end()}, std::move(special_tokens));
}

absl::StatusOr<ChatTemplate> ChatTemplate::CreateOf(
    const std::map<std::string, Source>& sources,
    std::map<std::string, std::string> special_tokens) {
  if (!sources.contains("default")) {
    return absl::InvalidArgumentError("chat templates: none is named \"default\"");
  }
  ChatTemplate result;
  for (const auto& [name, source] : sources) result.templates_.emplace(name, Compile(name, source));
  SHORTLIST_RETURN_IF_ERROR(result.templates_.at("default").status());
  result.source_ = *sources.at("default");
  for (const auto& [name, token] : special_tokens) {
    if (FindInvalidUtf8(token))
      return absl::InvalidArgumentError(absl::StrCat(name, ": invalid UTF-8"));
  }
  result.special_tokens_ = std::move(special_tokens);
  result.ignores_tool_role_ = !result.KnowsRole("\"tool\"") && !result.KnowsRole("'tool'") &&
                              RendersWithoutToolContent(result);
  result.reads_argument_text_ = result.KnowsRole("arguments") && ReadsArgumentText(result);
  result.needs_content_of_calls_ = result.KnowsRole("tool_calls") && NeedsContentOfCalls(result);
  // A template reads the text of a part by its key, so one that never spells "text" reads no parts.
  if (result.source_.find("text") == std::string::npos) return result;
  for (const char* role : {"system", "user", "assistant", "tool"}) {
    result.content_forms_[role] = ContentFormOf(result, role);
  }
  result.content_forms_["developer"] = result.KnowsRole("developer")
                                           ? ContentFormOf(result, "developer")
                                           : result.content_forms_["system"];  // PromptEncoder's
  return result;
}

absl::StatusOr<ChatTemplate> ChatTemplate::Load(const ModelSource& source) {
  SHORTLIST_ASSIGN_OR_RETURN(FoundSources found, FindSources(source));
  auto& [sources, path] = found;
  if (sources.empty()) {
    return absl::NotFoundError(absl::StrCat(
        source.path(), ": no chat template in chat_template.jinja, tokenizer_config.json or ",
        "chat_template.json"));
  }
  AddAdditional(source, sources);
  if (!sources.contains("default")) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": chat_template: none is named \"default\""));
  }
  SHORTLIST_ASSIGN_OR_RETURN(auto tokens, ReadTemplateTokens(source));
  auto result = CreateOf(sources, std::move(tokens));
  if (!result.ok()) return WithOrigin(result.status(), source.path());
  return result;
}

absl::StatusOr<RenderedChat> ChatTemplate::Render(const Chat& chat) const {
  if (chat.continue_final_message) {
    Chat marked = chat;
    marked.continue_final_message = false;
    SHORTLIST_ASSIGN_OR_RETURN(marked.messages, MarkFinalMessage(chat.messages));
    SHORTLIST_ASSIGN_OR_RETURN(RenderedChat rendered, Render(marked));
    return CutAtMark(std::move(rendered), chat.messages);
  }
  SHORTLIST_ASSIGN_OR_RETURN(const Variables variables,
                             ToVariables(chat, special_tokens_, needs_content_of_calls_));
  const auto tool_use = templates_.find("tool_use");
  const bool with_tools = !chat.tools.is_null() && tool_use != templates_.end();
  SHORTLIST_ASSIGN_OR_RETURN(const std::shared_ptr<const Parsed> parsed,
                             with_tools ? tool_use->second : templates_.at("default"));
  const auto text = jinja::Render(parsed->block, variables, chat.now ? *chat.now : LocalTime());
  if (!text.ok()) return WithOrigin(text.status(), "chat template");
  return RenderedChat{text->bytes(), text->content()};
}

const std::string& ChatTemplate::source_with_tools() const {
  const auto found = templates_.find("tool_use");
  return found != templates_.end() && found->second.ok() ? (*found->second)->source : source_;
}

bool ChatTemplate::KnowsRole(std::string_view name) const {
  return std::any_of(templates_.begin(), templates_.end(), [name](const auto& entry) {
    return entry.second.ok() && (*entry.second)->source.find(name) != std::string::npos;
  });
}

ContentForm ChatTemplate::content_form(std::string_view role) const {
  if (content_forms_.empty()) return {};
  const auto found = content_forms_.find(role);
  return found != content_forms_.end() ? found->second : content_forms_.at("user");
}

std::vector<std::string> ChatTemplate::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, parsed] : templates_) names.push_back(name);
  return names;
}

}  // namespace shortlist
