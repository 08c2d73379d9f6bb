#include "text/tokenizer_config.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/json_fields.h"
#include "text/tokenizer/vocabulary.h"

namespace shortlist {
namespace {

using nlohmann::json;

/// Reads a token given as a string, or as an object with "content".
absl::StatusOr<std::optional<std::string>> ReadSpelling(const json& config, const char* name) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* member, FindMember(config, name));
  if (member == nullptr) return std::nullopt;
  const json* spelling = member;
  if (member->is_object() && member->contains("content")) spelling = &(*member)["content"];
  if (!spelling->is_string()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is not a string"));
  }
  return spelling->get<std::string>();
}

constexpr const char* kStandardTokens[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                           "pad_token", "cls_token", "mask_token"};

/// Returns the position of `name` in kStandardTokens; its size for any other name.
size_t RankOf(const std::string& name) {
  const auto* const found = std::find(std::begin(kStandardTokens), std::end(kStandardTokens), name);
  return static_cast<size_t>(found - std::begin(kStandardTokens));
}

bool IsStandard(const std::string& name) { return RankOf(name) < std::size(kStandardTokens); }

/// Parses a special token given as a string, or as an object with "content" and flags.
absl::StatusOr<NamedToken> ParseNamedToken(const std::string& name, const json& spec,
                                           bool makes_special) {
  json token = spec;
  if (spec.is_string()) token = {{"content", spec}};
  if (!token.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(Excerpt(name), " is not a token: neither a ",
                                                   "string nor an object with \"content\""));
  }
  if (spec.is_string() || makes_special) token["special"] = true;
  absl::StatusOr<AddedToken> parsed = ParseAddedToken(token, /*id=*/0);
  if (!parsed.ok()) return Within(Excerpt(name), parsed.status());
  return NamedToken{*std::move(parsed), name, spec.is_object(), makes_special};
}

/// Appends the tokens of a list or an object; tokens of an object have names of their own.
absl::Status AppendNamedTokens(const json& config, const char* name, bool lists_make_special,
                               std::vector<NamedToken>& tokens) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* spec, FindMember(config, name));
  if (spec == nullptr) return absl::OkStatus();
  if (!spec->is_structured()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is neither a list nor an object"));
  }
  const bool makes_special = spec->is_object() || lists_make_special;
  for (const json& member : *spec) {
    SHORTLIST_ASSIGN_OR_RETURN(tokens.emplace_back(), ParseNamedToken(name, member, makes_special));
  }
  return absl::OkStatus();
}

constexpr char kAdditional[] = "additional_special_tokens";
constexpr char kExtra[] = "extra_special_tokens";

/// Returns `tokens` and those of `more` that it lacks.
json Joined(json tokens, const json& more) {
  std::set<json> known(tokens.begin(), tokens.end());
  for (const json& token : more) {
    if (!known.insert(token).second) continue;
    tokens.push_back(token);
    if (token.is_object()) tokens.back()["special"] = true;
  }
  return tokens;
}

}  // namespace

absl::StatusOr<TokenizerConfig> ParseTokenizerConfig(const json& config) {
  if (!config.is_object()) return absl::InvalidArgumentError("not a JSON object");
  SHORTLIST_ASSIGN_OR_RETURN(const bool splits, ReadBool(config, "split_special_tokens", false));
  if (splits) {
    return absl::InvalidArgumentError(
        "split_special_tokens is true, which is not supported: set it to false in "
        "tokenizer_config.json, and encode with parse_special off where special tokens are text");
  }
  TokenizerConfig result;
  SHORTLIST_ASSIGN_OR_RETURN(result.tokenizer_class, ReadString(config, "tokenizer_class", ""));
  SHORTLIST_ASSIGN_OR_RETURN(result.bos, ReadSpelling(config, "bos_token"));
  SHORTLIST_ASSIGN_OR_RETURN(result.eos, ReadSpelling(config, "eos_token"));
  result.names_bos = config.contains("bos_token");
  result.names_eos = config.contains("eos_token");
  SHORTLIST_ASSIGN_OR_RETURN(result.add_bos, ReadOptionalBool(config, "add_bos_token"));
  SHORTLIST_ASSIGN_OR_RETURN(result.add_eos, ReadOptionalBool(config, "add_eos_token"));
  SHORTLIST_ASSIGN_OR_RETURN(result.add_prefix_space, ReadOptionalBool(config, "add_prefix_space"));
  SHORTLIST_ASSIGN_OR_RETURN(result.legacy, ReadOptionalBool(config, "legacy"));
  return result;
}

absl::StatusOr<std::vector<AddedToken>> ReadAddedTokensOfConfig(const json& config) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* member, FindMember(config, "added_tokens_decoder"));
  std::vector<AddedToken> tokens;
  if (member == nullptr) return tokens;
  if (!member->is_object()) {
    return absl::InvalidArgumentError("added_tokens_decoder is not an object");
  }
  for (const auto& [key, spec] : member->items()) {
    int64_t id = -1;
    if (!absl::SimpleAtoi(key, &id) || id < 0 || id >= kMaxVocabularySize) {
      return absl::InvalidArgumentError(absl::StrCat("added token ", spec.dump().substr(0, 80),
                                                     " has id ", key.substr(0, 80), ", not in [0, ",
                                                     kMaxVocabularySize, ")"));
    }
    SHORTLIST_ASSIGN_OR_RETURN(AddedToken token, ParseAddedToken(spec, id));
    tokens.push_back(std::move(token));
  }
  std::sort(tokens.begin(), tokens.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  return tokens;
}

absl::StatusOr<std::vector<NamedToken>> ReadSpecialTokensOfConfig(const json& config,
                                                                  bool as_transformers_4) {
  std::vector<NamedToken> tokens;
  for (const auto& [name, spec] : config.items()) {
    if (spec.is_null() || !name.ends_with("_token")) continue;
    // "add_bos_token" and the like are flags.
    const bool holds_token = spec.is_string() || spec.contains("content");
    if (!IsStandard(name) && (!holds_token || as_transformers_4)) continue;
    SHORTLIST_ASSIGN_OR_RETURN(tokens.emplace_back(),
                               ParseNamedToken(name, spec, /*makes_special=*/true));
  }
  SortByMember(as_transformers_4, tokens);
  const json extra = config.value("extra_special_tokens", json());
  const bool has_extra = !extra.is_null() && !(extra.is_structured() && extra.empty());
  std::vector<const char*> groups;
  if (as_transformers_4) {
    groups = {"additional_special_tokens", "extra_special_tokens"};
  } else if (!has_extra || extra.is_object()) {
    groups = {"extra_special_tokens", "model_specific_special_tokens", "additional_special_tokens"};
  } else {
    groups = {"model_specific_special_tokens", "extra_special_tokens"};
  }
  for (const char* group : groups) {
    SHORTLIST_RETURN_IF_ERROR(AppendNamedTokens(config, group, as_transformers_4, tokens));
  }
  return tokens;
}

void SortByMember(bool as_transformers_4, std::vector<NamedToken>& tokens) {
  const auto rank = [&](const NamedToken& token) {
    const bool is_last = as_transformers_4 && token.member == "extra_special_tokens";
    return RankOf(token.member) + (token.IsListed() ? 1 : 0) + (is_last ? 1 : 0);
  };
  std::stable_sort(tokens.begin(), tokens.end(),
                   [&](const NamedToken& a, const NamedToken& b) { return rank(a) < rank(b); });
}

absl::Status AddSpecialTokensMap(const json& map, bool as_transformers_4, json& config) {
  if (!map.is_object() || !config.is_object())
    return absl::InvalidArgumentError("not a JSON object");
  if (config.contains("added_tokens_decoder")) return absl::OkStatus();
  const auto list = config.find(as_transformers_4 ? kAdditional : kExtra);
  const json extra = list == config.end() ? json() : *list;
  const bool has_further =
      config.contains(kAdditional) || (config.contains(kExtra) && !config[kExtra].is_object());
  for (const auto& [name, value] : map.items()) {
    if (!as_transformers_4 && name == kAdditional && has_further) continue;
    const bool is_merged = name == (as_transformers_4 ? kAdditional : kExtra);
    config[name] = is_merged && value.is_array() && extra.is_array() ? Joined(extra, value) : value;
  }
  return absl::OkStatus();
}

}  // namespace shortlist
