#ifndef SHORTLIST_TEXT_TOKENIZER_JSON_TOKENIZER_H_
#define SHORTLIST_TEXT_TOKENIZER_JSON_TOKENIZER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer.h"

namespace shortlist {

/// The tokenizer that a tokenizer.json (of Hugging Face's `tokenizers`) describes. `config` is the
/// tokenizer_config.json next to it, `model_config` the config.json; either may be an empty object.
/// Gives the ids that the library gives, where utf8proc's and PCRE2's Unicode tables agree with its
/// own. Models: BPE, WordPiece, WordLevel and Unigram. InvalidArgument names the member that is
/// wrong or not supported.
///
/// The class of the tokenizer may replace normalizer, pre-tokenizer, decoder and post-processor
/// (text/tokenizer/tokenizer_class.h). For an added token that stands in both files, the flags of
/// `config` count. Special tokens that `config` alone names are added where the vocabulary has
/// them. "truncation" and "padding" are left to the caller.
///
/// Decoding differs from the library's where that looks at several tokens: broken UTF-8 becomes
/// U+FFFD as Tokenizer::Decode says, and a word's end at the end of a text (CLIP) reads as a space.
absl::StatusOr<std::unique_ptr<Tokenizer>> ParseJsonTokenizer(
    const nlohmann::json& document, const nlohmann::json& config,
    const nlohmann::json& model_config = nlohmann::json::object());

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_JSON_TOKENIZER_H_
