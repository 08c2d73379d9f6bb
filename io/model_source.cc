#include "io/model_source.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "io/folder_versions.h"
#include "io/gguf/gguf_source.h"
#include "io/hub_cache.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class DirectoryFiles final : public SourceFiles {
 public:
  explicit DirectoryFiles(const std::string& dir) : dir_(dir), versions_(FolderVersions::Of(dir)) {}

  std::string PathOf(const std::string& name) const override {
    return name.empty() ? dir_ : absl::StrCat(dir_, "/", name);
  }

  bool Contains(const std::string& name) const override { return FileExists(PathOf(name)); }

  absl::StatusOr<std::string> Read(const std::string& name, int64_t max_bytes) const override {
    const std::string path = PathOf(name);
    FileVersion version;
    SHORTLIST_ASSIGN_OR_RETURN(std::string contents, ReadFile(path, max_bytes, &version));
    SHORTLIST_RETURN_IF_ERROR(versions_.Check(path, version));
    return contents;
  }

  std::vector<std::string> List(const std::string& folder) const override {
    std::vector<std::string> names;
    std::error_code error, ignored;
    for (fs::directory_iterator entry(PathOf(folder), error), end; !error && entry != end;
         entry.increment(error)) {
      if (!entry->is_directory(ignored)) names.push_back(entry->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  bool Encloses(const std::string& folder) const override {
    if (folder.starts_with('/') || folder.find('\0') != std::string::npos) return false;
    const fs::path relative(folder);
    if (std::find(relative.begin(), relative.end(), "..") != relative.end()) return false;
    std::error_code error;
    const fs::path root = fs::canonical(dir_, error);
    const fs::path target = error ? fs::path() : fs::canonical(fs::path(dir_) / relative, error);
    if (error) return true;  // a folder that is not there leads nowhere
    return std::mismatch(root.begin(), root.end(), target.begin(), target.end()).first ==
           root.end();
  }

  absl::StatusOr<WeightFiles> OpenWeights(const std::string& folder) const override {
    SHORTLIST_ASSIGN_OR_RETURN(WeightFiles weights, WeightFiles::Open(PathOf(folder)));
    for (const TensorFile& file : weights.files()) {
      SHORTLIST_RETURN_IF_ERROR(versions_.Check(file.path(), file.version()));
    }
    return weights;
  }

  absl::Status CheckUnchanged() const override { return versions_.CheckUnchanged(); }

 private:
  const std::string dir_;
  const FolderVersions versions_;  // before anything was read
};

std::string WithoutSlash(std::string folder) {
  while (folder.ends_with('/')) folder.pop_back();
  return folder;
}

}  // namespace

absl::StatusOr<ModelSource> ModelSource::Open(const std::string& model) {
  std::error_code ignored;
  if (model.ends_with(".gguf") && !fs::is_directory(model, ignored)) {
    SHORTLIST_ASSIGN_OR_RETURN(auto files, OpenGguf(model));
    return ModelSource(std::move(files));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::string dir, ResolveModelDir(model));
  return OfDirectory(dir);
}

ModelSource ModelSource::OfDirectory(const std::string& dir) {
  return ModelSource(std::make_shared<DirectoryFiles>(dir));
}

std::string ModelSource::NameOf(const std::string& name) const {
  return absl::StrCat(folder_, name);
}

std::string ModelSource::path() const {
  return files_ == nullptr ? "" : files_->PathOf(WithoutSlash(folder_));
}

std::string ModelSource::PathOf(const std::string& name) const {
  return files_ == nullptr ? name : files_->PathOf(NameOf(name));
}

bool ModelSource::Contains(const std::string& name) const {
  return files_ != nullptr && files_->Contains(NameOf(name));
}

absl::StatusOr<std::string> ModelSource::Read(const std::string& name, int64_t max_bytes) const {
  if (files_ == nullptr) return absl::NotFoundError(absl::StrCat("no such file: ", name));
  return files_->Read(NameOf(name), max_bytes);
}

absl::StatusOr<json> ModelSource::ReadJson(const std::string& name, int64_t max_bytes) const {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string text, Read(name, max_bytes));
  return ParseJson(text, PathOf(name));
}

absl::StatusOr<std::optional<json>> ModelSource::ReadObject(const std::string& name) const {
  if (!Contains(name)) return std::nullopt;
  SHORTLIST_ASSIGN_OR_RETURN(json document, ReadJson(name));
  if (!document.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(PathOf(name), ": not a JSON object"));
  }
  return document;
}

std::vector<std::string> ModelSource::List(const std::string& folder) const {
  if (files_ == nullptr) return {};
  return files_->List(WithoutSlash(NameOf(folder)));
}

absl::StatusOr<WeightFiles> ModelSource::OpenWeights() const {
  if (files_ == nullptr) return absl::NotFoundError("no weights");
  return files_->OpenWeights(WithoutSlash(folder_));
}

ModelSource ModelSource::Folder(const std::string& name) const {
  ModelSource folder = *this;
  if (!name.empty()) folder.folder_ = absl::StrCat(NameOf(WithoutSlash(name)), "/");
  return folder;
}

bool ModelSource::Encloses(const std::string& name) const {
  return files_ == nullptr || files_->Encloses(NameOf(name));
}

absl::Status ModelSource::CheckUnchanged() const {
  return files_ == nullptr ? absl::OkStatus() : files_->CheckUnchanged();
}

}  // namespace shortlist
