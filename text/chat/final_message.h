#ifndef SHORTLIST_TEXT_CHAT_FINAL_MESSAGE_H_
#define SHORTLIST_TEXT_CHAT_FINAL_MESSAGE_H_

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "text/chat/chat_template.h"

namespace shortlist {

// A prompt that ends inside the last message, for the model to go on with it: transformers'
// continue_final_message (apply_chat_template, 5.x). A mark is put behind the message, the whole is
// rendered, and what follows the mark is cut off, so that it works with any template.

/// `messages` with the mark behind the content of the last one. InvalidArgument where that is no
/// text, or a list without a part that has a text.
absl::StatusOr<nlohmann::ordered_json> MarkFinalMessage(nlohmann::ordered_json messages);

/// What was rendered of `messages` with the mark, up to the mark; without white space at the end
/// where the template takes that from messages. InvalidArgument where the template does not write
/// the last message as it is.
absl::StatusOr<RenderedChat> CutAtMark(RenderedChat rendered,
                                       const nlohmann::ordered_json& messages);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_CHAT_FINAL_MESSAGE_H_
