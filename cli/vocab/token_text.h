#ifndef SHORTLIST_CLI_VOCAB_TOKEN_TEXT_H_
#define SHORTLIST_CLI_VOCAB_TOKEN_TEXT_H_

#include <string>
#include <string_view>

#include "base/ids.h"
#include "text/tokenizer.h"

namespace shortlist {

/// A token in readable form, quoted as in JSON: "\" the\"". Returns its id if there is no tokenizer
/// (null) or the tokenizer does not have the id.
std::string TokenText(TokenId id, const Tokenizer* tokenizer);

/// UTF-8 text of a file on one line for a terminal: control characters as in JSON, "\\u001b".
std::string VisibleText(std::string_view text);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_TOKEN_TEXT_H_
