#include "serve/openai/tools.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "serve/http/api_error.h"
#include "serve/sampling_fields.h"
#include "text/reply/tool_types.h"

namespace shortlist {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kMaxTools = 128;

bool IsOfName(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.'; }

absl::Status Refused(const std::string& field, std::string_view why) {
  return WithParam(absl::InvalidArgumentError(absl::StrCat(field, ": ", std::string(why))), field);
}

/// Returns the object in the text of "arguments"; an empty text is an empty object.
absl::StatusOr<ordered_json> ParseArguments(const std::string& text, const std::string& field) {
  if (text.find_first_not_of(" \t\r\n") == text.npos) return ordered_json::object();
  const absl::StatusOr<json> value = ParseJson(text, field);
  if (!value.ok()) return WithParam(value.status(), field);
  if (!value->is_object()) return Refused(field, "no JSON object");
  return ParseOrderedJson(text);
}

/// Records an error for the first tool that cannot be called.
void CheckCallable(JsonFields& fields, const ordered_json& tools) {
  std::map<std::string, size_t> indices;
  for (size_t i = 0; i < tools.size(); ++i) {
    const json tool = tools[i];
    const std::string place = absl::StrCat("tools[", i, "]");
    JsonFields members(tool, place + ".");
    if (members.String("type", "function", kMaxNameBytes) != "function") {
      members.Fail("type", "only \"function\" is supported");
    }
    const json* const function = members.Find("function");
    if (function == nullptr) members.Fail("function", "missing");
    fields.Take(members.status());
    if (!fields.status().ok()) return;
    JsonFields parts(*function, place + ".function.");
    const std::string name = parts.String("name", "", kMaxNameBytes);
    if (parts.Find("name") == nullptr) parts.Fail("name", "missing");
    const bool is_name = !name.empty() && std::all_of(name.begin(), name.end(), IsOfName);
    if (!is_name) parts.Fail("name", "no name of letters, digits, \"_\", \"-\" and \".\"");
    const auto [first, is_new] = indices.try_emplace(name, i);
    if (!is_new) parts.Fail("name", absl::StrCat("tools[", first->second, "] has this name too"));
    const json* const parameters = parts.Find("parameters");
    if (parameters != nullptr && !parameters->is_object()) {
      parts.Fail("parameters", "no JSON schema of an object");
    }
    fields.Take(parts.status());
  }
}

/// Returns the name in {"type": "function", "function": {"name": ...}} or {"type": "function",
/// "name": ...}; nullopt: it is neither.
std::optional<std::string> ChosenName(const json& chosen) {
  if (!chosen.is_object() || chosen.value("type", json()) != "function") return std::nullopt;
  const auto function = chosen.find("function");
  const json& holder = function == chosen.end() ? chosen : *function;
  if (!holder.is_object() || !holder.contains("name") || !holder["name"].is_string()) {
    return std::nullopt;
  }
  return holder["name"].get<std::string>();
}

/// Reduces the callable tools to those that `given`, an object, names.
void ReadChosen(JsonFields& fields, const json& given, ToolChoice& choice) {
  std::vector<json> chosen = {given};
  choice.is_named = true;
  if (given.value("type", json()) == "allowed_tools") {
    const json& holder = given.contains("allowed_tools") ? given["allowed_tools"] : given;
    const bool is_list =
        holder.is_object() && holder.contains("tools") && holder["tools"].is_array();
    const json mode = is_list ? holder.value("mode", json("auto")) : json();
    if (mode != "auto" && mode != "required") {
      return fields.Fail("tool_choice", "allowed_tools wants a mode, auto or required, and tools");
    }
    choice.is_named = false;
    choice.is_required = mode == "required";
    chosen = holder["tools"].get<std::vector<json>>();
  }
  ordered_json callable = ordered_json::array();
  for (const json& entry : chosen) {
    const std::optional<std::string> name = ChosenName(entry);
    if (!name) return fields.Fail("tool_choice", "no {\"type\": \"function\"} with a name");
    const auto found =
        std::find_if(choice.callable.begin(), choice.callable.end(),
                     [&](const ordered_json& tool) { return tool["function"]["name"] == *name; });
    if (found == choice.callable.end()) {
      return fields.Fail("tool_choice",
                         absl::StrCat("no tool has the name `", Excerpt(*name), "`"));
    }
    callable.push_back(*found);
  }
  if (callable.empty()) return fields.Fail("tool_choice", "allowed_tools names no tool");
  if (choice.is_named) choice.is_parallel = false;
  choice.callable = std::move(callable);
}

/// Records an error for the first callable tool whose arguments must follow a schema of no object.
void CheckParameters(JsonFields& fields, const ordered_json& tools, const ToolChoice& choice) {
  for (size_t i = 0; i < tools.size(); ++i) {
    const ordered_json& function = tools[i]["function"];
    const auto parameters = function.find("parameters");
    const bool is_checked = choice.is_required || function.value("strict", ordered_json()) == true;
    const auto& callable = choice.callable;
    if (!is_checked || parameters == function.end() ||
        std::find(callable.begin(), callable.end(), tools[i]) == callable.end()) {
      continue;
    }
    const TypeBits types = TypesOfSchema(*parameters, *parameters);
    if (parameters->is_null() || types == 0 || (types & kObjectType) != 0) continue;
    return fields.Take(
        Refused(absl::StrCat("tools[", i, "].function.parameters"), "not a schema of an object"));
  }
}

}  // namespace

bool TemplateMentions(const ChatTemplate* chat_template, std::string_view word) {
  return chat_template != nullptr && chat_template->KnowsRole(word);
}

ordered_json ReadTools(JsonFields& fields, const ordered_json& ordered,
                       const ChatTemplate* chat_template) {
  const json* tools = fields.Find("tools");
  if (tools == nullptr || *tools == json::array()) return nullptr;
  const auto is_object = [](const json& tool) { return tool.is_object(); };
  if (!tools->is_array() || tools->size() > kMaxTools ||
      !std::all_of(tools->begin(), tools->end(), is_object)) {
    fields.Fail("tools", absl::StrCat("no list of at most ", kMaxTools, " objects"));
    return nullptr;
  }
  if (!TemplateMentions(chat_template, "tools")) {
    fields.Fail("tools", "the chat template of this model reads none");
    return nullptr;
  }
  return ordered["tools"];
}

ToolChoice ReadToolChoice(JsonFields& fields, const ordered_json& tools) {
  ToolChoice choice;
  choice.is_parallel = fields.Bool("parallel_tool_calls", true);
  const json* const value = fields.Find("tool_choice");
  const json given = value == nullptr ? json(tools.is_null() ? "none" : "auto") : *value;
  if (given == "none") return choice;
  if (tools.is_null() && given == "auto") return choice;  // clients send it with every request
  if (tools.is_null()) {
    fields.Fail("tool_choice", "there are no tools to choose from");
    return choice;
  }
  CheckCallable(fields, tools);
  if (!fields.status().ok()) return choice;
  choice.callable = tools;
  choice.is_required = given != "auto";
  if (given.is_object()) {
    ReadChosen(fields, given, choice);
  } else if (given == "any") {
    fields.Fail("tool_choice", "\"any\" is \"required\" in this API");
  } else if (given != "auto" && given != "required") {
    fields.Fail("tool_choice", "neither \"auto\", \"none\", \"required\" nor a tool");
  }
  if (fields.status().ok()) CheckParameters(fields, tools, choice);
  return choice;
}

absl::StatusOr<ordered_json> ReadToolCalls(const ordered_json& ordered, const std::string& where,
                                           const ChatTemplate* chat_template) {
  const std::string field = absl::StrCat(where, ".tool_calls");
  if (!TemplateMentions(chat_template, "tool_calls")) {
    return Refused(field, "the chat template of this model reads none");
  }
  if (!ordered.is_array() || ordered.size() > kMaxTools) {
    return Refused(field, absl::StrCat("no list of at most ", kMaxTools, " calls"));
  }
  ordered_json calls = ordered;
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string place = absl::StrCat(field, "[", i, "].function");
    const bool has_function = calls[i].is_object() && calls[i].contains("function");
    ordered_json none;
    ordered_json& function = has_function ? calls[i]["function"] : none;
    const bool is_named =
        function.is_object() && function.contains("name") && function["name"].is_string();
    if (!is_named) return Refused(place, "no object with a \"name\"");
    if (!function.contains("arguments")) continue;
    ordered_json& arguments = function["arguments"];
    const std::string name = absl::StrCat(place, ".arguments");
    const ordered_json given = arguments;
    if (given.is_string()) {
      SHORTLIST_ASSIGN_OR_RETURN(arguments, ParseArguments(given.get<std::string>(), name));
    }
    if (!arguments.is_object()) return Refused(name, "neither a text nor an object");
    if (chat_template->reads_argument_text()) {
      arguments = given.is_string() ? given : ordered_json(arguments.dump());
    }
  }
  return calls;
}

absl::Status CheckToolRole(const std::string& where, const ChatTemplate* chat_template) {
  if (chat_template != nullptr && !chat_template->IgnoresToolRole()) return absl::OkStatus();
  return Refused(absl::StrCat(where, ".role"),
                 "the chat template of this model ignores the role \"tool\"");
}

}  // namespace shortlist
