#include "cli/transcript.h"

namespace shortlist {

Chat Transcript::chat() const {
  Chat chat;
  chat.messages = nlohmann::ordered_json::array();
  const auto add = [&chat](const char* role, const std::string& text) {
    chat.messages.push_back({{"role", role}, {"content", text}});
  };
  if (!system_.empty()) add("system", system_);
  for (size_t i = 0; i < turns_.size(); ++i) add(i % 2 == 0 ? "user" : "assistant", turns_[i]);
  return chat;
}

}  // namespace shortlist
