#include "serve/model_name.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "serve/http/api_error.h"

namespace shortlist {

std::string DefaultModelName(const std::string& model) {
  std::error_code ignored;
  const bool is_directory = std::filesystem::is_directory(model, ignored);
  std::string name = is_directory ? model : model.substr(0, model.find('@'));
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  const bool is_repository = !is_directory && std::count(name.begin(), name.end(), '/') == 1 &&
                             name.front() != '/' && name.front() != '.';
  return is_repository ? name : std::filesystem::path(name).filename().string();
}

std::vector<std::string> ServedNames(const std::string& served) {
  std::vector<std::string> names = {served};
  const size_t slash = served.rfind('/');
  if (slash != served.npos && slash + 1 < served.size()) names.push_back(served.substr(slash + 1));
  return names;
}

absl::Status CheckModelName(const std::string& served, std::string_view asked) {
  const std::vector<std::string> names = ServedNames(served);
  if (asked.empty() || asked == "default") return absl::OkStatus();
  if (std::find(names.begin(), names.end(), asked) != names.end()) return absl::OkStatus();
  const absl::Status unknown = absl::NotFoundError(absl::StrCat(
      "The model `", std::string(asked), "` does not exist: this server has `", served, "`"));
  return WithParam(WithCode(unknown, "model_not_found"), "model");
}

}  // namespace shortlist
