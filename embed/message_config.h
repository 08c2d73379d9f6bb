#ifndef SHORTLIST_EMBED_MESSAGE_CONFIG_H_
#define SHORTLIST_EMBED_MESSAGE_CONFIG_H_

#include <optional>

#include "absl/status/statusor.h"
#include "model/checkpoint/config_fields.h"
#include "nlohmann/json.hpp"

namespace shortlist {

/// How sentence-transformers turns a text or a pair into messages, which the tokenizer's chat
/// template renders. A text is one message with the role "user". A pair is one with the role
/// "query" and one with the role "document". A prompt precedes them with the role "system".
struct MessageConfig {
  /// Format of a message's content: the text, or [{"type": "text", "text": the text}]. kAuto: as
  /// the chat template expects.
  enum class Format { kAuto, kFlat, kStructured };
  Format format = Format::kAuto;
  bool pairs_alone = false;  // single texts go to the tokenizer unchanged
  bool restores_end = true;  // the end of the template survives truncation
  bool add_generation_prompt = false;
  // template variables by name
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
};

/// Reads the member "message" of the modality_config in `fields` (a Transformer module's file),
/// with processing_kwargs.chat_template. nullopt if there is none: texts go to the tokenizer
/// unchanged. "text" must be present; `output_name` is the required method_output_name of both:
/// "last_hidden_state" or "logits". Returns InvalidArgument with file, field and value;
/// Unimplemented for another method, output, format or argument.
absl::StatusOr<std::optional<MessageConfig>> ReadMessageConfig(const ConfigFields& fields,
                                                               const char* output_name);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_MESSAGE_CONFIG_H_
