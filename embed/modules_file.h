#ifndef SHORTLIST_EMBED_MODULES_FILE_H_
#define SHORTLIST_EMBED_MODULES_FILE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/checkpoint/config_fields.h"
#include "nlohmann/json.hpp"

namespace shortlist {

/// One entry of a sentence-transformers directory's modules.json.
struct ModuleEntry {
  std::string type;  // the last part of its class: "Pooling"
  std::string dir;   // where its files are: the directory itself or one below it
};

inline constexpr size_t kMaxModules = 16;

/// The modules of `dir`/modules.json in their order; nullopt when there is no such file.
/// InvalidArgument names file, entry, field, value and bound: an entry without type or path, a path
/// that leaves `dir` (by its name or by a symbolic link), idx that is not the entry's place, a name
/// that another entry has; Unimplemented a class that is not sentence-transformers' own.
absl::StatusOr<std::optional<std::vector<ModuleEntry>>> ReadModulesFile(const std::string& dir);

/// Where the transformer of such a directory has its config.json, weights and tokenizer: that of
/// the first module; `dir` itself where there is no modules.json that can be read.
std::string TransformerDir(const std::string& dir);

/// What the configuration file of a module holds; it says where it is.
struct ModuleConfig {
  std::string path;
  nlohmann::json object;  // {} where there is no file
  bool exists = false;

  ConfigFields fields() const { return ConfigFields(path, object); }
};

/// Reads `dir`/`name`. InvalidArgument as ReadOptionalObject.
absl::StatusOr<ModuleConfig> ReadModuleConfig(const std::string& dir, const char* name);
/// The same of a file that must be there; else NotFound names it.
absl::StatusOr<ModuleConfig> RequireModuleConfig(const std::string& dir, const char* name);

/// Reads `dir`/config_sentence_transformers.json. Unimplemented where its model_type is another
/// than `model_type`; an absent one is not.
absl::StatusOr<ModuleConfig> ReadModelFile(const std::string& dir, const char* model_type);
/// The same file of a CrossEncoder. As in sentence-transformers, it does not count (the result does
/// not exist) without a modules.json, or where it names no model_type.
absl::StatusOr<ModuleConfig> ReadCrossEncoderFile(const std::string& dir);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_MODULES_FILE_H_
