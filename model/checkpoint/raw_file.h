#ifndef SHORTLIST_MODEL_CHECKPOINT_RAW_FILE_H_
#define SHORTLIST_MODEL_CHECKPOINT_RAW_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shortlist {

/// An open regular file that is read in place, never mapped: one that is cut short later is an
/// error, not a bus error. Copies share the descriptor. Immutable; any thread may read.
class RawFile {
 public:
  /// NotFound when there is no such file; InvalidArgument when it is not a regular file;
  /// Unavailable names the system's reason.
  static absl::StatusOr<RawFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }  // when it was opened

  /// Copies bytes [offset, offset + count) into `out`; the range lies below size(). Unavailable,
  /// without the path, when the file has been cut short since, or cannot be read.
  absl::Status Read(int64_t offset, int64_t count, void* out) const;

 private:
  RawFile() = default;
  std::string path_;
  int64_t size_ = 0;
  std::shared_ptr<const int> descriptor_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_RAW_FILE_H_
