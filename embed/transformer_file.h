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

/// Text settings of the Transformer module of a sentence-transformers directory.
struct TransformerFile {
  ModuleConfig file;  // sentence_bert_config.json, or the first older name that exists
  /// The first of these that exists: max_length of processing_kwargs.text or .common,
  /// processor_kwargs' model_max_length, max_seq_length, tokenizer_config.json's; nullopt: no
  /// bound.
  std::optional<int64_t> max_seq_len;
  /// From processor_kwargs (tokenizer_args in older versions); overrides tokenizer_config.json.
  TokenizerArguments tokenizer;
};

/// Reads the Transformer module's file in `source`. Returns InvalidArgument with file, field, value
/// and bound. Returns Unimplemented for settings that would change the input in an unsupported way:
/// another argument of the tokenizer or of its call, and lengths of queries and documents.
absl::StatusOr<TransformerFile> ReadTransformerFile(const ModelSource& source);

/// Reads model_max_length (max_len in older versions) of tokenizer_config.json. nullopt if
/// it is absent, or so large that it bounds nothing.
absl::StatusOr<std::optional<int64_t>> ReadTokenizerMaxLength(const ModelSource& source);

/// Reads truncation_side and model_input_names of `fields`: tokenizer_config.json, or arguments
/// that override it. Returns InvalidArgument with object, field and value.
absl::StatusOr<TokenizerArguments> ReadTokenizerArguments(const ConfigFields& fields);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_TRANSFORMER_FILE_H_
