#ifndef SHORTLIST_CLI_VOCAB_TOKEN_TEXT_H_
#define SHORTLIST_CLI_VOCAB_TOKEN_TEXT_H_

#include <string>

#include "base/ids.h"
#include "text/tokenizer.h"

namespace shortlist {

/// A token as people read it, quoted as in JSON: "\" the\""; its id where there is no tokenizer
/// (null) or the tokenizer has no such id.
std::string TokenText(TokenId id, const Tokenizer* tokenizer);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_TOKEN_TEXT_H_
