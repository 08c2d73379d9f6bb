#ifndef SHORTLIST_CLI_VOCAB_LIST_TOKENIZER_H_
#define SHORTLIST_CLI_VOCAB_LIST_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "text/tokenizer.h"
#include "vocab/counting/token_counts.h"
#include "vocab/vocab_list.h"

namespace CLI {
class App;
}

namespace shortlist {

/// The tokenizer of a list. At most one of the two is given.
struct TokenizerSource {
  std::string model;      // a model directory, or org/name of the local cache
  std::string tokenizer;  // a file
  bool is_given() const { return !model.empty() || !tokenizer.empty(); }
};

/// Adds --model and --tokenizer, exactly one of which must be given if `is_required`. Parsing fills
/// `source`, which must outlive `command`.
void AddTokenizerFlags(CLI::App& command, TokenizerSource& source, bool is_required);

/// A tokenizer, and the vocabulary that a list of its ids must fit.
class ListTokenizer {
 public:
  /// Errors of ResolveModelDir, OpenTokenizer and OpenTokenizerFile, and of ReadModelConfig if the
  /// directory has a config.json.
  static absl::StatusOr<ListTokenizer> Open(const TokenizerSource& source);

  /// For a tokenizer and the vocabulary of its model.
  ListTokenizer(std::unique_ptr<Tokenizer> tokenizer, int64_t vocab_size)
      : tokenizer_(std::move(tokenizer)), vocab_size_(vocab_size) {}

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  int64_t vocab_size() const { return vocab_size_; }
  /// Valid while this lives. The vocabulary is the model's, or the tokenizer's if there is no
  /// model.
  VocabTarget target() const;
  /// Encodes plain text: no BOS, and the spelling of a control token is text. Valid while this
  /// lives.
  EncodeText encode() const;

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  int64_t vocab_size_;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_LIST_TOKENIZER_H_
