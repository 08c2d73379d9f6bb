#ifndef SHORTLIST_CLI_TOKENIZER_WARNINGS_H_
#define SHORTLIST_CLI_TOKENIZER_WARNINGS_H_

#include <iostream>
#include <string>

#include "text/tokenizer.h"

namespace shortlist {

/// Writes the warnings of the tokenizer in `dir` to standard error.
inline void PrintTokenizerWarnings(const std::string& dir, const Tokenizer& tokenizer) {
  for (const std::string& warning : tokenizer.warnings()) {
    std::cerr << "warning: " << dir << ": " << warning << "\n";
  }
}

}  // namespace shortlist

#endif  // SHORTLIST_CLI_TOKENIZER_WARNINGS_H_
