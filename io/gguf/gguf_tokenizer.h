#ifndef SHORTLIST_IO_GGUF_GGUF_TOKENIZER_H_
#define SHORTLIST_IO_GGUF_GGUF_TOKENIZER_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "io/gguf/gguf_file.h"

namespace shortlist {

/// Returns the documents tokenizer.json, tokenizer_config.json and generation_config.json that the
/// keys `tokenizer.*` describe.
///
/// A GGUF file of byte-level BPE names its pre-tokenizer (`tokenizer.ggml.pre`) and omits its
/// normalizer. Both come from a table here; a name that is not in it is Unimplemented. A file of
/// SentencePiece's BPE has scores instead of merges; a normalizer other than Gemma's is
/// Unimplemented. InvalidArgument names a missing or malformed key. `num_rows`: of the embedding,
/// at least the number of tokens.
absl::StatusOr<std::map<std::string, std::string>> GgufTokenizerDocuments(
    const GgufMetadata& metadata, int64_t context_len, int64_t num_rows);

}  // namespace shortlist

#endif  // SHORTLIST_IO_GGUF_GGUF_TOKENIZER_H_
