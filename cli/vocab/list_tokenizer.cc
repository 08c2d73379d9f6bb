#include "cli/vocab/list_tokenizer.h"

#include <algorithm>

#include "CLI/CLI.hpp"
#include "base/status_macros.h"
#include "cli/warnings.h"
#include "io/model_source.h"
#include "model/checkpoint/config.h"

namespace shortlist {

void AddTokenizerFlags(CLI::App& command, TokenizerSource& source, bool is_required) {
  CLI::Option_group* group =
      command.add_option_group("Tokenizer", is_required ? "Exactly one of" : "At most one of");
  group
      ->add_option("--model", source.model,
                   "A Hugging Face model directory, or org/name[@revision] of the cache")
      ->type_name("DIR");
  group
      ->add_option("--tokenizer", source.tokenizer,
                   "tokenizer.json, a SentencePiece model, or ranks in tiktoken's format")
      ->type_name("FILE");
  group->require_option(is_required ? 1 : 0, 1);
}

absl::StatusOr<ListTokenizer> ListTokenizer::Open(const TokenizerSource& source) {
  if (source.model.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer,
                               OpenTokenizerFile(source.tokenizer));
    PrintTokenizerWarnings(source.tokenizer, *tokenizer);
    const int64_t size = tokenizer->size();
    return ListTokenizer(std::move(tokenizer), size);
  }
  SHORTLIST_ASSIGN_OR_RETURN(const ModelSource files, ModelSource::Open(source.model));
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, OpenTokenizer(files));
  PrintTokenizerWarnings(files.path(), *tokenizer);
  int64_t vocab_size = tokenizer->size();
  if (files.Contains("config.json")) {
    SHORTLIST_ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(files));
    vocab_size = config.vocab_size;
  }
  return ListTokenizer(std::move(tokenizer), vocab_size);
}

VocabTarget ListTokenizer::target() const {
  return {
      .vocab_size = vocab_size_,
      .fingerprint = tokenizer_->Fingerprint(),
      .spelling = [tokenizer = tokenizer_.get()](TokenId id) { return tokenizer->Spelling(id); },
      .num_spelled = tokenizer_->size()};
}

EncodeText ListTokenizer::encode() const {
  return [tokenizer = tokenizer_.get(), num_ids = std::min(vocab_size_, tokenizer_->size())](
             std::string_view text) -> absl::StatusOr<std::vector<TokenId>> {
    SHORTLIST_ASSIGN_OR_RETURN(std::vector<TokenId> ids,
                               tokenizer->Encode(text, {.add_special_tokens = false}));
    SHORTLIST_RETURN_IF_ERROR(CheckRows(ids, *tokenizer, num_ids));
    return ids;
  };
}

}  // namespace shortlist
