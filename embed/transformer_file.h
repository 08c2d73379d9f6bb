#ifndef SHORTLIST_EMBED_TRANSFORMER_FILE_H_
#define SHORTLIST_EMBED_TRANSFORMER_FILE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "embed/embedding_config.h"
#include "embed/modules_file.h"
#include "io/model_source.h"

namespace shortlist {

/// What the Transformer module of a sentence-transformers directory says about texts.
struct TransformerFile {
  ModuleConfig file;  // sentence_bert_config.json, or the first older name that there is
  /// The first that is there of processing_kwargs.text.max_length, processor_kwargs'
  /// model_max_length, max_seq_length and tokenizer_config.json's; nullopt: no bound.
  std::optional<int64_t> max_seq_len;
  /// From processor_kwargs (tokenizer_args of older versions); tokenizer_config.json's count less.
  TokenizerArguments tokenizer;
};

/// Reads the Transformer module's file in `source`. InvalidArgument names file, field, value and
/// bound. Unimplemented names what would change the input in a way that is not supported: another
/// argument of the tokenizer or of its call, and lengths of queries and documents.
absl::StatusOr<TransformerFile> ReadTransformerFile(const ModelSource& source);

/// model_max_length (max_len, as older versions call it) of tokenizer_config.json. nullopt
/// where there is none, or one so large that it bounds nothing.
absl::StatusOr<std::optional<int64_t>> ReadTokenizerMaxLength(const ModelSource& source);

/// truncation_side and model_input_names of `fields`: tokenizer_config.json, or arguments that go
/// before it. InvalidArgument names object, field and value.
absl::StatusOr<TokenizerArguments> ReadTokenizerArguments(const ConfigFields& fields);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_TRANSFORMER_FILE_H_
