#ifndef SHORTLIST_CLI_EMBED_MODEL_FILES_H_
#define SHORTLIST_CLI_EMBED_MODEL_FILES_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "nlohmann/json.hpp"

namespace shortlist {

/// Content hashes of the files that decide what a model computes for a text. These are all *.json,
/// *.txt, *.model and *.tiktoken in the model's directory and in the folders named by modules.json,
/// and the weights that are read (*.safetensors; pytorch_model*.bin if there is no
/// model.safetensors; sparse_linear.pt and colbert_linear.pt).
///
/// All bytes are hashed, so any changed byte is detected. Hashing reads about as fast as memory or
/// disk allows, and warms the file cache for loading the model. Immutable.
class ModelFiles {
 public:
  /// Hashes the files. Call before the model is loaded. `model` is as for ResolveModelDir. Errors
  /// as ResolveModelDir and RawFile, which names the file.
  static absl::StatusOr<ModelFiles> Read(const std::string& model);

  /// Call after the model is loaded. Unavailable names a file that was written or replaced since
  /// Read(), so that its hash may not match what was loaded.
  absl::Status CheckUnchanged() const;

  /// {"config.json": "xxh64:44bc2cf5ad770999", ...}, keyed by path relative to the directory.
  nlohmann::ordered_json hashes() const;

 private:
  struct File {
    std::string path;
    FileVersion version;
    std::string hash;
  };

  ModelFiles() = default;
  std::map<std::string, File> files_;  // keyed by path relative to the directory
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_MODEL_FILES_H_
