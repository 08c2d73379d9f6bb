#ifndef SHORTLIST_SERVE_TOKENIZER_INFO_H_
#define SHORTLIST_SERVE_TOKENIZER_INFO_H_

#include <string>

#include "absl/status/statusor.h"
#include "io/model_source.h"
#include "serve/generator.h"

namespace shortlist {

/// Returns the reply to GET /tokenizer_info as JSON text, as vLLM has it, for clients that tokenize
/// through the server (lm-eval's `tokenizer_backend=remote`). Members: "tokenizer_class";
/// "bos_token", "eos_token", "unk_token" and "pad_token" (null: none); "chat_template" (source of
/// the template that renders chats; null: none); "chat_stops" and "chat_stop_token_ids" (texts and
/// tokens that end the assistant's turn, in addition to end-of-text tokens); and
/// "model_max_length".
///
/// Tokens are those of `model_dir`/tokenizer_config.json, else the tokenizer's own. InvalidArgument
/// if that file exists and is not a JSON object.
absl::StatusOr<std::string> TokenizerInfo(const ModelSource& source,
                                          const Generator::Options& options);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_TOKENIZER_INFO_H_
