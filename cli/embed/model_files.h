#ifndef SHORTLIST_CLI_EMBED_MODEL_FILES_H_
#define SHORTLIST_CLI_EMBED_MODEL_FILES_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "nlohmann/json.hpp"

namespace shortlist {

/// The files that decide what a model makes of a text, by what is in them: in the model's
/// directory and the folders that modules.json names all *.json, *.txt, *.model and *.tiktoken,
/// and the weights that are read (*.safetensors; pytorch_model*.bin where there is no
/// model.safetensors; sparse_linear.pt and colbert_linear.pt).
///
/// All of their bytes are hashed: a single one that differs is noticed, wherever it is. That reads
/// about as fast as memory or disk can, and loading the model then
/// finds the files there. Immutable.
class ModelFiles {
 public:
  /// Hashes them, before the model is loaded. `model` is as for ModelSource::Open. Errors as
  /// ModelSource::Open and RawFile, which names the file.
  static absl::StatusOr<ModelFiles> Read(const std::string& model);

  /// Once the model is loaded: Unavailable names a file that has been written or replaced since
  /// Read, so that the hash may not be that of what was loaded.
  absl::Status CheckUnchanged() const;

  /// {"config.json": "xxh64:44bc2cf5ad770999", ...}, by their paths below the directory.
  nlohmann::ordered_json hashes() const;

 private:
  struct File {
    std::string path;
    FileVersion version;
    std::string hash;
  };

  ModelFiles() = default;
  std::map<std::string, File> files_;  // by the path below the directory
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_MODEL_FILES_H_
