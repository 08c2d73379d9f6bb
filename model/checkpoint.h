#ifndef SHORTLIST_MODEL_CHECKPOINT_H_
#define SHORTLIST_MODEL_CHECKPOINT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "kernels/dtype.h"
#include "model/tensor_file.h"

namespace shortlist {

/// The weights of a model directory: the first there is of model.safetensors, the shards that
/// model.safetensors.index.json names, pytorch_model.bin, and the shards that
/// pytorch_model.bin.index.json names. Used by one thread, while a model loads.
class Checkpoint {
 public:
  /// Opens every file and checks its header. NotFound names what was looked for; InvalidArgument a
  /// damaged file, an index that points outside `dir` or to a tensor that its shard does not hold,
  /// or a tensor in a shard that the index does not know.
  static absl::StatusOr<Checkpoint> Open(const std::string& dir);

  bool Contains(const std::string& name) const { return tensors_.contains(name); }

  /// How tensor `name` is stored. NotFound when it is missing, Unimplemented for a type no weight
  /// can have.
  absl::StatusOr<DType> StoredDType(const std::string& name) const;

  /// Reads a tensor into memory of its own, converted to the unquantised `dtype` (round to nearest
  /// even), contiguous; marks it as known. Each Status names the tensor: NotFound when it is
  /// missing; InvalidArgument with both shapes when it has another, for a NaN or infinite weight,
  /// or one that overflows `dtype`; Unimplemented for a type no weight can have. Throws
  /// std::bad_alloc and c10::Error: the caller is a model boundary.
  absl::StatusOr<at::Tensor> Load(const std::string& name, const std::vector<int64_t>& shape,
                                  DType dtype, ThreadPool& pool);

  /// Checks name and shape as Load does and marks it as known, without reading it.
  absl::Status Expect(const std::string& name, const std::vector<int64_t>& shape);

  /// InvalidArgument names a tensor that nothing above has asked for: a bias, a further norm, a
  /// layer too many would change what the model computes. Admitted are only rotary_emb.inv_freq
  /// tensors, buffers of older exports, which config.json determines.
  absl::Status CheckNothingUnknown() const;

 private:
  using OpenFile = absl::StatusOr<TensorFile> (*)(const std::string& path);
  struct Location {
    size_t file;
    const TensorEntry* entry;  // in the map of files_[file], whose nodes stay put when it moves
  };

  Checkpoint() = default;
  absl::Status AddFile(absl::StatusOr<TensorFile> file);
  absl::Status AddShards(const std::string& index, OpenFile open);
  absl::StatusOr<Location> Find(const std::string& name, const std::vector<int64_t>& shape);

  std::string dir_;
  std::vector<TensorFile> files_;
  std::map<std::string, Location> tensors_;
  std::set<std::string> known_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_H_
