#ifndef SHORTLIST_IO_GGUF_GGUF_MODEL_H_
#define SHORTLIST_IO_GGUF_GGUF_MODEL_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "io/gguf/gguf_file.h"

namespace shortlist {

/// The tensor by which the frequencies of RoPE are divided. It has no name in Hugging Face's files.
constexpr char kRopeFactors[] = "rope_freqs.weight";

/// Returns config.json, generation_config.json, tokenizer.json and tokenizer_config.json of the
/// Hugging Face directory that a GGUF file was made from, by name, as far as `metadata` describe
/// them. `tensors`: of all parts, by Hugging Face's names (GgufTensors). The type of the embeddings
/// is the type that `dtype: auto` means. `rope_factors`: values of kRopeFactors; empty: all 1.
///
/// Unimplemented names an architecture, a pre-tokenizer or a key of the architecture that is not
/// known here: it might change the result; also rope_factors that are not those of Llama 3's
/// scaling. InvalidArgument names a missing or malformed key.
absl::StatusOr<std::map<std::string, std::string>> GgufDocuments(
    const GgufMetadata& metadata, const std::map<std::string, TensorEntry>& tensors,
    const std::vector<float>& rope_factors);

/// Returns the tensors of `file`, except kRopeFactors, under Hugging Face's names, with the rows
/// that llama.cpp reorders in their original order. `metadata`: those of the first part.
/// Unimplemented names a tensor that is not known here; InvalidArgument one that has the name of
/// another ("blk.01", "blk.1"), or rows of q or k that are no whole heads.
absl::StatusOr<std::map<std::string, TensorEntry>> GgufTensors(const GgufMetadata& metadata,
                                                               const GgufFile& file);

}  // namespace shortlist

#endif  // SHORTLIST_IO_GGUF_GGUF_MODEL_H_
