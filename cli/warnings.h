#ifndef SHORTLIST_CLI_WARNINGS_H_
#define SHORTLIST_CLI_WARNINGS_H_

#include <iostream>
#include <string>

#include "text/tokenizer.h"

namespace shortlist {

inline void PrintWarning(const std::string& warning) {
  std::cerr << "warning: " << warning << "\n";
}

/// Writes the warnings of the tokenizer of `path` to standard error.
inline void PrintTokenizerWarnings(const std::string& path, const Tokenizer& tokenizer) {
  for (const std::string& warning : tokenizer.warnings()) {
    PrintWarning(path + ": " + warning);
  }
}

}  // namespace shortlist

#endif  // SHORTLIST_CLI_WARNINGS_H_
