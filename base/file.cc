#include "base/file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file_pieces.h"

namespace shortlist {
namespace {

/// Returns Unavailable with the reason in errno.
absl::Status Failed(const std::string& path, const char* what) {
  const int error = errno;
  return absl::UnavailableError(
      absl::StrCat(path, ": cannot ", what, ": ", std::strerror(error),
                   error == EFBIG ? " (the limit of `ulimit -f`, or the file system's)" : ""));
}

/// Calls fsync(); succeeds if the file system does not support it. Returns false with errno set on
/// an error.
bool Sync(int fd) { return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP; }

/// Returns false with errno set on an error.
bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(written);
  }
  return true;
}

/// Returns false with errno set on an error. Shortens `bytes` if the file ends early.
bool ReadUpTo(int fd, std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = read(fd, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    done += got;
  }
  bytes.resize(done);
  return true;
}

absl::StatusOr<std::string> ReadAll(int fd, const std::string& path, int64_t max_bytes,
                                    FileVersion* version) {
  const std::optional<FileVersion> before = VersionOf(fd);
  if (!before) return Failed(path, "read");
  if (before->size > max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": ", before->size, " bytes, more than the ", max_bytes, " admitted here"));
  }
  std::string contents(before->size, '\0');
  if (!ReadUpTo(fd, contents)) return Failed(path, "read");
  // Does not compare `changed_ns`: replacing the file changes it, but the open file is still read
  // whole.
  const std::optional<FileVersion> after = VersionOf(fd);
  if (!after || std::ssize(contents) != before->size || after->size != before->size ||
      after->written_ns != before->written_ns) {
    return absl::UnavailableError(absl::StrCat(path, ": changed while it was read"));
  }
  if (version != nullptr) *version = *before;
  return contents;
}

std::string FolderOf(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

using WriteContents = std::function<absl::Status(const AppendBytes&)>;

/// Appends to `fd`; errors name `path`.
AppendBytes AppendTo(int fd, const std::string& path) {
  return [fd, &path](std::string_view bytes) {
    return WriteAll(fd, bytes) ? absl::OkStatus() : Failed(path, "write");
  };
}

absl::Status WriteToDevice(const std::string& path, const WriteContents& write) {
  const int fd = open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return Failed(path, "open");
  const absl::Status status = write(AppendTo(fd, path));
  close(fd);
  return status;
}

FileVersion VersionOf(const struct stat& info) {
  const auto nanoseconds = [](const timespec& time) {
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .size = info.st_size,
          .written_ns = nanoseconds(info.st_mtim),
          .changed_ns = nanoseconds(info.st_ctim)};
}

/// A new file in the folder of a path, removed unless it is renamed. Functions that return bool
/// return false with errno set on an error.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path) : folder_(FolderOf(path)) {
    // Leaves room for the suffix within the 255 bytes of a name.
    prefix_ = absl::StrCat(folder_, "/",
                           std::filesystem::path(path).filename().string().substr(0, 200), ".tmp.");
  }
  ~TemporaryFile() {
    const int error = errno;  // the caller's error
    if (fd_ >= 0) close(fd_);
    if (!name_.empty()) unlink(name_.c_str());
    errno = error;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int fd() const { return fd_; }

  bool Open() {
    fd_ = open(folder_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode);
    if (fd_ >= 0) {
      if (access(Link().c_str(), F_OK) == 0) return true;
      close(std::exchange(fd_, -1));  // it cannot get a name: /proc is not mounted
    }
    // Tries after every error of O_TMPFILE, as file systems report different ones. A real error
    // recurs.
    return UnderNewName([this](const std::string& name) {
      fd_ = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode);
      return fd_ >= 0;
    });
  }

  bool RenameTo(const std::string& path) {
    if (name_.empty() && !UnderNewName([this](const std::string& name) {
          return linkat(AT_FDCWD, Link().c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
        })) {
      return false;
    }
    if (rename(name_.c_str(), path.c_str()) != 0) return false;
    name_.clear();
    return true;
  }

 private:
  static constexpr mode_t kMode = 0666;

  /// Returns the path by which the kernel knows a file without a name.
  std::string Link() const { return absl::StrCat("/proc/self/fd/", fd_); }

  /// Tries make(name) with unguessable names until one is not taken; sets name_.
  template <typename Make>
  bool UnderNewName(Make&& make) {
    for (int i = 0; i < 100; ++i) {
      uint64_t random = 0;
      if (getrandom(&random, sizeof random, 0) != sizeof random) return false;
      const std::string name = absl::StrCat(prefix_, absl::Hex(random, absl::kZeroPad16));
      if (make(name)) {
        name_ = name;
        return true;
      }
      if (errno != EEXIST) return false;
    }
    return false;
  }

  const std::string folder_;
  std::string prefix_;
  std::string name_;  // empty: the file has none
  int fd_ = -1;
};

}  // namespace

bool FileExists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::symlink_status(path, ignored).type() !=
         std::filesystem::file_type::not_found;
}

std::optional<FileVersion> VersionOf(int fd) {
  struct stat info = {};
  return fstat(fd, &info) == 0 ? std::optional(VersionOf(info)) : std::nullopt;
}

std::optional<FileVersion> VersionOf(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? std::optional(VersionOf(info)) : std::nullopt;
}

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes,
                                     FileVersion* version) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    if (FileExists(path)) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": a symbolic link to nothing"));
    }
    return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  }
  if (!std::filesystem::is_regular_file(status)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file"));
  }
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Failed(path, "open");
  absl::StatusOr<std::string> contents = ReadAll(fd, path, max_bytes, version);
  close(fd);
  return contents;
}

absl::Status WriteFileAtomically(const std::string& path, const std::string& contents) {
  return WriteFileAtomically(path, static_cast<int64_t>(contents.size()),
                             [&contents](const AppendBytes& append) { return append(contents); });
}

absl::Status WriteFileAtomically(const std::string& given, int64_t num_bytes,
                                 const WriteContents& write) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  const fs::file_status status = fs::status(given, unknown);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) {
    return WriteToDevice(given, write);
  }
  // A symbolic link stays one: the file that it leads to is replaced.
  const fs::path link_target = fs::exists(status) ? fs::canonical(given, unknown) : fs::path();
  const std::string path = link_target.empty() ? given : link_target.string();
  if (rlimit limit{}; getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
                      static_cast<uint64_t>(num_bytes) > limit.rlim_cur) {
    errno = EFBIG;  // reported before the kernel sends a signal that ends most processes
    return Failed(path, "write");
  }
  TemporaryFile temporary(path);
  if (!temporary.Open()) return Failed(path, "write");
  // Set before the bytes are written: users without access to the old file never get it to the new
  // one.
  if (fs::is_regular_file(status) &&
      fchmod(temporary.fd(), static_cast<mode_t>(status.permissions())) != 0) {
    return Failed(path, "write");
  }
  if (const absl::Status written = write(AppendTo(temporary.fd(), path)); !written.ok()) {
    return written;
  }
  if (!Sync(temporary.fd())) return Failed(path, "write");
  if (!temporary.RenameTo(path)) return Failed(path, "replace");
  return SyncFolderOf(path);
}

absl::Status SyncFolderOf(const std::string& path) {
  const int folder = open(FolderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return errno == EACCES ? absl::OkStatus() : Failed(path, "open the folder");
  const absl::Status status =
      Sync(folder) ? absl::OkStatus() : Failed(path, "bring the folder to the disk");
  close(folder);
  return status;
}

absl::Status CheckWritable(const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty()) return absl::InvalidArgumentError("an empty name of a file");
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  if (fs::is_directory(status)) return absl::InvalidArgumentError(path + ": a directory");
  // What must be writable: a device itself, otherwise the folder of the file.
  fs::path written = path;
  if (fs::is_regular_file(status)) written = fs::canonical(path, unknown).parent_path() / "";
  if (!fs::exists(status)) {
    written = fs::path(path).parent_path();
    written = written.empty() ? fs::path("./") : written / "";
  }
  if (access(written.c_str(), W_OK) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": ", written.string(), ": ", std::strerror(errno)));
}

}  // namespace shortlist
