#ifndef SHORTLIST_IO_RAW_FILE_H_
#define SHORTLIST_IO_RAW_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"

namespace shortlist {

/// An open regular file that is read in place, never mapped: one that is cut short later is an
/// error, not a bus error, and so is one that is written to. Copies share the descriptor.
/// Immutable; any thread may read.
class RawFile {
 public:
  /// NotFound when there is no such file; InvalidArgument when it is not a regular file;
  /// Unavailable names the system's reason.
  static absl::StatusOr<RawFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  /// When it was opened.
  int64_t size() const { return version_.size; }
  const FileVersion& version() const { return version_; }

  /// Copies bytes [offset, offset + count) into `out`; the range lies below size(). Unavailable,
  /// without the path, when the file has changed since it was opened (FileVersion), so that what is
  /// read may be a mixture, or cannot be read. A file that another one has replaced by a rename is
  /// still read whole, but its ctime may be new, which is refused too.
  absl::Status Read(int64_t offset, int64_t count, void* out) const;

 private:
  RawFile() = default;
  std::string path_;
  FileVersion version_;
  std::shared_ptr<const int> descriptor_;
};

}  // namespace shortlist

#endif  // SHORTLIST_IO_RAW_FILE_H_
