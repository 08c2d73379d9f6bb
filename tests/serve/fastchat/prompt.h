#ifndef SHORTLIST_TESTS_SERVE_FASTCHAT_PROMPT_H_
#define SHORTLIST_TESTS_SERVE_FASTCHAT_PROMPT_H_

#include <string>

#include "nlohmann/json.hpp"

namespace shortlist {

/// Returns the prompt of FastChat's Conversation.get_prompt for `conv` and `messages`, an array of
/// {"role", "content"}. Supports the styles whose numbers are equal in all its releases.
std::string FastchatPrompt(nlohmann::json conv, const nlohmann::json& messages);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SERVE_FASTCHAT_PROMPT_H_
