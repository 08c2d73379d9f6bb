#include "io/folder_versions.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;

bool IsOfModel(const std::string& name) {
  constexpr std::array kEndings = {".json",     ".jinja",       ".txt", ".model",
                                   ".tiktoken", ".safetensors", ".bin", ".pt"};
  return std::ranges::any_of(kEndings, [&](const char* ending) { return name.ends_with(ending); });
}

/// The same name for "a//b", "a/./b" and "a/b".
std::string Normal(const std::string& path) { return fs::path(path).lexically_normal().string(); }

absl::Status Changed(const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat(path, ": changed while the model was read; load it again"));
}

void AddFiles(const fs::path& folder, bool enters, std::map<std::string, FileVersion>& files) {
  std::error_code error, ignored;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (enters && it->is_directory(ignored)) {
      AddFiles(it->path(), /*enters=*/false, files);
      continue;
    }
    const std::string path = it->path().string();
    if (!IsOfModel(path)) continue;
    if (const std::optional<FileVersion> version = VersionOf(path)) {
      files.emplace(Normal(path), *version);
    }
  }
}

}  // namespace

FolderVersions FolderVersions::Of(const std::string& dir) {
  FolderVersions versions;
  versions.dir_ = dir;
  AddFiles(dir, /*enters=*/true, versions.files_);
  return versions;
}

absl::Status FolderVersions::CheckUnchanged() const {
  const std::map<std::string, FileVersion> now = Of(dir_).files_;
  const auto differs = [](const auto& files, const auto& others) -> const std::string* {
    for (const auto& [path, version] : files) {
      const auto other = others.find(path);
      if (other == others.end() || !(other->second == version)) return &path;
    }
    return nullptr;
  };
  const std::string* path = differs(files_, now);
  if (path == nullptr) path = differs(now, files_);
  if (path == nullptr) return absl::OkStatus();
  return Changed(*path);
}

absl::Status FolderVersions::Check(const std::string& path, const FileVersion& version) const {
  const auto found = files_.find(Normal(path));
  const bool is_other = found != files_.end() && !(found->second == version);
  return is_other ? Changed(path) : absl::OkStatus();
}

}  // namespace shortlist
