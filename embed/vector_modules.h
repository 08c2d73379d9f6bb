#ifndef SHORTLIST_EMBED_VECTOR_MODULES_H_
#define SHORTLIST_EMBED_VECTOR_MODULES_H_

#include <string>

#include "absl/status/status.h"
#include "embed/embedding_config.h"
#include "io/model_source.h"

namespace shortlist {

// Each function reads one module's directory into `config`, which must contain the previous
// modules. Returns InvalidArgument with file, field, value and bound; NotFound with a missing file;
// Unimplemented with the name of a sentence-transformers feature that is not supported here.

inline constexpr int64_t kMaxVectorSize = int64_t{1} << 20;

/// Sets pooling, hidden and include_prompt. Accepts files of any version: a text `pooling_mode`, or
/// one flag for each mode (no flag: mean).
absl::Status ReadPoolingModule(const ModelSource& source, EmbeddingConfig& config);

/// Appends to config.dense.
absl::Status ReadDenseModule(const ModelSource& source, EmbeddingConfig& config);

/// Sets normalize.
absl::Status ReadNormalizeModule(const ModelSource& source, EmbeddingConfig& config);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_VECTOR_MODULES_H_
