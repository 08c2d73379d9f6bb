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
#include "text/tokenizer_config.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr int64_t kMaxModelBytes = int64_t{64} << 20;
constexpr int64_t kMaxJsonBytes = int64_t{256} << 20;

/// Returns the *.tiktoken files of `dir`, sorted.
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

/// The configuration files next to a tokenizer.
struct Configs {
  std::string tokenizer_path;  // of tokenizer_config.json, for messages
  json tokenizer = json::object();
  json special_tokens = json::object();  // special_tokens_map.json
  json model = json::object();           // config.json
};

/// Reads a file's JSON object; returns an empty object if there is no such file.
absl::StatusOr<json> ReadOptionalObject(const std::filesystem::path& path) {
  if (!FileExists(path.string())) return json::object();
  SHORTLIST_ASSIGN_OR_RETURN(json document, ReadJsonFile(path.string(), kMaxConfigBytes));
  if (!document.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(path.string(), ": not a JSON object"));
  }
  return document;
}

absl::StatusOr<std::unique_ptr<Tokenizer>> OpenJson(const std::string& path, Configs configs) {
  SHORTLIST_ASSIGN_OR_RETURN(const json document, ReadJsonFile(path, kMaxJsonBytes));
  SHORTLIST_RETURN_IF_ERROR(AddSpecialTokensMap(configs.special_tokens, configs.tokenizer));
  auto tokenizer = ParseJsonTokenizer(document, configs.tokenizer, configs.model);
  if (!tokenizer.ok()) return Within(path, tokenizer.status());
  return tokenizer;
}

absl::StatusOr<std::unique_ptr<Tokenizer>> OpenFile(const std::string& path, Configs configs) {
  if (path.ends_with(".json")) return OpenJson(path, std::move(configs));
  SHORTLIST_ASSIGN_OR_RETURN(const std::string contents, ReadFile(path, kMaxModelBytes));
  if (path.ends_with(".tiktoken") || LooksLikeRanks(contents)) {
    auto tokenizer = ParseRanksTokenizer(contents, configs.tokenizer);
    if (!tokenizer.ok()) return Within(path, tokenizer.status());
    return tokenizer;
  }
  auto model = LoadSentencePieceModel(contents);
  if (!model.ok()) return Within(path, model.status());
  auto tokenizer = MakeSentencePieceTokenizer(*std::move(model), configs.tokenizer);
  if (!tokenizer.ok()) return Within(configs.tokenizer_path, tokenizer.status());
  return tokenizer;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tokenizer>> OpenTokenizer(const std::string& model_dir) {
  const std::filesystem::path dir(model_dir);
  SHORTLIST_ASSIGN_OR_RETURN(const std::string path, ChooseFile(dir));
  Configs configs{.tokenizer_path = (dir / "tokenizer_config.json").string()};
  SHORTLIST_ASSIGN_OR_RETURN(configs.tokenizer, ReadOptionalObject(configs.tokenizer_path));
  SHORTLIST_ASSIGN_OR_RETURN(configs.special_tokens,
                             ReadOptionalObject(dir / "special_tokens_map.json"));
  SHORTLIST_ASSIGN_OR_RETURN(configs.model, ReadOptionalObject(dir / "config.json"));
  return OpenFile(path, std::move(configs));
}

absl::StatusOr<std::unique_ptr<Tokenizer>> OpenTokenizerFile(const std::string& path) {
  return OpenFile(path, Configs{.tokenizer_path = path});
}

}  // namespace shortlist
