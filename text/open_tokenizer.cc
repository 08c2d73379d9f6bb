#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/sentencepiece/tokenizer.h"
#include "text/tokenizer.h"
#include "text/tokenizer/json_fields.h"
#include "text/tokenizer/json_tokenizer.h"
#include "text/tokenizer/tiktoken.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr int64_t kMaxModelBytes = int64_t{64} << 20;
constexpr int64_t kMaxJsonBytes = int64_t{256} << 20;

/// The *.tiktoken files of `dir`, sorted.
std::vector<std::string> RanksFiles(const std::filesystem::path& dir) {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(dir, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".tiktoken") paths.push_back(entry->path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

absl::StatusOr<std::string> ChooseFile(const std::filesystem::path& dir) {
  for (const char* name : {"tokenizer.json", "tokenizer.model"}) {
    if (FileExists((dir / name).string())) return (dir / name).string();
  }
  const std::vector<std::string> ranks = RanksFiles(dir);
  if (ranks.size() == 1) return ranks[0];
  if (ranks.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(ranks[0], " and ", ranks[1], ": which of them is the tokenizer?"));
  }
  return absl::NotFoundError(absl::StrCat("no such file: ", (dir / "tokenizer.json").string(), ", ",
                                          (dir / "tokenizer.model").string(), " or ",
                                          (dir / "*.tiktoken").string()));
}

absl::StatusOr<std::unique_ptr<Tokenizer>> OpenFile(const std::string& path, const json& config,
                                                    const std::string& config_path) {
  const auto within = [&](const absl::Status& status) { return Within(path, status); };
  if (path.ends_with(".json")) {
    SHORTLIST_ASSIGN_OR_RETURN(const json document, ReadJsonFile(path, kMaxJsonBytes));
    auto tokenizer = ParseJsonTokenizer(document, config);
    if (!tokenizer.ok()) return within(tokenizer.status());
    return tokenizer;
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::string contents, ReadFile(path, kMaxModelBytes));
  if (path.ends_with(".tiktoken") || LooksLikeRanks(contents)) {
    auto tokenizer = ParseRanksTokenizer(contents, config);
    if (!tokenizer.ok()) return within(tokenizer.status());
    return tokenizer;
  }
  auto model = LoadSentencePieceModel(contents);
  if (!model.ok()) return within(model.status());
  auto tokenizer = MakeSentencePieceTokenizer(*std::move(model), config);
  if (!tokenizer.ok()) return Within(config_path, tokenizer.status());
  return tokenizer;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tokenizer>> OpenTokenizer(const std::string& model_dir) {
  const std::filesystem::path dir(model_dir);
  SHORTLIST_ASSIGN_OR_RETURN(const std::string path, ChooseFile(dir));
  json config = json::object();
  const std::string config_path = (dir / "tokenizer_config.json").string();
  if (FileExists(config_path)) {
    SHORTLIST_ASSIGN_OR_RETURN(config, ReadJsonFile(config_path, kMaxConfigBytes));
  }
  return OpenFile(path, config, config_path);
}

absl::StatusOr<std::unique_ptr<Tokenizer>> OpenTokenizerFile(const std::string& path) {
  return OpenFile(path, json::object(), path);
}

}  // namespace shortlist
