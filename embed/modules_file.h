#ifndef SHORTLIST_EMBED_MODULES_FILE_H_
#define SHORTLIST_EMBED_MODULES_FILE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "io/model_source.h"
#include "model/checkpoint/config_fields.h"
#include "nlohmann/json.hpp"

namespace shortlist {

/// One entry of a sentence-transformers directory's modules.json.
struct ModuleEntry {
  std::string type;    // the last part of its class: "Pooling"
  ModelSource source;  // its files: the model's folder itself or one in it
};

inline constexpr size_t kMaxModules = 16;

/// Reads the modules of modules.json in order; nullopt if there is no such file. Returns
/// InvalidArgument with file, entry, field, value and bound: an entry without type or path, a path
/// outside `source` (by its name or by a symbolic link), an idx other than the entry's position, a
/// duplicate name. Returns Unimplemented for a class that is not part of sentence-transformers.
absl::StatusOr<std::optional<std::vector<ModuleEntry>>> ReadModulesFile(const ModelSource& source);

/// Returns the folder with the transformer's config.json, weights and tokenizer: that of the first
/// module; `source` itself if there is no readable modules.json.
ModelSource TransformerOf(const ModelSource& source);

/// Contents and path of a module's configuration file.
struct ModuleConfig {
  std::string path;
  nlohmann::json object;  // {} if there is no file
  bool exists = false;

  ConfigFields fields() const { return ConfigFields(path, object); }
};

/// Reads `name`. Returns InvalidArgument as ReadOptionalObject does.
absl::StatusOr<ModuleConfig> ReadModuleConfig(const ModelSource& source, const char* name);
/// Same as ReadModuleConfig(), but returns NotFound if there is no such file.
absl::StatusOr<ModuleConfig> RequireModuleConfig(const ModelSource& source, const char* name);

/// Reads config_sentence_transformers.json. Returns Unimplemented if it names a model_type
/// other than `model_type`.
absl::StatusOr<ModuleConfig> ReadModelFile(const ModelSource& source, const char* model_type);
/// Reads config_sentence_transformers.json of a CrossEncoder. As in sentence-transformers, it
/// is ignored (`exists` is false) if there is no modules.json, or if it has no model_type.
absl::StatusOr<ModuleConfig> ReadCrossEncoderFile(const ModelSource& source);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_MODULES_FILE_H_
