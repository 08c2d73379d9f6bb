#ifndef SHORTLIST_CLI_TOKENIZER_WARNINGS_H_
#define SHORTLIST_CLI_TOKENIZER_WARNINGS_H_

#include <iostream>
#include <string>

#include "text/tokenizer.h"

namespace shortlist {

/// Writes the warnings of the tokenizer in `source` to standard error.
inline void PrintTokenizerWarnings(const std::string& path, const Tokenizer& tokenizer) {
  for (const std::string& warning : tokenizer.warnings()) {
    std::cerr << "warning: " << path << ": " << warning << "\n";
  }
}

}  // namespace shortlist

#endif  // SHORTLIST_CLI_TOKENIZER_WARNINGS_H_
