#ifndef SHORTLIST_CLI_TOKENIZE_H_
#define SHORTLIST_CLI_TOKENIZE_H_

#include <cstdint>
#include <istream>
#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace shortlist {

/// The flags of `shortlist tokenize` and `shortlist detokenize`.
struct TokenizeFlags {
  std::string model_dir;  // exactly one of model_dir and tokenizer_path is given
  std::string tokenizer_path;
  std::string input_path;  // empty: standard input
  bool jsonl = false;      // input rows are JSON, not text or ids
  bool json = false;       // output rows are JSON
  bool add_special_tokens = true;
  bool parse_special = false;
  int64_t num_threads = 1;
};

/// Adds the flags to the subcommands; parsing fills `flags`, which must outlive them.
void AddTokenizeFlags(CLI::App& tokenize, TokenizeFlags& flags);
void AddDetokenizeFlags(CLI::App& detokenize, TokenizeFlags& flags);

/// Writes a row of ids to `out` for each row of the input: a line of text, or with --jsonl a JSON
/// string or an object with "text" or "prompt". Ids are separated by spaces, or written as {"ids":
/// […]}. Writes nothing unless every row encodes. Encoding time goes to stderr. `in` is read if
/// input_path is empty. InvalidArgument names the invalid line.
absl::Status Tokenize(const TokenizeFlags& flags, std::istream& in, std::ostream& out);

/// Inverse of Tokenize(): converts a line of ids separated by spaces, or with --jsonl an array or
/// an object with "ids", to text or {"text": …}. Control tokens produce no text.
absl::Status Detokenize(const TokenizeFlags& flags, std::istream& in, std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_TOKENIZE_H_
