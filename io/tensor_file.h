#ifndef SHORTLIST_IO_TENSOR_FILE_H_
#define SHORTLIST_IO_TENSOR_FILE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "io/raw_file.h"
#include "io/zip_directory.h"

namespace shortlist {

struct BlockFormat;

/// One tensor of a file of weights. It is read as contiguous, row-major data, whatever its strides.
struct TensorEntry {
  std::string dtype_name;        // safetensors' name of the type, e.g. "BF16"
  std::optional<DType> dtype;    // nullopt for an unsupported type of weights, e.g. "I64"
  std::vector<int64_t> shape;    // empty for a scalar
  std::vector<int64_t> strides;  // [shape.size()] as stored, in elements; empty: contiguous
  int64_t num_elements = 0;
  int64_t offset = 0;  // of its first byte in the file
  int64_t num_bytes = 0;
  /// The archive's member that holds the tensor; tensors that share a storage share it. Null for a
  /// format without checksums.
  std::shared_ptr<CheckedZipMember> record;
  /// Of a GGUF file: how the elements are stored from `offset` on; Read returns them as `dtype`.
  /// Null: as they are read.
  const BlockFormat* format = nullptr;
  /// The type of its blocks, if the format is of blocks.
  std::optional<DType> block_type() const;
  /// Not 0: `format` is set, and row r of each `paired_rows` consecutive ones, which are the halves
  /// of a head for RoPE, is stored as 2 r if it is in the first half, else as 2 (r - half) + 1.
  int64_t paired_rows = 0;
};

/// An open file of named tensors (OpenSafetensors, OpenTorchFile). Every tensor lies inside the
/// file and has the size that its shape and type give. Immutable; Read may be called from any
/// thread.
class TensorFile {
 public:
  TensorFile(RawFile file, std::map<std::string, TensorEntry> entries)
      : file_(std::move(file)), entries_(std::move(entries)) {}

  const std::string& path() const { return file_.path(); }
  const FileVersion& version() const { return file_.version(); }
  const std::map<std::string, TensorEntry>& entries() const { return entries_; }

  /// Copies bytes [begin, begin + count) of an entry's data into `out`, on the caller's thread.
  /// `begin` and `count` are whole elements. A strided entry takes as much memory as it spans in
  /// the file. The first Read of an archive's record reads all of it to check its CRC-32.
  /// InvalidArgument names a record that is damaged. Unavailable if the file has changed since it
  /// was opened (RawFile) or cannot be read.
  absl::Status Read(const TensorEntry& entry, int64_t begin, int64_t count, void* out) const;

  /// Copies the stored blocks (base/weight_block.h) of rows [first, first + count) of an entry
  /// whose format is of blocks. Errors are those of Read.
  absl::Status ReadBlocks(const TensorEntry& entry, int64_t first, int64_t count, void* out) const;

  /// Returns the elements of a one-dimensional tensor of integers or BOOL. InvalidArgument for any
  /// other tensor, for more than 2^28 elements, and for a U64 element of 2^63 or more. Other errors
  /// are those of Read.
  absl::StatusOr<std::vector<int64_t>> ReadIntegers(const TensorEntry& entry) const;

 private:
  absl::Status ReadChecked(const TensorEntry& entry, int64_t begin, int64_t count, void* out) const;
  absl::Status ReadStrided(const TensorEntry& entry, int64_t begin, int64_t count, char* out) const;

  RawFile file_;
  std::map<std::string, TensorEntry> entries_;
};

/// Sets num_elements and num_bytes of an entry, with elements of `bits` bits, from its shape, whose
/// extents are not negative. InvalidArgument if it has 2^63 elements or more, or if its size is not
/// a whole number of bytes below 2^60.
absl::Status SetSize(int64_t bits, TensorEntry& entry);

/// Returns rows [first, first + count) of a contiguous tensor, seen as a matrix whose columns are
/// its last dimension, as a tensor of its own: [count, columns], or [count] of a tensor of one
/// dimension. Whole heads if paired_rows is not 0.
TensorEntry RowsOf(const TensorEntry& entry, int64_t first, int64_t count);

/// Returns the number of elements from the first to the last one of a tensor in memory, both
/// included. The tensor is not empty; extents and strides are not negative. nullopt for 2^63 or
/// more.
std::optional<int64_t> SpanElements(const std::vector<int64_t>& shape,
                                    const std::vector<int64_t>& strides);

/// Storage of a little-endian integer.
struct IntegerType {
  int64_t bytes;  // 1, 2, 4 or 8
  bool is_signed;
};

/// Reads `count` integers of `type` at `bytes`. InvalidArgument names an unsigned integer of 2^63
/// or more, and its index.
absl::StatusOr<std::vector<int64_t>> ReadIntegers(const char* bytes, int64_t count,
                                                  const IntegerType& type);

/// Returns text such as "[2, 3]".
std::string ShapeString(const std::vector<int64_t>& shape);

/// Returns the status with `path` before its message.
absl::Status WithPath(const std::string& path, const absl::Status& status);

}  // namespace shortlist

#endif  // SHORTLIST_IO_TENSOR_FILE_H_
