#ifndef SHORTLIST_SERVE_TOKENIZER_INFO_H_
#define SHORTLIST_SERVE_TOKENIZER_INFO_H_

#include <string>

#include "absl/status/statusor.h"
#include "io/model_source.h"
#include "serve/generator.h"

namespace shortlist {

/// What GET /tokenizer_info answers, as vLLM does, for clients that tokenize here (lm-eval's
/// `tokenizer_backend=remote`): "tokenizer_class", "bos_token", "eos_token", "unk_token" and
/// "pad_token" (null where there is none), "chat_template" (the source of the one that chats are
/// rendered with, null where the model has none), "chat_stops" (texts that end the assistant's
/// turn, beside its end-of-text tokens) and "model_max_length", as JSON text.
///
/// Tokens are those of tokenizer_config.json, where it names none the tokenizer's own.
/// InvalidArgument for a file of that name that is not a JSON object.
absl::StatusOr<std::string> TokenizerInfo(const ModelSource& source,
                                          const Generator::Options& options);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_TOKENIZER_INFO_H_
