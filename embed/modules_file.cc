#include "embed/modules_file.h"

#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "embed/text_field.h"
#include "io/quote.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr size_t kMaxTypeBytes = 256;
constexpr size_t kMaxPathBytes = 255;
constexpr char kModulesFile[] = "modules.json";
constexpr char kModelFile[] = "config_sentence_transformers.json";
constexpr size_t kMaxNameBytes = 255;

/// Returns the folder of an entry's path, which stays inside `source`.
absl::StatusOr<ModelSource> ModuleFolder(const ModelSource& source, const ConfigFields& fields) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string path, RequiredText(fields, "path", kMaxPathBytes));
  if (!source.Encloses(path)) {
    return fields.Invalid("path",
                          absl::StrCat("= ", Quote(path), " leaves the directory of the model"));
  }
  return source.Folder(path);
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

absl::StatusOr<std::optional<std::vector<ModuleEntry>>> ReadModulesFile(const ModelSource& source) {
  if (!source.Contains(kModulesFile)) return std::nullopt;
  const std::string path = source.PathOf(kModulesFile);
  SHORTLIST_ASSIGN_OR_RETURN(const json list, source.ReadJson(kModulesFile));
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
    SHORTLIST_ASSIGN_OR_RETURN(module.source, ModuleFolder(source, fields));
    modules.push_back(std::move(module));
  }
  return modules;
}

ModelSource TransformerOf(const ModelSource& source) {
  const auto modules = ReadModulesFile(source);
  const bool is_known = modules.ok() && modules->has_value() && !(*modules)->empty();
  return is_known ? (**modules).front().source : source;
}

absl::StatusOr<ModuleConfig> ReadModuleConfig(const ModelSource& source, const char* name) {
  SHORTLIST_ASSIGN_OR_RETURN(auto object, source.ReadObject(name));
  ModuleConfig config = {source.PathOf(name), json::object(), object.has_value()};
  if (object) config.object = *std::move(object);
  return config;
}

absl::StatusOr<ModuleConfig> RequireModuleConfig(const ModelSource& source, const char* name) {
  SHORTLIST_ASSIGN_OR_RETURN(ModuleConfig config, ReadModuleConfig(source, name));
  if (!config.exists) return absl::NotFoundError(absl::StrCat(config.path, " is missing"));
  return config;
}

absl::StatusOr<ModuleConfig> ReadModelFile(const ModelSource& source, const char* model_type) {
  SHORTLIST_ASSIGN_OR_RETURN(ModuleConfig file, ReadModuleConfig(source, kModelFile));
  const ConfigFields fields = file.fields();
  SHORTLIST_ASSIGN_OR_RETURN(const auto type, OptionalText(fields, "model_type", kMaxNameBytes));
  if (type && *type != model_type) {
    return fields.Unsupported("model_type", *type, absl::StrCat("only \"", model_type, "\" is"));
  }
  return file;
}

absl::StatusOr<ModuleConfig> ReadCrossEncoderFile(const ModelSource& source) {
  const ModuleConfig none = {source.PathOf(kModelFile), json::object()};
  if (!source.Contains(kModulesFile)) return none;
  SHORTLIST_ASSIGN_OR_RETURN(ModuleConfig file, ReadModelFile(source, "CrossEncoder"));
  return file.fields().Find("model_type") == nullptr ? none : std::move(file);
}

}  // namespace shortlist
