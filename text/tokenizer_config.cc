#include "text/tokenizer_config.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/json_fields.h"
#include "text/tokenizer/vocabulary.h"

namespace shortlist {
namespace {

using nlohmann::json;

/// A token as a string, or as an object with "content".
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

}  // namespace

absl::StatusOr<TokenizerConfig> ParseTokenizerConfig(const json& config) {
  if (!config.is_object()) return absl::InvalidArgumentError("not a JSON object");
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

}  // namespace shortlist
