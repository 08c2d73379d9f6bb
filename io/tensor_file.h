#ifndef SHORTLIST_IO_TENSOR_FILE_H_
#define SHORTLIST_IO_TENSOR_FILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "io/raw_file.h"

namespace shortlist {

/// One tensor of a file of weights. It is read as contiguous, row-major data, however it is stored.
struct TensorEntry {
  std::string dtype_name;        // as safetensors calls it, e.g. "BF16"
  std::optional<DType> dtype;    // nullopt for a type that no weight can have here, e.g. "I64"
  std::vector<int64_t> shape;    // empty for a scalar
  std::vector<int64_t> strides;  // [shape.size()] as stored, in elements; empty: contiguous
  int64_t num_elements = 0;
  int64_t offset = 0;  // of its first byte in the file
  int64_t num_bytes = 0;
};

/// An open file of named tensors, every one of which lies inside the file and has the size that
/// its shape and type say (OpenSafetensors, OpenTorchFile). Immutable; Read may be called from any
/// thread.
class TensorFile {
 public:
  TensorFile(RawFile file, std::map<std::string, TensorEntry> entries)
      : file_(std::move(file)), entries_(std::move(entries)) {}

  const std::string& path() const { return file_.path(); }
  const std::map<std::string, TensorEntry>& entries() const { return entries_; }

  /// Copies bytes [begin, begin + count) of an entry's data into `out`, on the caller's thread;
  /// both are whole elements. A strided entry takes as much memory as it spans in the file.
  /// Unavailable when the file has changed since it was opened (RawFile), or cannot be read.
  absl::Status Read(const TensorEntry& entry, int64_t begin, int64_t count, void* out) const;

  /// The elements of a tensor of one dimension, of integers or BOOL: InvalidArgument for any other,
  /// for more than 2^28 elements, and for an element of U64 that is not below 2^63.
  absl::StatusOr<std::vector<int64_t>> ReadIntegers(const TensorEntry& entry) const;

 private:
  absl::Status ReadStrided(const TensorEntry& entry, int64_t begin, int64_t count, char* out) const;

  RawFile file_;
  std::map<std::string, TensorEntry> entries_;
};

/// Sets num_elements and num_bytes of an entry with elements of `bits` bits from its shape, whose
/// extents are not negative. InvalidArgument when it has 2^63 elements, or no whole number of bytes
/// below 2^60.
absl::Status SetSize(int64_t bits, TensorEntry& entry);

/// How many elements lie between the first and the last one of a tensor that has elements, whose
/// extents and strides are not negative, the last one included; nullopt above 2^63.
std::optional<int64_t> SpanElements(const std::vector<int64_t>& shape,
                                    const std::vector<int64_t>& strides);

/// How an integer is stored, little-endian.
struct IntegerType {
  int64_t bytes;  // 1, 2, 4 or 8
  bool is_signed;
};

/// Reads `count` integers of `type` at `bytes`. InvalidArgument names an unsigned one that is not
/// below 2^63, and its index.
absl::StatusOr<std::vector<int64_t>> ReadIntegers(const char* bytes, int64_t count,
                                                  const IntegerType& type);

/// "[2, 3]".
std::string ShapeString(const std::vector<int64_t>& shape);

/// The status with `path` before its message.
absl::Status WithPath(const std::string& path, const absl::Status& status);

}  // namespace shortlist

#endif  // SHORTLIST_IO_TENSOR_FILE_H_
