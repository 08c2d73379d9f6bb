#include "text/chat/special_tokens.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/json_fields.h"
#include "text/tokenizer/json_tokenizer.h"
#include "text/tokenizer/tokenizer_class.h"

namespace shortlist {
namespace {

using nlohmann::json;
using Tokens = std::map<std::string, std::string>;

constexpr std::string_view kStandard[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                          "pad_token", "cls_token", "mask_token"};
constexpr std::string_view kTaken[] = {"messages", "tools", "documents", "add_generation_prompt"};
constexpr const char* kExtra[] = {"additional_special_tokens", "extra_special_tokens"};

bool IsOneOf(std::string_view name, const auto& names) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool IsToken(const json& value) {
  return value.is_string() ||
         (value.is_object() && value.contains("content") && value["content"].is_string());
}

/// Adds a token; ignores null.
absl::Status AddToken(const std::string& path, const std::string& name, const json& value,
                      Tokens& tokens) {
  if (value.is_null()) return absl::OkStatus();
  if (!IsToken(value)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", Excerpt(name), " is not a text"));
  }
  if (IsOneOf(name, kTaken)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the name of the token ", name, " is taken"));
  }
  tokens[name] = (value.is_object() ? value["content"] : value).get<std::string>();
  return absl::OkStatus();
}

absl::Status AddMembers(const std::string& path, const json& object, const char* group,
                        Tokens& tokens) {
  if (!object.contains(group) || !object[group].is_object()) return absl::OkStatus();
  for (const auto& [name, value] : object[group].items()) {
    SHORTLIST_RETURN_IF_ERROR(AddToken(path, name, value, tokens));
  }
  return absl::OkStatus();
}

/// Adds the tokens that are members of `file`: standard ones, and others whose names end in
/// "_token", as texts or objects.
absl::Status AddNamed(const std::string& path, const json& file, Tokens& standard, Tokens& texts,
                      Tokens& objects) {
  for (const auto& [name, value] : file.items()) {
    if (IsOneOf(name, kStandard)) {
      SHORTLIST_RETURN_IF_ERROR(AddToken(path, name, value, standard));
    } else if (name.ends_with("_token") && IsToken(value)) {
      SHORTLIST_RETURN_IF_ERROR(AddToken(path, name, value, value.is_string() ? texts : objects));
    }
  }
  return absl::OkStatus();
}

/// Adds the tokens of the tokenizer class that neither `config` nor `standard` has.
absl::Status AddTokensOfClass(const ModelSource& source, const json& config, Tokens& standard) {
  constexpr char kTokenizer[] = "tokenizer.json";
  SHORTLIST_ASSIGN_OR_RETURN(const auto model_file, source.ReadObject("config.json"));
  const json model_config = model_file.value_or(json::object());
  json document = json::object();
  if (ClassDependsOnDocument(config, model_config) && source.Contains(kTokenizer)) {
    SHORTLIST_ASSIGN_OR_RETURN(document, source.ReadJson(kTokenizer, kMaxTokenizerJsonBytes));
    if (!document.is_object()) document = json::object();
  }
  const absl::StatusOr<ClassParts> parts = PartsOfClass(document, config, model_config);
  if (!parts.ok()) return Within(source.PathOf("tokenizer_config.json"), parts.status());
  for (const auto& [name, content] : parts->special_tokens) {
    if (name == kAdditionalTokens || config.contains(std::string(name))) continue;
    standard.emplace(name, content);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Tokens> ReadTemplateTokens(const ModelSource& source) {
  const std::string config_path = source.PathOf("tokenizer_config.json");
  const std::string map_path = source.PathOf("special_tokens_map.json");
  SHORTLIST_ASSIGN_OR_RETURN(const auto config_file, source.ReadObject("tokenizer_config.json"));
  SHORTLIST_ASSIGN_OR_RETURN(const auto map_file, source.ReadObject("special_tokens_map.json"));
  const json config = config_file.value_or(json::object());
  json map = map_file.value_or(json::object());
  if (config.contains("added_tokens_decoder")) map = json::object();
  Tokens standard, texts, objects;
  SHORTLIST_RETURN_IF_ERROR(AddNamed(config_path, config, standard, texts, objects));
  Tokens specific = std::move(texts);
  for (const char* group : kExtra) {
    SHORTLIST_RETURN_IF_ERROR(AddMembers(config_path, config, group, specific));
  }
  if (specific.empty()) {
    constexpr char kSpecific[] = "model_specific_special_tokens";
    SHORTLIST_RETURN_IF_ERROR(AddMembers(config_path, config, kSpecific, specific));
  }
  // In the older file, both kinds of named tokens come after those of the config.
  SHORTLIST_RETURN_IF_ERROR(AddNamed(map_path, map, standard, objects, objects));
  for (const char* group : kExtra) {
    SHORTLIST_RETURN_IF_ERROR(AddMembers(map_path, map, group, specific));
  }
  SHORTLIST_RETURN_IF_ERROR(AddTokensOfClass(source, config, standard));
  Tokens tokens = std::move(specific);
  tokens.merge(objects);
  tokens.merge(standard);
  return tokens;
}

}  // namespace shortlist
