#include "embed/modules_file.h"

#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "embed/text_field.h"
#include "model/checkpoint/quote.h"

namespace shortlist {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr size_t kMaxTypeBytes = 256;
constexpr size_t kMaxPathBytes = 255;
constexpr char kModelFile[] = "config_sentence_transformers.json";
constexpr size_t kMaxNameBytes = 255;

bool IsBelow(const fs::path& path, const fs::path& dir) {
  const auto [in_dir, in_path] = std::mismatch(dir.begin(), dir.end(), path.begin(), path.end());
  return in_dir == dir.end();
}

/// Returns the folder of an entry's path; checks that its symbolic links stay inside `dir`.
absl::StatusOr<std::string> ModuleDir(const std::string& dir, const ConfigFields& fields) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string path, RequiredText(fields, "path", kMaxPathBytes));
  if (path.empty()) return dir;
  const absl::Status leaves =
      fields.Invalid("path", absl::StrCat("= ", Quote(path), " leaves the directory of the model"));
  if (path.front() == '/' || path.find('\0') != std::string::npos) return leaves;
  for (const fs::path& part : fs::path(path)) {
    if (part == "..") return leaves;
  }
  std::error_code error;
  const fs::path root = fs::canonical(dir, error);
  const fs::path target = error ? fs::path() : fs::canonical(fs::path(dir) / path, error);
  // The module's reader reports a missing folder; Normalize needs no folder.
  if (error) return absl::StrCat(dir, "/", path);
  if (!IsBelow(target, root)) return leaves;
  return absl::StrCat(dir, "/", path);
}

absl::StatusOr<std::string> ModuleType(const ConfigFields& fields) {
  constexpr std::string_view kPackage = "sentence_transformers.";
  SHORTLIST_ASSIGN_OR_RETURN(const std::string type, RequiredText(fields, "type", kMaxTypeBytes));
  if (!std::string_view(type).starts_with(kPackage)) {
    return fields.Unsupported("type", type, "only classes of sentence_transformers are");
  }
  return type.substr(type.rfind('.') + 1);
}

}  // namespace

absl::StatusOr<std::optional<std::vector<ModuleEntry>>> ReadModulesFile(const std::string& dir) {
  const std::string path = absl::StrCat(dir, "/modules.json");
  if (!FileExists(path)) return std::nullopt;
  SHORTLIST_ASSIGN_OR_RETURN(const json list, ReadJsonFile(path, kMaxConfigBytes));
  if (!list.is_array() || list.empty() || list.size() > kMaxModules) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", Quote(list), " is not a list of 1 to ", kMaxModules, " modules"));
  }
  std::vector<ModuleEntry> modules;
  std::set<std::string> names;
  for (size_t i = 0; i < list.size(); ++i) {
    const ConfigFields fields(absl::StrCat(path, ": module ", i), list[i]);
    if (!list[i].is_object()) {
      return absl::InvalidArgumentError(
          absl::StrCat(fields.where(), " = ", Quote(list[i]), " is not an object"));
    }
    const auto place = static_cast<int64_t>(i);
    SHORTLIST_RETURN_IF_ERROR(fields.Int("idx", place, place, /*otherwise=*/place).status());
    SHORTLIST_ASSIGN_OR_RETURN(auto name, OptionalText(fields, "name", kMaxNameBytes));
    if (name && !names.insert(*name).second) {
      return fields.Invalid("name", absl::StrCat("= ", Quote(*name), " is another module's too"));
    }
    ModuleEntry module;
    SHORTLIST_ASSIGN_OR_RETURN(module.type, ModuleType(fields));
    SHORTLIST_ASSIGN_OR_RETURN(module.dir, ModuleDir(dir, fields));
    modules.push_back(std::move(module));
  }
  return modules;
}

std::string TransformerDir(const std::string& dir) {
  const auto modules = ReadModulesFile(dir);
  const bool is_known = modules.ok() && modules->has_value() && !(*modules)->empty();
  return is_known ? (**modules).front().dir : dir;
}

absl::StatusOr<ModuleConfig> ReadModuleConfig(const std::string& dir, const char* name) {
  SHORTLIST_ASSIGN_OR_RETURN(auto object, ReadOptionalObject(dir, name));
  ModuleConfig config = {absl::StrCat(dir, "/", name), json::object(), object.has_value()};
  if (object) config.object = *std::move(object);
  return config;
}

absl::StatusOr<ModuleConfig> RequireModuleConfig(const std::string& dir, const char* name) {
  SHORTLIST_ASSIGN_OR_RETURN(ModuleConfig config, ReadModuleConfig(dir, name));
  if (!config.exists) return absl::NotFoundError(absl::StrCat(config.path, " is missing"));
  return config;
}

absl::StatusOr<ModuleConfig> ReadModelFile(const std::string& dir, const char* model_type) {
  SHORTLIST_ASSIGN_OR_RETURN(ModuleConfig file, ReadModuleConfig(dir, kModelFile));
  const ConfigFields fields = file.fields();
  SHORTLIST_ASSIGN_OR_RETURN(const auto type, OptionalText(fields, "model_type", kMaxNameBytes));
  if (type && *type != model_type) {
    return fields.Unsupported("model_type", *type, absl::StrCat("only \"", model_type, "\" is"));
  }
  return file;
}

absl::StatusOr<ModuleConfig> ReadCrossEncoderFile(const std::string& dir) {
  const ModuleConfig none = {absl::StrCat(dir, "/", kModelFile), json::object()};
  if (!FileExists(absl::StrCat(dir, "/modules.json"))) return none;
  SHORTLIST_ASSIGN_OR_RETURN(ModuleConfig file, ReadModelFile(dir, "CrossEncoder"));
  return file.fields().Find("model_type") == nullptr ? none : std::move(file);
}

}  // namespace shortlist
