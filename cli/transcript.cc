#include "cli/transcript.h"

#include <utility>

namespace shortlist {

Chat Transcript::chat() const {
  Chat chat;
  chat.messages = nlohmann::ordered_json::array();
  if (!system_.empty()) chat.messages.push_back({{"role", "system"}, {"content", system_}});
  for (size_t i = 0; i < turns_.size(); ++i) {
    nlohmann::ordered_json message = {{"role", i % 2 == 0 ? "user" : "assistant"},
                                      {"content", turns_[i].content}};
    if (!turns_[i].reasoning.empty()) message["reasoning_content"] = turns_[i].reasoning;
    chat.messages.push_back(std::move(message));
  }
  return chat;
}

}  // namespace shortlist
