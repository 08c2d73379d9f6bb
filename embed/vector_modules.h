#ifndef SHORTLIST_EMBED_VECTOR_MODULES_H_
#define SHORTLIST_EMBED_VECTOR_MODULES_H_

#include <string>

#include "absl/status/status.h"
#include "embed/embedding_config.h"
#include "io/model_source.h"

namespace shortlist {

// Each of these reads what one module's directory says into `config`; the modules before it are in
// there. InvalidArgument names file, field, value and bound; NotFound a file that is missing;
// Unimplemented, by its name, what sentence-transformers can do and is not supported here.

inline constexpr int64_t kMaxVectorSize = int64_t{1} << 20;

/// Sets pooling, hidden and include_prompt. The file may be of any version: a text `pooling_mode`,
/// or one flag for each mode (none of them: mean).
absl::Status ReadPoolingModule(const ModelSource& source, EmbeddingConfig& config);

/// Appends to config.dense.
absl::Status ReadDenseModule(const ModelSource& source, EmbeddingConfig& config);

/// Sets normalize.
absl::Status ReadNormalizeModule(const ModelSource& source, EmbeddingConfig& config);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_VECTOR_MODULES_H_
