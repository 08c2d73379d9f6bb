#ifndef SHORTLIST_TEXT_TOKENIZER_JSON_TOKENIZER_H_
#define SHORTLIST_TEXT_TOKENIZER_JSON_TOKENIZER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/tokenizer.h"

namespace shortlist {

/// The tokenizer that a tokenizer.json (of Hugging Face's `tokenizers`) describes; `config` is the
/// tokenizer_config.json beside it, or an empty object. Gives the ids that the library gives, where
/// utf8proc's and PCRE2's Unicode tables agree with its own. BPE, WordPiece and Unigram models.
/// InvalidArgument names the member that is wrong or not supported.
///
/// "truncation" and "padding" are left to the caller. Of `config`, bos_token, eos_token and further
/// added_tokens_decoder count, and for Llama and Gemma classes add_bos_token and add_eos_token.
/// Decoding differs from the library's where that looks at several tokens: broken UTF-8 becomes
/// U+FFFD as Tokenizer::Decode says, and a word's end at the end of a text (CLIP) reads as a space.
absl::StatusOr<std::unique_ptr<Tokenizer>> ParseJsonTokenizer(const nlohmann::json& document,
                                                              const nlohmann::json& config);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_JSON_TOKENIZER_H_
