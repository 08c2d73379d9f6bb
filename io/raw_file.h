#ifndef SHORTLIST_IO_RAW_FILE_H_
#define SHORTLIST_IO_RAW_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"

namespace shortlist {

/// An open regular file. It is read by calls, never mapped: if the file is truncated or written to
/// later, reads return an error instead of raising a bus error. Copies share the descriptor.
/// Immutable; any thread may read.
class RawFile {
 public:
  /// NotFound if there is no such file; InvalidArgument if it is not a regular file; Unavailable
  /// with the system's reason otherwise.
  static absl::StatusOr<RawFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  /// Size when the file was opened.
  int64_t size() const { return version_.size; }
  const FileVersion& version() const { return version_; }

  /// Copies bytes [offset, offset + count) into `out`; the range lies below size(). Returns
  /// Unavailable, without the path, if the file cannot be read or has changed since it was opened
  /// (FileVersion), as the bytes may then be a mixture. After another file replaces this one by a
  /// rename, this one can still be read whole; but its ctime may be new, and then Read fails too.
  absl::Status Read(int64_t offset, int64_t count, void* out) const;

 private:
  RawFile() = default;
  std::string path_;
  FileVersion version_;
  std::shared_ptr<const int> descriptor_;
};

}  // namespace shortlist

#endif  // SHORTLIST_IO_RAW_FILE_H_
