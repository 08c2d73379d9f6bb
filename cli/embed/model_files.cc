#include "cli/embed/model_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "cli/embed/xxh64.h"
#include "embed/modules_file.h"
#include "io/model_source.h"
#include "io/raw_file.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;

bool Decides(const std::string& name, bool has_safetensors) {
  constexpr std::array kEndings = {".json", ".txt", ".model", ".tiktoken", ".safetensors"};
  if (std::ranges::any_of(kEndings, [&](const char* ending) { return name.ends_with(ending); })) {
    return true;
  }
  if (name == "sparse_linear.pt" || name == "colbert_linear.pt") return true;
  return name.starts_with("pytorch_model") && name.ends_with(".bin") && !has_safetensors;
}

/// Paths of the files of a GGUF model: `path`, and the other parts if it is the first of several.
std::vector<std::string> PartsOf(const std::string& path) {
  const size_t number = path.rfind("-00001-of-");
  if (number == std::string::npos) return {path};
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator it(fs::path(path).parent_path(), error), end; !error && it != end;
       it.increment(error)) {
    const std::string part = it->path().string();
    if (part.size() == path.size() && part.starts_with(path.substr(0, number)) &&
        part.ends_with(path.substr(number + std::string_view("-00001").size()))) {
      paths.push_back(part);
    }
  }
  return paths;
}

/// Paths of the files of a folder, or of a GGUF file, that affect the vectors.
absl::StatusOr<std::vector<std::string>> FilesThatDecide(const std::string& folder) {
  std::error_code is_missing;
  if (fs::is_regular_file(folder, is_missing)) return PartsOf(folder);
  const bool has_safetensors = FileExists(absl::StrCat(folder, "/model.safetensors")) ||
                               FileExists(absl::StrCat(folder, "/model.safetensors.index.json"));
  std::vector<std::string> paths;
  std::error_code error, ignored;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!Decides(it->path().filename().string(), has_safetensors)) continue;
    if (it->is_regular_file(ignored)) paths.push_back(it->path().string());
  }
  if (error) return absl::UnavailableError(absl::StrCat(folder, ": ", error.message()));
  return paths;
}

}  // namespace

absl::StatusOr<ModelFiles> ModelFiles::Read(const std::string& model) {
  SHORTLIST_ASSIGN_OR_RETURN(const ModelSource source, ModelSource::Open(model));
  const std::string dir = source.path();
  std::set<std::string> folders = {dir, TransformerOf(source).path()};
  // Errors in modules.json are reported when the model is loaded.
  if (const auto modules = ReadModulesFile(source); modules.ok() && modules->has_value()) {
    for (const ModuleEntry& module : **modules) folders.insert(module.source.path());
  }
  std::error_code ignored;
  const fs::path base =
      fs::is_regular_file(dir, ignored) ? fs::path(dir).parent_path() : fs::path(dir);
  ModelFiles files;
  for (const std::string& folder : folders) {
    if (!fs::exists(folder, ignored)) continue;
    SHORTLIST_ASSIGN_OR_RETURN(const std::vector<std::string> paths, FilesThatDecide(folder));
    for (const std::string& path : paths) {
      const std::string below = fs::path(path).lexically_relative(base).lexically_normal().string();
      std::string name;
      AppendReplaced(AppendUtf8(below, name), name, Replacement::kPerSubpart);
      if (files.files_.contains(name)) continue;
      SHORTLIST_ASSIGN_OR_RETURN(const RawFile file, RawFile::Open(path));
      SHORTLIST_ASSIGN_OR_RETURN(std::string hash, Xxh64Of(file));
      files.files_.emplace(name, File{path, file.version(), std::move(hash)});
    }
  }
  return files;
}

absl::Status ModelFiles::CheckUnchanged() const {
  for (const auto& [name, file] : files_) {
    if (VersionOf(file.path) == file.version) continue;
    return absl::UnavailableError(absl::StrCat(file.path, ": changed while the model was read"));
  }
  return absl::OkStatus();
}

nlohmann::ordered_json ModelFiles::hashes() const {
  nlohmann::ordered_json hashes = nlohmann::ordered_json::object();
  for (const auto& [name, file] : files_) hashes[name] = file.hash;
  return hashes;
}

}  // namespace shortlist
