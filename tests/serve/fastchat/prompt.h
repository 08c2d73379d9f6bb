#ifndef SHORTLIST_TESTS_SERVE_FASTCHAT_PROMPT_H_
#define SHORTLIST_TESTS_SERVE_FASTCHAT_PROMPT_H_

#include <string>

#include "nlohmann/json.hpp"

namespace shortlist {

/// What FastChat's Conversation.get_prompt makes of `conv` and the turns of `messages`, an array of
/// {"role", "content"}: the styles whose numbers are the same in all its releases.
std::string FastchatPrompt(nlohmann::json conv, const nlohmann::json& messages);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SERVE_FASTCHAT_PROMPT_H_
