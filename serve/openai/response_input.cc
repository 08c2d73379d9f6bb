#include "serve/openai/response_input.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "serve/sampling_fields.h"
#include "text/tokenizer.h"

namespace shortlist {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr size_t kMaxItems = 4096;

/// Returns an item's content in the chat route's format: a text, or a list of text parts.
absl::StatusOr<json> ChatContent(const json& content, const std::string& where) {
  if (!content.is_array()) return content;
  json parts = json::array();
  for (size_t i = 0; i < content.size(); ++i) {
    JsonFields part(content[i], absl::StrCat(where, "[", i, "]."));
    const std::string type = part.String("type", "", kMaxNameBytes);
    if (type != "input_text" && type != "output_text" && type != "text") {
      part.Fail("type", "only \"input_text\" and \"output_text\" are supported");
    }
    const auto text = part.OptionalString("text", Tokenizer::kMaxTextBytes);
    if (!text.has_value()) part.Fail("text", "missing");
    part.Accept({"annotations", "logprobs"});
    part.RefuseUnknown();
    SHORTLIST_RETURN_IF_ERROR(part.status());
    parts.push_back({{"type", "text"}, {"text", *text}});
  }
  return parts;
}

absl::StatusOr<json> MessageOf(const json& value, const std::string& where) {
  JsonFields item(value, where + ".");
  if (item.String("type", "message", kMaxNameBytes) != "message") {
    item.Fail("type",
              "only \"message\", \"function_call\" and \"function_call_output\" are supported");
  }
  const std::string role = item.String("role", "", kMaxNameBytes);
  if (role.empty()) item.Fail("role", "missing");
  const json* content = item.Find("content");
  const bool is_list = content != nullptr && content->is_array() && !content->empty();
  if (content == nullptr || !(content->is_string() || is_list)) {
    item.Fail("content", "neither a text nor a list of parts");
  }
  item.Accept({"id", "status"});
  item.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(item.status());
  SHORTLIST_ASSIGN_OR_RETURN(json parts, ChatContent(*content, where + ".content"));
  return json{{"role", role}, {"content", std::move(parts)}};
}

/// Adds one function call to a list of calls; "arguments" is a text of JSON.
absl::Status AddCall(const json& value, const std::string& where, json& messages) {
  JsonFields item(value, where + ".");
  const auto id = item.OptionalString("call_id", kMaxNameBytes);
  const auto name = item.OptionalString("name", kMaxNameBytes);
  const auto arguments = item.OptionalString("arguments", Tokenizer::kMaxTextBytes);
  if (!id.has_value()) item.Fail("call_id", "missing");
  if (!name.has_value()) item.Fail("name", "missing");
  item.Accept({"type", "id", "status"});
  item.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(item.status());
  const json call = {{"id", *id},
                     {"type", "function"},
                     {"function", {{"name", *name}, {"arguments", arguments.value_or("")}}}};
  const bool goes_on = !messages.empty() && (messages.back().contains("tool_calls") ||
                                             messages.back().contains("reasoning_content"));
  if (!goes_on) messages.push_back({{"role", "assistant"}});
  messages.back()["tool_calls"].push_back(call);
  return absl::OkStatus();
}

absl::StatusOr<json> ToolMessage(const json& value, const std::string& where) {
  JsonFields item(value, where + ".");
  const auto id = item.OptionalString("call_id", kMaxNameBytes);
  if (!id.has_value()) item.Fail("call_id", "missing");
  const json* output = item.Find("output");
  if (output == nullptr || !(output->is_string() || output->is_array())) {
    item.Fail("output", "neither a text nor a list of parts");
  }
  item.Accept({"type", "id", "status"});
  item.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(item.status());
  SHORTLIST_ASSIGN_OR_RETURN(json content, ChatContent(*output, where + ".output"));
  return json{{"role", "tool"}, {"tool_call_id", *id}, {"content", std::move(content)}};
}

/// Adds the reasoning of a reply, which the assistant's next message or call goes on.
absl::Status AddReasoning(const json& value, const std::string& where, json& messages) {
  JsonFields item(value, where + ".");
  std::string text;
  for (const json& part : item.Find("content") == nullptr ? json::array() : value["content"]) {
    if (!part.is_object() || !part.contains("text") || !part["text"].is_string()) {
      item.Fail("content", "no list of {\"type\": \"reasoning_text\", \"text\": ...}");
      break;
    }
    text += part["text"].get<std::string>();
  }
  // A summary is none of ours, and what is encrypted cannot be read.
  item.Accept({"type", "id", "status", "summary", "encrypted_content"});
  item.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(item.status());
  if (!text.empty()) messages.push_back({{"role", "assistant"}, {"reasoning_content", text}});
  return absl::OkStatus();
}

/// Adds an item to the messages of a chat.
absl::Status AddItem(const json& value, const std::string& where, json& messages) {
  const auto type = value.is_object() ? value.find("type") : value.end();
  if (type != value.end() && *type == "function_call") return AddCall(value, where, messages);
  if (type != value.end() && *type == "reasoning") return AddReasoning(value, where, messages);
  const bool is_output = type != value.end() && *type == "function_call_output";
  SHORTLIST_ASSIGN_OR_RETURN(json message,
                             is_output ? ToolMessage(value, where) : MessageOf(value, where));
  const bool goes_on = message["role"] == "assistant" && !messages.empty() &&
                       messages.back().contains("reasoning_content") &&
                       !messages.back().contains("content") &&
                       !messages.back().contains("tool_calls");
  if (goes_on) {
    messages.back()["content"] = std::move(message["content"]);
  } else {
    messages.push_back(std::move(message));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<json> ReadResponseMessages(JsonFields& fields) {
  json messages = json::array();
  const auto instructions = fields.OptionalString("instructions", Tokenizer::kMaxTextBytes);
  if (instructions.has_value()) {
    messages.push_back({{"role", "system"}, {"content", *instructions}});
  }
  const json* input = fields.Find("input");
  if (input == nullptr) fields.Fail("input", "missing");
  if (input != nullptr && !input->is_string() &&
      (!input->is_array() || input->empty() || input->size() > kMaxItems)) {
    fields.Fail("input", absl::StrCat("neither a text nor a list of 1 to ", kMaxItems, " items"));
  }
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  if (input->is_string()) {
    messages.push_back({{"role", "user"}, {"content", *input}});
    return messages;
  }
  for (size_t i = 0; i < input->size(); ++i) {
    SHORTLIST_RETURN_IF_ERROR(AddItem((*input)[i], absl::StrCat("input[", i, "]"), messages));
  }
  return messages;
}

ordered_json ReadResponseTools(JsonFields& fields, const ordered_json& ordered) {
  const json* tools = fields.Find("tools");
  if (tools == nullptr || *tools == json::array()) return nullptr;
  if (!tools->is_array()) {
    fields.Fail("tools", "no list of functions");
    return nullptr;
  }
  ordered_json functions = ordered_json::array();
  for (size_t i = 0; i < tools->size(); ++i) {
    JsonFields tool((*tools)[i], absl::StrCat("tools[", i, "]."));
    if (tool.String("type", "", kMaxNameBytes) != "function") {
      tool.Fail("type", "only \"function\" is supported");
    }
    if (!tool.OptionalString("name", kMaxNameBytes).has_value()) tool.Fail("name", "missing");
    tool.Accept({"description", "parameters", "strict"});
    tool.RefuseUnknown();
    if (!tool.status().ok()) {
      fields.Take(tool.status());
      return nullptr;
    }
    ordered_json function = ordered["tools"][i];
    function.erase("type");
    functions.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return functions;
}

}  // namespace shortlist
