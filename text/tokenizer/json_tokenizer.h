#ifndef SHORTLIST_TEXT_TOKENIZER_JSON_TOKENIZER_H_
#define SHORTLIST_TEXT_TOKENIZER_JSON_TOKENIZER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer.h"

namespace shortlist {

/// Largest tokenizer.json that is read.
inline constexpr int64_t kMaxTokenizerJsonBytes = int64_t{256} << 20;

/// Returns the tokenizer that a tokenizer.json (of Hugging Face's `tokenizers`) describes. `config`
/// is the tokenizer_config.json next to it, `model_config` the config.json; either may be an empty
/// object. The ids equal those of the library, as far as the Unicode tables of utf8proc and PCRE2
/// agree with the library's. Models: BPE, WordPiece, WordLevel and Unigram. InvalidArgument names
/// the member that is wrong or not supported.
///
/// The class of the tokenizer may replace normalizer, pre-tokenizer, decoder and post-processor
/// (text/tokenizer/tokenizer_class.h). If both files have an added token, the flags of `config`
/// apply. Special tokens that only `config` names are added too, as ReadAddedTokens()
/// (text/tokenizer/added_token_list.h) describes. "truncation" and "padding" are left to the
/// caller.
///
/// Decoding differs from the library's where it depends on several tokens: broken UTF-8 becomes
/// U+FFFD as in Tokenizer::Decode, and a word's end at the end of a text (CLIP) becomes a space. A
/// special token with `normalized` is left out of decoded text, as others are. The library keeps it
/// if the normalizer changes its text.
absl::StatusOr<std::unique_ptr<Tokenizer>> ParseJsonTokenizer(
    const nlohmann::json& document, const nlohmann::json& config,
    const nlohmann::json& model_config = nlohmann::json::object());

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_JSON_TOKENIZER_H_
