#include "io/raw_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"

namespace shortlist {

absl::StatusOr<RawFile> RawFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer; the check below rejects pipes.
  const int raw = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (raw < 0) {
    const int error = errno;
    const std::string message = absl::StrCat(path, ": ", std::strerror(error));
    return error == ENOENT ? absl::NotFoundError(message) : absl::UnavailableError(message);
  }
  RawFile file;
  file.path_ = path;
  file.descriptor_ = std::shared_ptr<const int>(new int(raw), [](const int* descriptor) {
    close(*descriptor);
    delete descriptor;
  });
  struct stat info = {};
  if (fstat(raw, &info) != 0)
    return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
  if (!S_ISREG(info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file"));
  const std::optional<FileVersion> version = VersionOf(raw);
  if (!version) return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
  file.version_ = *version;
  return file;
}

absl::Status RawFile::Read(int64_t offset, int64_t count, void* out) const {
  char* next = static_cast<char*>(out);
  while (count > 0) {
    const ssize_t got =
        pread(*descriptor_, next, static_cast<size_t>(std::min<int64_t>(count, 1 << 30)), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::UnavailableError(absl::StrCat("cannot read: ", std::strerror(errno)));
    if (got == 0)
      return absl::UnavailableError(
          absl::StrCat("ends at byte ", offset, ": cut short while open"));
    next += got;
    offset += got;
    count -= got;
  }
  // Checked after reading: a write changes the times of a file before it changes its bytes.
  if (VersionOf(*descriptor_) != version_) {
    return absl::UnavailableError("changed while it was read");
  }
  return absl::OkStatus();
}

}  // namespace shortlist
