#ifndef SHORTLIST_MODEL_CHECKPOINT_H_
#define SHORTLIST_MODEL_CHECKPOINT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "base/thread_pool.h"
#include "io/model_source.h"
#include "io/weight_files.h"
#include "kernels/arena.h"
#include "model/checkpoint/packed_weight.h"

namespace shortlist {

/// The weights of a model directory, on their way into a model. Used by one thread, while a model
/// loads.
///
/// Where `packing` says that linear weights are packed and X.qweight stands in for X.weight, the
/// latter can be asked for all the same, and is what the packed one stands for. Its X.bias, which
/// AutoGPTQ writes for every layer, is known where all of it is zero.
class Checkpoint {
 public:
  /// Errors as WeightFiles::Open.
  static absl::StatusOr<Checkpoint> Open(const ModelSource& source, const WeightPacking& packing);

  /// As WeightFiles::OpenStateDict.
  static absl::StatusOr<Checkpoint> OpenStateDict(const std::string& path);

  bool Contains(const std::string& name) const { return files_.tensors().contains(name); }

  /// How tensor `name` is stored; for a packed one, its scales. NotFound when it is missing,
  /// Unimplemented for a type no weight can have.
  absl::StatusOr<DType> StoredDType(const std::string& name) const;
  /// The shape of a tensor that is not packed, where no configuration says it. NotFound as above.
  absl::StatusOr<std::vector<int64_t>> StoredShape(const std::string& name) const;

  /// Reads a tensor into memory of its own, converted to the unquantised `dtype` (round to nearest
  /// even), contiguous; marks it as known. Each Status names the tensor: NotFound when it is
  /// missing; InvalidArgument with both shapes when it has another, for a NaN or infinite weight,
  /// or one that overflows `dtype`; Unimplemented for a type no weight can have. Throws
  /// std::bad_alloc and c10::Error: the caller is a model boundary.
  absl::StatusOr<at::Tensor> Load(const std::string& name, const std::vector<int64_t>& shape,
                                  DType dtype, ThreadPool& pool);

  /// Where to pack what is read from here.
  ArenaBlocks& packed_memory() { return packed_memory_; }

  /// Checks name and shape as Load does and marks it as known, without reading it.
  absl::Status Expect(const std::string& name, const std::vector<int64_t>& shape);

  /// InvalidArgument names a tensor that nothing above has asked for: a bias, a further norm, a
  /// layer too many would change what the model computes. Admitted are only rotary_emb.inv_freq
  /// tensors, buffers of older exports, which config.json determines, and tensors whose names begin
  /// with one of `others`.
  absl::Status CheckNothingUnknown(std::span<const std::string> others = {}) const;

  /// InvalidArgument names a weight of a linear layer, `name`, that is dense although config.json
  /// says that such weights are packed.
  absl::Status CheckPacked(const std::string& name) const;

 private:
  Checkpoint(WeightFiles files, const WeightPacking& packing)
      : files_(std::move(files)), packing_(packing) {}

  bool IsPacked(const std::string& name) const;
  absl::StatusOr<WeightFiles::Location> Find(const std::string& name,
                                             const std::vector<int64_t>& shape);
  absl::StatusOr<std::vector<int32_t>> LoadIntegers(const std::string& name,
                                                    const std::vector<int64_t>& shape);
  absl::StatusOr<at::Tensor> LoadPacked(const std::string& name, int64_t out_features,
                                        int64_t in_features, DType dtype, ThreadPool& pool);
  absl::Status AdmitZeroBias(const std::string& name, int64_t out_features, ThreadPool& pool);
  /// What is wrong with tensor `name`, with the file that holds it.
  absl::Status Invalid(const std::string& name, const std::string& problem) const;

  WeightFiles files_;
  WeightPacking packing_;
  std::set<std::string> known_;
  ArenaBlocks packed_memory_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_H_
