#ifndef SHORTLIST_IO_WEIGHT_FILES_H_
#define SHORTLIST_IO_WEIGHT_FILES_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/tensor_file.h"

namespace shortlist {

/// The files of a model directory that hold its weights: the first there is of model.safetensors,
/// the shards that model.safetensors.index.json names, pytorch_model.bin, and the shards that
/// pytorch_model.bin.index.json names. Immutable.
class WeightFiles {
 public:
  /// One tensor and the file that holds it; both live in the WeightFiles, and stay when it moves.
  struct Location {
    size_t file;
    const TensorEntry* entry;
  };

  /// Opens every file and checks its header. NotFound names what was looked for; InvalidArgument a
  /// damaged file, an index that points outside `dir` or to a tensor that its shard does not hold,
  /// or a tensor in a shard that the index does not know; else as OpenSafetensors and
  /// OpenTorchFile.
  static absl::StatusOr<WeightFiles> Open(const std::string& dir);
  /// A state dict beside the model's own weights: one file, as OpenTorchFile.
  static absl::StatusOr<WeightFiles> OpenStateDict(const std::string& path);

  /// Or the path of the state dict.
  const std::string& dir() const { return dir_; }
  const std::map<std::string, Location>& tensors() const { return tensors_; }
  const TensorFile& file(const Location& location) const { return files_[location.file]; }

 private:
  using OpenFile = absl::StatusOr<TensorFile> (*)(const std::string& path);

  WeightFiles() = default;
  absl::Status AddFile(absl::StatusOr<TensorFile> file);
  absl::Status AddShards(const std::string& index, OpenFile open);

  std::string dir_;
  std::vector<TensorFile> files_;
  std::map<std::string, Location> tensors_;
};

}  // namespace shortlist

#endif  // SHORTLIST_IO_WEIGHT_FILES_H_
