#ifndef SHORTLIST_TEXT_TOKENIZER_ADDED_TOKEN_LIST_H_
#define SHORTLIST_TEXT_TOKENIZER_ADDED_TOKEN_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/tokenizer_class.h"
#include "text/tokenizer/vocabulary.h"

namespace shortlist {

struct AddedTokens {
  std::vector<AddedToken> tokens;
  std::vector<std::string> warnings;  // Tokenizer::warnings
};

/// Returns the added tokens of tokenizer.json (`document`) and of tokenizer_config.json (`config`),
/// followed by the special tokens that `config` names and those of the class (`parts`). If both
/// files have a token, the flags of `config` apply.
///
/// A special token that `vocabulary` lacks gets the next id after all others, as in transformers,
/// if that id is below "vocab_size" of config.json (`model_config`; of its "text_config" if it has
/// none of its own), or if that size is unknown. Otherwise no model knows the id: the token is left
/// out and, unless it is a default of the class, a warning names it.
///
/// InvalidArgument names a member of the wrong type, or a token whose id is not its own.
absl::StatusOr<AddedTokens> ReadAddedTokens(const nlohmann::json& document,
                                            const nlohmann::json& config,
                                            const nlohmann::json& model_config,
                                            const ClassParts& parts, const Vocabulary& vocabulary);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_ADDED_TOKEN_LIST_H_
