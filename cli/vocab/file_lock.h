#ifndef SHORTLIST_CLI_VOCAB_FILE_LOCK_H_
#define SHORTLIST_CLI_VOCAB_FILE_LOCK_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace shortlist {

/// Prevents other runs from writing a file that this run reads and later replaces. Locks PATH.lock
/// (empty; flock) while this lives, and removes it at the end. A killed run leaves the empty file,
/// which the next run takes over.
class FileLock {
 public:
  /// `path` need not exist; a symbolic link is resolved first. Returns null for a device or a pipe,
  /// which no run replaces. FailedPrecondition while another run holds the lock; Unavailable names
  /// the system call that failed.
  static absl::StatusOr<std::unique_ptr<FileLock>> Take(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  FileLock(std::string path, int fd);

  const std::string path_;  // of the lock file
  const int fd_;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_FILE_LOCK_H_
