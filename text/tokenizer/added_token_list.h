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

/// The added tokens of tokenizer.json (`document`) and of tokenizer_config.json (`config`), whose
/// flags count where both have a token; then the special tokens that `config` names and those of
/// the class (`parts`).
///
/// A special token that `vocabulary` lacks gets the next id after all others, as transformers gives
/// it, where that is below "vocab_size" of config.json (`model_config`; of its "text_config"
/// where it has none of its own), or that is not known. Otherwise no model knows the id: the
/// token is left out, and a warning names it.
///
/// InvalidArgument names a member of the wrong type, and a token whose id is not its own.
absl::StatusOr<AddedTokens> ReadAddedTokens(const nlohmann::json& document,
                                            const nlohmann::json& config,
                                            const nlohmann::json& model_config,
                                            const ClassParts& parts, const Vocabulary& vocabulary);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_ADDED_TOKEN_LIST_H_
