#ifndef SHORTLIST_MODEL_CHECKPOINT_H_
#define SHORTLIST_MODEL_CHECKPOINT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "base/thread_pool.h"
#include "io/model_source.h"
#include "io/weight_files.h"
#include "kernels/arena.h"
#include "kernels/matrix.h"
#include "model/checkpoint/packed_weight.h"

namespace shortlist {

/// The weights of a model directory, to be loaded into a model. Used by one thread while a model
/// loads.
///
/// If `packing` says that linear weights are packed and X.qweight is stored in place of X.weight,
/// X.weight can still be requested: Load unpacks it, and LoadBlocks reads it as blocks of GGUF's
/// types. Its X.bias, which AutoGPTQ writes for every layer, counts as known if it is all zero.
class Checkpoint {
 public:
  /// Errors are those of WeightFiles::Open.
  static absl::StatusOr<Checkpoint> Open(const ModelSource& source, const WeightPacking& packing);

  /// Errors are those of WeightFiles::OpenStateDict.
  static absl::StatusOr<Checkpoint> OpenStateDict(const std::string& path);

  bool Contains(const std::string& name) const { return files_.tensors().contains(name); }

  /// Returns the stored type of tensor `name`; for a packed tensor, that of its scales. NotFound if
  /// it is missing, Unimplemented for a type that weights cannot have.
  absl::StatusOr<DType> StoredDType(const std::string& name) const;
  /// Returns the shape of a tensor that is not packed, for shapes that no configuration gives.
  /// NotFound if it is missing.
  absl::StatusOr<std::vector<int64_t>> StoredShape(const std::string& name) const;

  /// Reads a tensor into memory of its own, contiguous, converted to the unquantised `dtype` (round
  /// to nearest even), and marks it as known. Each Status names the tensor. NotFound if it is
  /// missing. InvalidArgument with both shapes for a different shape, and for a weight that is NaN,
  /// infinite or overflows `dtype`. Unimplemented for a type that weights cannot have. Throws
  /// std::bad_alloc, which the caller, a model boundary, must catch.
  absl::StatusOr<Matrix> Load(const std::string& name, const std::vector<int64_t>& shape,
                              DType dtype, ThreadPool& pool);

  /// From now on, tensors in blocks of a GGUF file keep their types, and packed weights are read in
  /// blocks with the same values if there are such (BlocksOf).
  void KeepBlocks() { keeps_blocks_ = true; }
  /// Returns the type of the blocks in which weight `name`, [num_rows, num_columns], is to be kept;
  /// nullopt for no blocks. A damaged packed weight has none: Load reports it. Throws
  /// std::bad_alloc.
  std::optional<DType> StoredBlocks(const std::string& name, int64_t num_rows, int64_t num_columns,
                                    ThreadPool& pool);
  /// Reads the blocks of a tensor (base/weight_block.h), [rows, columns], and marks it as known.
  /// Errors and exceptions are those of Load. Precondition: StoredBlocks() gives a type.
  absl::StatusOr<std::shared_ptr<const void>> LoadBlocks(const std::string& name, int64_t num_rows,
                                                         int64_t num_columns, ThreadPool& pool);
  /// A suspicion about the matrices loaded so far, with their names: runs of zeros, as in a file
  /// that was not downloaded to its end. Embeddings and heads, which may have padding, need more of
  /// them. Empty: none.
  std::string warning() const;
  /// The types of all blocks loaded so far.
  const std::set<DType>& loaded_blocks() const { return loaded_blocks_; }

  /// Memory in which to pack weights that are read from this checkpoint.
  ArenaBlocks& packed_memory() { return packed_memory_; }

  /// Replaces tensor `name`, of `shape`, by runs of its rows (WeightFiles::Split), which can be
  /// loaded as tensors of their own. Errors are those of Load for name and shape, and those of
  /// WeightFiles::Split.
  absl::Status Split(const std::string& name, const std::vector<int64_t>& shape,
                     std::span<const WeightFiles::Rows> parts);

  /// Checks name and shape like Load and marks the tensor as known, without reading it.
  absl::Status Expect(const std::string& name, const std::vector<int64_t>& shape);

  /// Returns InvalidArgument, naming the tensor, if a tensor was requested by none of the functions
  /// above: an extra bias, norm or layer would change what the model computes. Exceptions are
  /// rotary_emb.inv_freq tensors (buffers of older exports, which config.json determines) and
  /// tensors whose names begin with one of `others`.
  absl::Status CheckNothingUnknown(std::span<const std::string> others = {}) const;
  /// The same for tensors whose names begin with `prefix` alone.
  absl::Status CheckNothingUnknownBelow(std::string_view prefix) const;

  /// Returns InvalidArgument if linear weight `name` is dense although config.json says that linear
  /// weights are packed.
  absl::Status CheckPacked(const std::string& name) const;

 private:
  Checkpoint(WeightFiles files, const WeightPacking& packing)
      : files_(std::move(files)), packing_(packing) {}

  bool IsPacked(const std::string& name) const;
  absl::StatusOr<WeightFiles::Location> Find(const std::string& name,
                                             const std::vector<int64_t>& shape);
  absl::StatusOr<std::vector<int32_t>> LoadIntegers(const std::string& name,
                                                    const std::vector<int64_t>& shape);
  /// True if tensor `name` was requested, or is such a buffer.
  bool IsKnown(const std::string& name) const;
  absl::Status NoPlace(const std::string& name, const WeightFiles::Location& location) const;
  /// Reads the packed weight `linear`, and admits its bias.
  absl::StatusOr<PackedWeight> ReadPacked(const std::string& linear, int64_t out_features,
                                          int64_t in_features, bool with_words, ThreadPool& pool);
  absl::StatusOr<Matrix> LoadPacked(const std::string& name, int64_t out_features,
                                    int64_t in_features, DType dtype, ThreadPool& pool);
  /// Counts the runs of zeros in `bytes` bytes of tensor `name`.
  void CountZeros(const std::string& name, const void* data, int64_t bytes);
  absl::Status AdmitZeroBias(const std::string& name, int64_t out_features, ThreadPool& pool);
  /// InvalidArgument: `problem` of tensor `name`, with the file that holds it.
  absl::Status Invalid(const std::string& name, const std::string& problem) const;

  WeightFiles files_;
  WeightPacking packing_;
  std::set<std::string> known_;
  bool keeps_blocks_ = false;
  std::map<std::string, std::optional<DType>> packed_blocks_;  // by name of the weight
  std::set<DType> loaded_blocks_;
  struct ZeroRuns {
    int64_t num_runs = 0;   // of kZeroRunBytes (checkpoint.cc)
    int64_t num_bytes = 0;  // of the tensor
  };
  std::map<std::string, ZeroRuns> zeros_;  // of matrices with such runs
  ArenaBlocks packed_memory_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_H_
