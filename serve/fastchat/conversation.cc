#include "serve/fastchat/conversation.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

// The values of FastChat's SeparatorStyle that are the same in all versions.
constexpr int kNoColonSingle = 4;     // system, then role message sep
constexpr int kNoColonTwo = 5;        // system, then role message and alternately sep or sep2
constexpr int kAddNewLineSingle = 6;  // system sep unless empty, then role "\n" message sep

constexpr std::string_view kBareSystem = "{system_message}";

/// Converts `c` to a style with a stable number, and returns that number.
int ToStableStyle(Conversation& c) {
  switch (c.sep_style) {
    case SeparatorStyle::kAddColonSingle:
    case SeparatorStyle::kAddColonTwo:
    case SeparatorStyle::kNoColonSingle:
    case SeparatorStyle::kNoColonTwo:
    case SeparatorStyle::kAddNewLineSingle:
    case SeparatorStyle::kLlama2:
      return static_cast<int>(c.sep_style);
    case SeparatorStyle::kChatml:
      c.sep += "\n";
      return kAddNewLineSingle;
    case SeparatorStyle::kLlama3:
      for (std::string& role : c.roles) {
        role = absl::StrCat("<|start_header_id|>", role, "<|end_header_id|>\n\n");
      }
      c.sep = "<|eot_id|>";
      return kNoColonSingle;
    case SeparatorStyle::kDolly:
      for (std::string& role : c.roles) role += ":\n";
      c.sep2 = absl::StrCat(c.sep2.value_or(""), "\n\n");
      return kNoColonTwo;
    case SeparatorStyle::kFalconChat:
      if (c.system_template != kBareSystem) c.system_template += c.sep;
      c.roles = {c.roles[0] + ": ", c.roles[1] + ":"};
      return kNoColonSingle;
    case SeparatorStyle::kDeepseekChat:
      c.roles = {c.roles[0] + ": ", c.roles[1] + ":"};
      return kNoColonTwo;
  }
  return kNoColonSingle;
}

}  // namespace

nlohmann::json FastchatConversation(const Conversation& conversation) {
  Conversation c = conversation;
  const int sep_style = ToStableStyle(c);
  auto messages = nlohmann::json::array();
  for (const Conversation::Message& example : c.examples) {
    messages.push_back({example.role, example.text});
  }
  return {{"name", c.name},
          {"system_template", c.system_template},
          {"system_message", c.system_message},
          {"system_message_vision", ""},
          {"roles", c.roles},
          {"messages", messages},
          {"offset", messages.size()},
          {"sep_style", sep_style},
          {"sep", c.sep},
          {"sep2", c.sep2 ? nlohmann::json(*c.sep2) : nlohmann::json(nullptr)},
          {"stop_str", c.stop_str},
          {"stop_token_ids", c.stop_token_ids},
          {"max_image_size_mb", nullptr}};
}

}  // namespace shortlist
