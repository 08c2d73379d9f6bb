#include "text/chat/tool_probe.h"

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "text/chat/chat_template.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

constexpr char kToolContent[] = "xToolSaysx";
constexpr char kArgument[] = "xArgumentx";

/// Returns short chats in which a tool is called with `arguments` and answers with kToolContent.
std::vector<Chat> ChatsWithTool(const ordered_json& arguments) {
  const ordered_json user = {{"role", "user"}, {"content", "q"}};
  const ordered_json call = {
      {"id", "c"}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", arguments}}}};
  const ordered_json assistant = {
      {"role", "assistant"}, {"content", ""}, {"tool_calls", ordered_json::array({call})}};
  const ordered_json tool = {
      {"role", "tool"}, {"content", kToolContent}, {"tool_call_id", "c"}, {"name", "f"}};
  std::vector<Chat> chats;
  for (const ordered_json& tools : {ordered_json(), ordered_json::array()}) {
    chats.push_back({.messages = ordered_json::array({user, assistant, tool}), .tools = tools});
    chats.push_back({.messages = ordered_json::array({user, tool}), .tools = tools});
  }
  return chats;
}

/// True if a chat with such a call renders and shows the argument.
bool ShowsArgument(const ChatTemplate& chat_template, const ordered_json& arguments) {
  const auto rendered = chat_template.Render(ChatsWithTool(arguments).front());
  return rendered.ok() && rendered->text.find(kArgument) != std::string::npos;
}

}  // namespace

bool RendersWithoutToolContent(const ChatTemplate& chat_template) {
  bool renders = false;
  for (const Chat& chat : ChatsWithTool(ordered_json::object())) {
    const auto rendered = chat_template.Render(chat);
    if (!rendered.ok()) continue;
    if (rendered->text.find(kToolContent) != std::string::npos) return false;
    renders = true;
  }
  return renders;
}

bool ReadsArgumentText(const ChatTemplate& chat_template) {
  const ordered_json object = {{"k", kArgument}};
  return !ShowsArgument(chat_template, object) && ShowsArgument(chat_template, object.dump());
}

bool NeedsContentOfCalls(const ChatTemplate& chat_template) {
  const ordered_json object = {{"k", kArgument}};
  for (const ordered_json& arguments : {object, ordered_json(object.dump())}) {
    Chat chat = ChatsWithTool(arguments).front();
    // A template may treat calls before the last question in another way.
    for (const bool is_earlier : {false, true}) {
      if (is_earlier) chat.messages.push_back(chat.messages[0]);
      Chat without = chat;
      without.messages[1].erase("content");
      if (chat_template.Render(chat).ok() && !chat_template.Render(without).ok()) return true;
    }
  }
  return false;
}

}  // namespace shortlist
