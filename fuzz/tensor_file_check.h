#ifndef SHORTLIST_FUZZ_TENSOR_FILE_CHECK_H_
#define SHORTLIST_FUZZ_TENSOR_FILE_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "base/check.h"
#include "io/tensor_file.h"

namespace shortlist {

/// Checks every file that opens: its tensors are inside the file and can be read, unless their
/// archive's record is damaged.
inline void CheckTensors(const TensorFile& file, size_t file_bytes) {
  for (const auto& [name, entry] : file.entries()) {
    SHORTLIST_CHECK(entry.offset >= 0 && entry.num_bytes >= 0);
    if (entry.strides.empty()) {
      SHORTLIST_CHECK(static_cast<size_t>(entry.offset + entry.num_bytes) <= file_bytes);
    }
    int64_t count = 1;
    for (const int64_t extent : entry.shape) count *= extent;
    SHORTLIST_CHECK(count == entry.num_elements);
    if (entry.dtype) SHORTLIST_CHECK(entry.num_bytes == count * DTypeBytes(*entry.dtype));
    std::string bytes(static_cast<size_t>(entry.num_bytes), '\0');
    const absl::Status status = file.Read(entry, 0, entry.num_bytes, bytes.data());
    SHORTLIST_CHECK(status.ok() || (entry.record != nullptr && absl::IsInvalidArgument(status)));
  }
}

}  // namespace shortlist

#endif  // SHORTLIST_FUZZ_TENSOR_FILE_CHECK_H_
