#ifndef SHORTLIST_TEXT_CHAT_FINAL_MESSAGE_H_
#define SHORTLIST_TEXT_CHAT_FINAL_MESSAGE_H_

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "text/chat/chat_template.h"

namespace shortlist {

// Prompts that end inside the last message, so that the model continues it: transformers'
// continue_final_message (apply_chat_template, 5.x). A mark is appended to the message, the whole
// is rendered, and the text from the mark on is cut off. This works with any template.

/// Returns `messages` with the mark after the content of the last one. InvalidArgument if that
/// content is neither a text nor a list with a text part.
absl::StatusOr<nlohmann::ordered_json> MarkFinalMessage(nlohmann::ordered_json messages);

/// Returns `rendered`, the prompt of the marked messages, up to the mark. Trailing white space is
/// removed if the template strips it from messages. `messages`: without the mark. InvalidArgument
/// if the template does not write the last message as it is.
absl::StatusOr<RenderedChat> CutAtMark(RenderedChat rendered,
                                       const nlohmann::ordered_json& messages);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_CHAT_FINAL_MESSAGE_H_
