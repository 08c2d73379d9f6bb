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
  bool jsonl = false;      // rows of the input are JSON, not text or ids
  bool json = false;       // rows of the output are JSON
  bool add_special_tokens = true;
  bool parse_special = false;
  int64_t num_threads = 1;
};

/// Adds the flags to the subcommands; parsing fills `flags`, which must outlive them.
void AddTokenizeFlags(CLI::App& tokenize, TokenizeFlags& flags);
void AddDetokenizeFlags(CLI::App& detokenize, TokenizeFlags& flags);

/// A row of ids for each row of the input: a line of text, or with --jsonl a JSON string or an
/// object with "text" or "prompt". Writes to `out` ids with spaces between them, or {"ids": […]};
/// nothing unless every row encodes. How long encoding took goes to stderr. `in` counts where there
/// is no input_path. InvalidArgument names the line that is wrong.
absl::Status Tokenize(const TokenizeFlags& flags, std::istream& in, std::ostream& out);

/// The way back: a line of ids with spaces between them, or with --jsonl an array or an object with
/// "ids", becomes text or {"text": …}. Control tokens carry no text.
absl::Status Detokenize(const TokenizeFlags& flags, std::istream& in, std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_TOKENIZE_H_
