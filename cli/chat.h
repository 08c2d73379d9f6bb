#ifndef SHORTLIST_CLI_CHAT_H_
#define SHORTLIST_CLI_CHAT_H_

#include <istream>
#include <ostream>

#include "absl/status/status.h"
#include "cli/flags/flags.h"

namespace shortlist {

/// `shortlist chat`: each line of `in` is a message of the user's, answered on `out` as the tokens
/// come; lines that begin with "/" are commands. Turns share their prefix in the radix cache.
/// SIGINT ends an answer that is being written; what there is of it stays in the conversation.
///
/// With `is_interactive` a prompt is shown, and an error costs the line that it is about; without
/// it, the first error ends the chat.
///
/// With flags.show_prompt no weights are read and nothing is answered: lines are by turns the
/// user's and the assistant's, and what the model would read after each of the user's, rendered and
/// as token ids, is written.
absl::Status RunChat(const ChatFlags& flags, bool is_interactive, std::istream& in,
                     std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_CHAT_H_
