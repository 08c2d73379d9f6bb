#ifndef SHORTLIST_CLI_SHIPPED_LISTS_H_
#define SHORTLIST_CLI_SHIPPED_LISTS_H_

#include <string>
#include <vector>

#include "cli/session.h"

namespace shortlist {

/// The vocabulary lists that come with the program, those of the most kinds of text first: of
/// vocab_lists/ at or above the directory of the executable (a source tree), else of
/// share/shortlist/vocab_lists (an installation). Empty where there is neither.
std::vector<std::string> ShippedLists();

/// The flags that prune the draft's head for this tokenizer: a shipped list that fits it, else a
/// sketch. Empty where the draft does not score its full head, where there is no draft, and where
/// --vocab asks for the full head. Reads shipped lists of about this size until one fits.
std::string PruningHint(const Session& session);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_SHIPPED_LISTS_H_
