#ifndef SHORTLIST_MODEL_SAFETENSORS_H_
#define SHORTLIST_MODEL_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/dtype.h"

namespace shortlist {

/// One tensor of a safetensors file, as its header describes it.
struct SafetensorsEntry {
  std::string dtype_name;      // as written, e.g. "BF16"
  std::optional<DType> dtype;  // nullopt for a type that no weight can have here, e.g. "I64"
  std::vector<int64_t> shape;  // empty for a scalar
  int64_t num_elements = 0;
  int64_t offset = 0;  // of its first byte in the file
  int64_t num_bytes = 0;
};

/// An open safetensors file. Opening reads and checks the whole header: afterwards every entry lies
/// inside the file, has the size that its shape and type say, and entries neither overlap nor leave
/// holes, as the format demands. Data are read, never mapped: a file cut short later is an error,
/// not a bus error. Immutable; Read may be called from any thread.
class SafetensorsFile {
 public:
  /// NotFound when there is no such file; InvalidArgument names the file, the tensor, the value and
  /// the bound.
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }

  /// Copies bytes [begin, begin + count) of an entry's data into `out`, on the caller's thread.
  /// Unavailable when the file has been cut short since it was opened, or cannot be read.
  absl::Status Read(const SafetensorsEntry& entry, int64_t begin, int64_t count, void* out) const;

 private:
  SafetensorsFile() = default;
  std::string path_;
  std::shared_ptr<const int> descriptor_;
  std::map<std::string, SafetensorsEntry> entries_;
};

/// "[2, 3]".
std::string ShapeString(const std::vector<int64_t>& shape);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_SAFETENSORS_H_
