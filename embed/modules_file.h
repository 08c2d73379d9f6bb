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

/// The modules of modules.json in their order; nullopt when there is no such file.
/// InvalidArgument names file, entry, field, value and bound: an entry without type or path, a path
/// that leaves `source` (by its name or by a symbolic link), idx that is not the entry's place, a
/// name that another entry has; Unimplemented a class that is not sentence-transformers' own.
absl::StatusOr<std::optional<std::vector<ModuleEntry>>> ReadModulesFile(const ModelSource& source);

/// Where the transformer of such a directory has its config.json, weights and tokenizer: that of
/// the first module; `source` itself where there is no modules.json that can be read.
ModelSource TransformerOf(const ModelSource& source);

/// What the configuration file of a module holds; it says where it is.
struct ModuleConfig {
  std::string path;
  nlohmann::json object;  // {} where there is no file
  bool exists = false;

  ConfigFields fields() const { return ConfigFields(path, object); }
};

/// Reads the file `name`. InvalidArgument as ModelSource::ReadObject.
absl::StatusOr<ModuleConfig> ReadModuleConfig(const ModelSource& source, const char* name);
/// The same of a file that must be there; else NotFound names it.
absl::StatusOr<ModuleConfig> RequireModuleConfig(const ModelSource& source, const char* name);

/// Reads config_sentence_transformers.json. Unimplemented where its model_type is another
/// than `model_type`; an absent one is not.
absl::StatusOr<ModuleConfig> ReadModelFile(const ModelSource& source, const char* model_type);
/// The same file of a CrossEncoder. As in sentence-transformers, it does not count (the result does
/// not exist) without a modules.json, or where it names no model_type.
absl::StatusOr<ModuleConfig> ReadCrossEncoderFile(const ModelSource& source);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_MODULES_FILE_H_
