#include "model/tensor_file.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace shortlist {

absl::Status TensorFile::Read(const TensorEntry& entry, int64_t begin, int64_t count,
                              void* out) const {
  const absl::Status status = file_.Read(entry.offset + begin, count, out);
  return status.ok() ? status : WithPath(path(), status);
}

absl::Status SetSize(int64_t bits, TensorEntry& entry) {
  entry.num_elements = 1;
  for (const int64_t extent : entry.shape) {
    if (__builtin_mul_overflow(entry.num_elements, extent, &entry.num_elements)) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", ShapeString(entry.shape), " has more than 2^63 elements"));
    }
  }
  int64_t num_bits = 0;
  if (__builtin_mul_overflow(entry.num_elements, bits, &num_bits) || num_bits % 8 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("shape ", ShapeString(entry.shape), " of ",
                                                   entry.dtype_name,
                                                   " is no whole number of bytes below 2^60"));
  }
  entry.num_bytes = num_bits / 8;
  return absl::OkStatus();
}

std::string ShapeString(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

absl::Status WithPath(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

}  // namespace shortlist
