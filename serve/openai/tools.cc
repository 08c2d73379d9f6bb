#include "serve/openai/tools.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "serve/http/api_error.h"

namespace shortlist {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kMaxTools = 128;

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

}  // namespace

bool Spells(const ChatTemplate* chat_template, std::string_view word) {
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
  if (!Spells(chat_template, "tools")) {
    fields.Fail("tools", "the chat template of this model reads none");
    return nullptr;
  }
  return ordered["tools"];
}

void ReadToolChoice(JsonFields& fields, bool has_tools) {
  const json* choice = fields.Find("tool_choice");
  if (choice != nullptr && *choice != "none") {
    return fields.Fail("tool_choice", "only \"none\" is supported: calls are not parsed here");
  }
  if (choice != nullptr || !has_tools) return;
  fields.Fail("tools",
              "not supported without \"tool_choice\": \"none\": calls are not parsed here");
}

absl::StatusOr<ordered_json> ReadToolCalls(const ordered_json& ordered, const std::string& where,
                                           const ChatTemplate* chat_template) {
  const std::string field = absl::StrCat(where, ".tool_calls");
  if (!Spells(chat_template, "tool_calls")) {
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
    if (arguments.is_object()) continue;
    const std::string name = absl::StrCat(place, ".arguments");
    if (!arguments.is_string()) return Refused(name, "neither a text nor an object");
    SHORTLIST_ASSIGN_OR_RETURN(arguments, ParseArguments(arguments.get<std::string>(), name));
  }
  return calls;
}

absl::Status CheckToolRole(const std::string& where, const ChatTemplate* chat_template) {
  if (chat_template != nullptr && !chat_template->IgnoresToolRole()) return absl::OkStatus();
  return Refused(absl::StrCat(where, ".role"),
                 "the chat template of this model ignores the role \"tool\"");
}

}  // namespace shortlist
