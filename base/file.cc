#include "base/file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace shortlist {

bool FileExists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::symlink_status(path, ignored).type() !=
         std::filesystem::file_type::not_found;
}

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes) {
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
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return absl::UnavailableError(absl::StrCat(path, ": ", error.message()));
  if (size > static_cast<uintmax_t>(max_bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", size, " bytes, more than the ", max_bytes, " admitted here"));
  }
  std::ifstream in(path, std::ios::binary);
  std::string contents(size, '\0');
  if (!in.read(contents.data(), static_cast<std::streamsize>(size))) {
    return absl::UnavailableError(absl::StrCat(path, ": cannot read: ", std::strerror(errno)));
  }
  return contents;
}

absl::Status WriteFileAtomically(const std::string& given, const std::string& contents) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  const fs::file_status status = fs::status(given, unknown);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) {
    // A device or a pipe: it takes the bytes, and is not to be replaced by them.
    std::ofstream out(given, std::ios::binary);
    out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    out.flush();
    if (out) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat(given, ": cannot write: ", std::strerror(errno)));
  }
  // A symbolic link stays one: the file behind it is replaced.
  const fs::path behind = fs::exists(status) ? fs::canonical(given, unknown) : fs::path();
  const std::string path = behind.empty() ? given : behind.string();
  const std::string temporary = absl::StrCat(path, ".tmp.", getpid());
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    // Before the bytes: what others may not read they never may.
    if (fs::is_regular_file(status)) fs::permissions(temporary, status.permissions(), unknown);
    out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    out.flush();
    if (!out) {
      const std::string reason = std::strerror(errno);
      std::error_code ignored;
      std::filesystem::remove(temporary, ignored);
      return absl::UnavailableError(absl::StrCat(path, ": cannot write: ", reason));
    }
  }
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return absl::UnavailableError(absl::StrCat(path, ": cannot replace: ", error.message()));
  }
  return absl::OkStatus();
}

absl::Status CheckWritable(const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty()) return absl::InvalidArgumentError("an empty name of a file");
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  if (fs::is_directory(status)) return absl::InvalidArgumentError(path + ": a directory");
  fs::path written = path;  // that what is renamed stands beside
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
