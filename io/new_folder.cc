#include "io/new_folder.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/file.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;

absl::Status Failed(const std::string& path, const char* what) {
  return absl::UnavailableError(absl::StrCat(path, ": cannot ", what, ": ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<NewFolder> NewFolder::Create(const std::string& given) {
  std::string path = given;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (path.empty() || path == "/" || path.ends_with("/.") || path.ends_with("/..") || path == "." ||
      path == "..") {
    return absl::InvalidArgumentError(absl::StrCat("\"", given, "\" is no name of a new folder"));
  }
  std::error_code ignored;
  const bool is_empty_folder = fs::is_directory(fs::symlink_status(path, ignored)) &&
                               fs::directory_iterator(path, ignored) == fs::directory_iterator();
  if (FileExists(path) && !is_empty_folder) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": exists and is no empty folder; name a new one"));
  }
  for (int i = 0; i < 100; ++i) {
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random) break;
    std::string temporary = absl::StrCat(path, ".tmp.", absl::Hex(random, absl::kZeroPad16));
    if (mkdir(temporary.c_str(), 0777) == 0) return NewFolder(path, std::move(temporary));
    if (errno != EEXIST) break;
  }
  return Failed(path, "make the folder");
}

NewFolder::NewFolder(NewFolder&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, "")) {}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

absl::Status NewFolder::Commit() {
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return Failed(path_, "rename the folder");
  temporary_.clear();
  return SyncFolderOf(path_);
}

}  // namespace shortlist
