#ifndef SHORTLIST_CLI_CHAT_H_
#define SHORTLIST_CLI_CHAT_H_

#include <istream>
#include <ostream>

#include "absl/status/status.h"
#include "cli/flags/flags.h"

namespace shortlist {

/// `shortlist chat`: answers each line of `in`, a user message, on `out` as tokens arrive. Lines
/// that begin with "/" are commands. Turns share their prefix in the radix cache. SIGINT ends the
/// answer in progress; its text so far stays in the conversation. Reasoning is written to standard
/// error.
///
/// With `is_interactive` a prompt is shown, and an error discards only the line that caused it.
/// Otherwise the first error ends the chat.
///
/// With flags.show_prompt no weights are read and nothing is answered. The lines of `in` then
/// alternate between user and assistant messages. After each user message, the prompt that the
/// model would read is written as rendered text and as token ids.
absl::Status RunChat(const ChatFlags& flags, bool is_interactive, std::istream& in,
                     std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_CHAT_H_
