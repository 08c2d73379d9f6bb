#ifndef SHORTLIST_CLI_VOCAB_FILE_LOCK_H_
#define SHORTLIST_CLI_VOCAB_FILE_LOCK_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace shortlist {

/// Keeps other runs from writing a file that this one reads, and later replaces: PATH.lock, empty,
/// is locked (flock) as long as this lives, and removed at its end. A run that is killed leaves the
/// empty file, which the next one takes.
class FileLock {
 public:
  /// `path` need not exist; of a symbolic link what it leads to is locked. Null for a device or a
  /// pipe, which no run replaces. FailedPrecondition while another run holds it; Unavailable names
  /// what the system refused.
  static absl::StatusOr<std::unique_ptr<FileLock>> Take(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  FileLock(std::string path, int fd);

  const std::string path_;  // of the lock
  const int fd_;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_FILE_LOCK_H_
