#include "cli/prompts.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

constexpr int64_t kMaxPromptsBytes = int64_t{1} << 30;

absl::StatusOr<std::string> PromptOfRow(const nlohmann::json& row, const std::string& origin) {
  const auto refuse = [&origin](const char* what) {
    return absl::InvalidArgumentError(absl::StrCat(origin, ": ", what));
  };
  if (!row.is_object()) return refuse("not a JSON object");
  const bool has_prompt = row.contains("prompt");
  if (has_prompt == row.contains("turns")) return refuse("needs one of \"prompt\" and \"turns\"");
  if (!has_prompt && (!row["turns"].is_array() || row["turns"].empty())) {
    return refuse("\"turns\" is not an array of at least one string");
  }
  const nlohmann::json& text = has_prompt ? row["prompt"] : row["turns"][0];
  if (!text.is_string()) return refuse("the prompt is not a string");
  if (text.get_ref<const std::string&>().empty()) return refuse("the prompt is empty");
  return text.get<std::string>();
}

absl::StatusOr<std::string> SourceOfRow(const nlohmann::json& row, const std::string& origin) {
  for (const char* key : {"source", "category"}) {
    if (!row.contains(key)) continue;
    if (row[key].is_string()) return row[key].get<std::string>();
    return absl::InvalidArgumentError(absl::StrCat(origin, ": \"", key, "\" is not a string"));
  }
  return std::string();
}

}  // namespace

absl::StatusOr<std::vector<PromptRow>> ReadPrompts(const std::string& path) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string contents, ReadFile(path, kMaxPromptsBytes));
  std::vector<PromptRow> prompts;
  int64_t line_number = 0;
  for (size_t begin = 0; begin < contents.size();) {
    const size_t end = std::min(contents.find('\n', begin), contents.size());
    const std::string line = contents.substr(begin, end - begin);
    begin = end + 1;
    ++line_number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    PromptRow prompt{.text = "", .origin = absl::StrCat(path, " line ", line_number), .source = ""};
    SHORTLIST_ASSIGN_OR_RETURN(const nlohmann::json row, ParseJson(line, prompt.origin));
    SHORTLIST_ASSIGN_OR_RETURN(prompt.text, PromptOfRow(row, prompt.origin));
    SHORTLIST_ASSIGN_OR_RETURN(prompt.source, SourceOfRow(row, prompt.origin));
    prompts.push_back(std::move(prompt));
  }
  if (prompts.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": holds no prompt"));
  return prompts;
}

}  // namespace shortlist
