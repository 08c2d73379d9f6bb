#ifndef SHORTLIST_IO_WEIGHT_FILES_H_
#define SHORTLIST_IO_WEIGHT_FILES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/tensor_file.h"

namespace shortlist {

/// The files of a model directory that hold its weights: the first that exists of
/// model.safetensors, the shards listed in model.safetensors.index.json, pytorch_model.bin, and the
/// shards listed in pytorch_model.bin.index.json.
class WeightFiles {
 public:
  /// One tensor and the file that holds it. Both belong to the WeightFiles and stay valid when it
  /// moves.
  struct Location {
    size_t file;
    const TensorEntry* entry;
  };

  /// Opens every file and checks its header. NotFound names the files that were searched.
  /// InvalidArgument names a damaged file, an index that points outside `dir` or to a tensor that
  /// its shard lacks, or a tensor that is in a shard but not in the index. Other errors are those
  /// of OpenSafetensors and OpenTorchFile.
  static absl::StatusOr<WeightFiles> Open(const std::string& dir);
  /// Opens a state dict stored next to the model's own weights: one file. Errors are those of
  /// OpenTorchFile.
  static absl::StatusOr<WeightFiles> OpenStateDict(const std::string& path);

  /// Joins open files, of which messages speak as `path`. InvalidArgument names a tensor that two
  /// of them have.
  static absl::StatusOr<WeightFiles> Of(const std::string& path, std::vector<TensorFile> files);

  /// A run of rows of a tensor, and the name that it has as a tensor of its own.
  struct Rows {
    std::string name;
    int64_t num_rows;
  };

  /// Replaces tensor `name`, seen as a matrix whose columns are its last dimension, by `parts`: the
  /// rows of each follow those of the part before, and all rows are in one. InvalidArgument if a
  /// part's name is also another tensor's. Unimplemented for a tensor that is not contiguous.
  absl::Status Split(const std::string& name, std::span<const Rows> parts);

  /// The directory, or the path of one file.
  const std::string& dir() const { return dir_; }
  const std::vector<TensorFile>& files() const { return files_; }
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
  std::deque<TensorEntry> parts_;  // of tensors that were split
};

}  // namespace shortlist

#endif  // SHORTLIST_IO_WEIGHT_FILES_H_
