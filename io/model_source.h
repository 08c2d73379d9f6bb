#ifndef SHORTLIST_IO_MODEL_SOURCE_H_
#define SHORTLIST_IO_MODEL_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "io/weight_files.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// Where a ModelSource reads from. Names are relative, with '/' between folders: "config.json",
/// "1_Pooling/config.json". Immutable; any thread may call any method.
class SourceFiles {
 public:
  virtual ~SourceFiles() = default;

  /// What messages call the file `name`; the place of all files for an empty name.
  virtual std::string PathOf(const std::string& name) const = 0;
  virtual bool Contains(const std::string& name) const = 0;
  /// As ModelSource::Read.
  virtual absl::StatusOr<std::string> Read(const std::string& name, int64_t max_bytes) const = 0;
  /// Names of the files in `folder`, without it, sorted; empty if there is no such folder.
  virtual std::vector<std::string> List(const std::string& folder) const = 0;
  /// False if `folder` leads out of these files, by its name or by a symbolic link.
  virtual bool Encloses(const std::string& folder) const = 0;
  /// As ModelSource::OpenWeights.
  virtual absl::StatusOr<WeightFiles> OpenWeights(const std::string& folder) const = 0;
  /// As ModelSource::CheckUnchanged.
  virtual absl::Status CheckUnchanged() const = 0;
};

/// One model: its configuration, tokenizer, chat templates and weights, by the names that these
/// have in a Hugging Face directory. Opened once; copies read from the same files. Immutable; any
/// thread may call any method.
class ModelSource {
 public:
  /// A source without files.
  ModelSource() = default;
  explicit ModelSource(std::shared_ptr<const SourceFiles> files) : files_(std::move(files)) {}

  /// Opens `model`: a directory, NAME.gguf, or org/name[@revision] of the local Hugging Face cache.
  /// Errors of ResolveModelDir and OpenGguf.
  static absl::StatusOr<ModelSource> Open(const std::string& model);
  /// The files in the directory `dir`. Reading them reports what is missing.
  static ModelSource OfDirectory(const std::string& dir);

  /// Where the files are, for messages.
  std::string path() const;
  /// What messages call the file `name`.
  std::string PathOf(const std::string& name) const;

  bool Contains(const std::string& name) const;
  /// The whole file `name`. NotFound names it; other errors as ReadFile.
  absl::StatusOr<std::string> Read(const std::string& name, int64_t max_bytes) const;
  /// The JSON document in the file `name`. Errors of Read and ParseJson, which name the file.
  absl::StatusOr<nlohmann::json> ReadJson(const std::string& name,
                                          int64_t max_bytes = kMaxConfigBytes) const;
  /// The JSON object in the file `name`; nullopt if there is no such file. InvalidArgument as
  /// ReadJson, and for a document that is not an object.
  absl::StatusOr<std::optional<nlohmann::json>> ReadObject(const std::string& name) const;
  /// Names of the files in `folder`, without it, sorted; empty if there is no such folder.
  std::vector<std::string> List(const std::string& folder = "") const;

  /// The tensors by name. Errors of WeightFiles::Open.
  absl::StatusOr<WeightFiles> OpenWeights() const;

  /// The files in the folder `name`, as a source of their own; all files for an empty name.
  ModelSource Folder(const std::string& name) const;
  /// False if the folder `name` leads out of this source, by its name or by a symbolic link.
  bool Encloses(const std::string& name) const;

  /// Unavailable names a file that was written, replaced, added or removed since the source was
  /// opened: what was read before and after may be of two models.
  absl::Status CheckUnchanged() const;

  bool operator==(const ModelSource&) const = default;

 private:
  std::string NameOf(const std::string& name) const;

  std::shared_ptr<const SourceFiles> files_;
  std::string folder_;  // empty, or ends with '/'
};

}  // namespace shortlist

#endif  // SHORTLIST_IO_MODEL_SOURCE_H_
