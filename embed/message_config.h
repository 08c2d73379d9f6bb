#ifndef SHORTLIST_EMBED_MESSAGE_CONFIG_H_
#define SHORTLIST_EMBED_MESSAGE_CONFIG_H_

#include <optional>

#include "absl/status/statusor.h"
#include "model/checkpoint/config_fields.h"
#include "nlohmann/json.hpp"

namespace shortlist {

/// How sentence-transformers makes messages of a text or a pair, which the tokenizer's chat
/// template then renders: a text is one message of the role "user", a pair one of the role "query"
/// and one of the role "document"; a prompt goes before them as one of the role "system".
struct MessageConfig {
  /// Of a message's content: the text, or [{"type": "text", "text": the text}]. kAuto: as the chat
  /// template reads it.
  enum class Format { kAuto, kFlat, kStructured };
  Format format = Format::kAuto;
  bool pairs_alone = false;  // a text goes to the tokenizer as it is
  bool restores_end = true;  // what the template puts at the end survives a cut
  bool add_generation_prompt = false;
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();  // the template's, by name
};

/// The member "message" of the modality_config in `fields`, those of a Transformer module's file,
/// with processing_kwargs.chat_template; nullopt where there is none: texts go to the tokenizer as
/// they are. Of "message" and of "text", which must be there, `output_name` is what the model is
/// read by: "last_hidden_state" or "logits". InvalidArgument names file, field and value;
/// Unimplemented another method, output, format or argument.
absl::StatusOr<std::optional<MessageConfig>> ReadMessageConfig(const ConfigFields& fields,
                                                               const char* output_name);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_MESSAGE_CONFIG_H_
