#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "io/model_source.h"
#include "nlohmann/json.hpp"
#include "text/sentencepiece/tokenizer.h"
#include "text/tokenizer.h"
#include "text/tokenizer/json_fields.h"
#include "text/tokenizer/json_shape.h"
#include "text/tokenizer/json_tokenizer.h"
#include "text/tokenizer/tiktoken.h"
#include "text/tokenizer/tokenizer_class.h"
#include "text/tokenizer_config.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr int64_t kMaxModelBytes = int64_t{64} << 20;

int64_t MaxBytes(const std::string& path) {
  return path.ends_with(".json") ? kMaxTokenizerJsonBytes : kMaxModelBytes;
}

/// The name of the file that holds the tokenizer.
absl::StatusOr<std::string> ChooseFile(const ModelSource& source) {
  for (const char* name : {"tokenizer.json", "tokenizer.model"}) {
    if (source.Contains(name)) return name;
  }
  std::vector<std::string> ranks = source.List();
  std::erase_if(ranks, [](const std::string& name) { return !name.ends_with(".tiktoken"); });
  if (ranks.size() == 1) return ranks[0];
  if (ranks.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(source.PathOf(ranks[0]), " and ",
                                                   source.PathOf(ranks[1]),
                                                   ": which of them is the tokenizer?"));
  }
  return absl::NotFoundError(absl::StrCat("no such file: ", source.PathOf("tokenizer.json"), ", ",
                                          source.PathOf("tokenizer.model"), " or ",
                                          source.PathOf("*.tiktoken")));
}

/// The configuration files next to a tokenizer.
struct Configs {
  std::string tokenizer_path;  // of tokenizer_config.json, for messages
  json tokenizer = json::object();
  json special_tokens = json::object();  // special_tokens_map.json
  json model = json::object();           // config.json
  std::string added_path = {};           // of added_tokens.json, for messages
  json added = json::object();           // added_tokens.json
};

/// Reads the JSON object in the file `name`; returns an empty object if there is no such file.
absl::StatusOr<json> ReadObject(const ModelSource& source, const char* name) {
  SHORTLIST_ASSIGN_OR_RETURN(std::optional<json> object, source.ReadObject(name));
  return object ? *std::move(object) : json::object();
}

absl::StatusOr<std::unique_ptr<Tokenizer>> ParseJsonFile(const std::string& path,
                                                         const json& document, Configs configs) {
  if (const absl::Status shape = CheckJsonShape(document); !shape.ok()) return Within(path, shape);
  SHORTLIST_RETURN_IF_ERROR(AddSpecialTokensMap(
      configs.special_tokens, SavedByTransformers4(configs.tokenizer, configs.model),
      configs.tokenizer));
  auto tokenizer = ParseJsonTokenizer(document, configs.tokenizer, configs.model);
  if (!tokenizer.ok()) return Within(path, tokenizer.status());
  return tokenizer;
}

/// The tokenizer in `contents`, those of the file `name` at `path`.
absl::StatusOr<std::unique_ptr<Tokenizer>> ParseFile(const std::string& name,
                                                     const std::string& path,
                                                     const std::string& contents, Configs configs) {
  if (name.ends_with(".json")) {
    SHORTLIST_ASSIGN_OR_RETURN(const json document, ParseJson(contents, path));
    return ParseJsonFile(path, document, std::move(configs));
  }
  if (name.ends_with(".tiktoken") || LooksLikeRanks(contents)) {
    auto tokenizer = ParseRanksTokenizer(contents, configs.tokenizer);
    if (!tokenizer.ok()) return Within(path, tokenizer.status());
    return tokenizer;
  }
  auto model = LoadSentencePieceModel(contents);
  if (!model.ok()) return Within(path, model.status());
  absl::Status known = CheckAddedTokens(configs.added, **model);
  if (!known.ok()) return Within(configs.added_path, known);
  const SentencePieceModel& pieces = **model;  // the tokenizer's from here on
  auto tokenizer = MakeSentencePieceTokenizer(*std::move(model), configs.tokenizer);
  if (!tokenizer.ok()) return Within(configs.tokenizer_path, tokenizer.status());
  SHORTLIST_RETURN_IF_ERROR(
      AddSpecialTokensMap(configs.special_tokens, /*as_transformers_4=*/true, configs.tokenizer));
  known = CheckSpecialTokens(configs.tokenizer, pieces);
  if (!known.ok()) return Within(configs.tokenizer_path, known);
  return tokenizer;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tokenizer>> OpenTokenizer(const ModelSource& source) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string name, ChooseFile(source));
  Configs configs{.tokenizer_path = source.PathOf("tokenizer_config.json")};
  SHORTLIST_ASSIGN_OR_RETURN(configs.tokenizer, ReadObject(source, "tokenizer_config.json"));
  SHORTLIST_ASSIGN_OR_RETURN(configs.special_tokens, ReadObject(source, "special_tokens_map.json"));
  SHORTLIST_ASSIGN_OR_RETURN(configs.model, ReadObject(source, "config.json"));
  configs.added_path = source.PathOf("added_tokens.json");
  SHORTLIST_ASSIGN_OR_RETURN(configs.added, ReadObject(source, "added_tokens.json"));
  SHORTLIST_ASSIGN_OR_RETURN(const std::string contents, source.Read(name, MaxBytes(name)));
  return ParseFile(name, source.PathOf(name), contents, std::move(configs));
}

absl::StatusOr<std::unique_ptr<Tokenizer>> OpenTokenizerFile(const std::string& path) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string contents, ReadFile(path, MaxBytes(path)));
  return ParseFile(path, path, contents, Configs{.tokenizer_path = path});
}

}  // namespace shortlist
