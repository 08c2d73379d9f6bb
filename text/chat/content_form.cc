#include "text/chat/content_form.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "text/chat/chat_template.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

// Two texts of a message under test, and one of the message before it. No template spells them.
constexpr char kFirst[] = "xOneTextx";
constexpr char kSecond[] = "xTwoTextx";
constexpr char kQuestion[] = "xAskx";

ordered_json Part(const std::string& text) { return {{"type", "text"}, {"text", text}}; }

ordered_json Message(std::string_view role, ordered_json content) {
  return {{"role", role}, {"content", std::move(content)}};
}

/// Returns short chats with one message of `role` that has this content, the likeliest first.
std::vector<ordered_json> ChatsWith(std::string_view role, const ordered_json& content) {
  const ordered_json message = Message(role, content);
  if (role == "user") return {ordered_json::array({message})};
  std::vector<ordered_json> chats;
  for (const ordered_json& asked :
       {ordered_json(kQuestion), ordered_json::array({Part(kQuestion)})}) {
    const ordered_json user = Message("user", asked);
    if (role == "system" || role == "developer") {
      chats.push_back(ordered_json::array({message, user}));
    } else if (role == "tool") {
      const ordered_json call = {
          {"id", "call_0000"},
          {"type", "function"},
          {"function", {{"name", "f"}, {"arguments", ordered_json::object()}}}};
      ordered_json assistant = Message("assistant", "");
      assistant["tool_calls"] = ordered_json::array({call});
      ordered_json answer = message;
      answer["tool_call_id"] = "call_0000";
      answer["name"] = "f";
      chats.push_back(ordered_json::array({user, assistant, answer}));
    } else {
      chats.push_back(ordered_json::array({user, message}));
    }
  }
  return chats;
}

/// True if some short chat renders with every text whole, and none shows what a list looks like.
bool Reads(const ChatTemplate& chat_template, std::string_view role, const ordered_json& content) {
  for (const ordered_json& messages : ChatsWith(role, content)) {
    const auto rendered = chat_template.Render({.messages = messages});
    if (!rendered.ok() || !absl::StrContains(rendered->text, kFirst)) continue;
    if (!content.is_array()) return true;
    const bool printed = absl::StrContains(rendered->text, "'type': 'text'") ||
                         absl::StrContains(rendered->text, "\"type\": \"text\"") ||
                         absl::StrContains(rendered->text, "\"type\":\"text\"");
    if (!printed && absl::StrContains(rendered->text, kSecond)) return true;
  }
  return false;
}

}  // namespace

ContentForm ContentFormOf(const ChatTemplate& chat_template, std::string_view role) {
  ContentForm form;
  form.text = Reads(chat_template, role, kFirst);
  form.parts = Reads(chat_template, role, ordered_json::array({Part(kFirst), Part(kSecond)}));
  if (!form.parts) form.text = true;
  return form;
}

ordered_json ContentOfText(const ContentForm& form, std::string text) {
  if (form.text || text.empty()) return ordered_json(std::move(text));
  return ordered_json::array({Part(text)});
}

ordered_json ContentOfParts(const ContentForm& form, const std::vector<std::string>& parts) {
  if (!form.parts) return ordered_json(absl::StrJoin(parts, "\n"));
  ordered_json list = ordered_json::array();
  for (const std::string& part : parts) list.push_back(Part(part));
  return list;
}

}  // namespace shortlist
