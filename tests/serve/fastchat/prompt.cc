#include "tests/serve/fastchat/prompt.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace shortlist {

std::string FastchatPrompt(nlohmann::json conv, const nlohmann::json& messages) {
  std::vector<std::pair<std::string, std::string>> turns;
  for (const nlohmann::json& example : conv["messages"]) turns.emplace_back(example[0], example[1]);
  for (const nlohmann::json& message : messages) {
    if (message["role"] == "system") {
      conv["system_message"] = message["content"];
    } else {
      turns.emplace_back(conv["roles"][message["role"] == "assistant"], message["content"]);
    }
  }
  turns.emplace_back(conv["roles"][1], "");

  const std::string system_message = conv["system_message"];
  const std::string system = absl::StrReplaceAll(std::string(conv["system_template"]),
                                                 {{"{system_message}", system_message}});
  const int style = conv["sep_style"];
  const std::string seps[] = {conv["sep"], conv["sep2"].is_null() ? conv["sep"] : conv["sep2"]};
  const bool is_two = style == 2 || style == 5 || style == 7;
  const std::string before = style == 1 || style == 2 ? ": "
                             : style == 6             ? "\n"
                             : style == 7             ? " "
                                                      : "";
  const std::string open = style == 1 || style == 2 ? ":" : style == 6 ? "\n" : "";

  std::string prompt = system;
  if (style == 1 || style == 2 || (style == 6 && !system.empty())) prompt += seps[0];
  if (style == 7 && system_message.empty()) prompt = "[INST] ";
  for (size_t i = 0; i < turns.size(); ++i) {
    const auto& [role, text] = turns[i];
    if (style == 7 && i == 0 && !text.empty()) {
      absl::StrAppend(&prompt, text, " ");
    } else if (text.empty()) {
      absl::StrAppend(&prompt, role, open);
    } else {
      absl::StrAppend(&prompt, role, before, text, seps[is_two ? i % 2 : 0]);
    }
  }
  return prompt;
}

}  // namespace shortlist
