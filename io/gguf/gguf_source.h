#ifndef SHORTLIST_IO_GGUF_GGUF_SOURCE_H_
#define SHORTLIST_IO_GGUF_GGUF_SOURCE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "io/model_source.h"

namespace shortlist {

/// Opens the model in a GGUF file, or in the files NAME-00001-of-0000N.gguf of which `path` is the
/// first. The result holds the documents and tensors of the Hugging Face directory that the file
/// was made from; blocks are read as bf16 or as stored (TensorFile). Errors of GgufFile::Open,
/// GgufTensors and GgufDocuments. InvalidArgument names a part that does not belong to the others.
absl::StatusOr<std::shared_ptr<const SourceFiles>> OpenGguf(const std::string& path);

}  // namespace shortlist

#endif  // SHORTLIST_IO_GGUF_GGUF_SOURCE_H_
