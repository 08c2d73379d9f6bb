#include "cli/vocab/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"

namespace shortlist {

FileLock::FileLock(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

FileLock::~FileLock() {
  // Unlinked while locked: a process that opened it before detects that it is gone.
  unlink(path_.c_str());
  close(fd_);
}

absl::StatusOr<std::unique_ptr<FileLock>> FileLock::Take(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status)) return nullptr;
  const fs::path whole = fs::weakly_canonical(path, ignored);
  const std::string lock = (whole.empty() ? path : whole.string()) + ".lock";
  while (true) {
    const int fd = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) {
      return absl::UnavailableError(absl::StrCat(lock, ": open: ", std::strerror(errno)));
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      const bool is_held = errno == EWOULDBLOCK;
      const std::string reason = std::strerror(errno);
      close(fd);
      if (is_held) {
        return absl::FailedPreconditionError(
            absl::StrCat(path, ": another run is writing to it (", lock, ")"));
      }
      return absl::UnavailableError(absl::StrCat(lock, ": flock: ", reason));
    }
    // Retry if another run removed the file between opening and locking.
    const auto named = VersionOf(lock), opened = VersionOf(fd);
    if (named && opened && named->inode == opened->inode && named->device == opened->device) {
      return std::unique_ptr<FileLock>(new FileLock(lock, fd));
    }
    close(fd);
  }
}

}  // namespace shortlist
