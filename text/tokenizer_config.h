#ifndef SHORTLIST_TEXT_TOKENIZER_CONFIG_H_
#define SHORTLIST_TEXT_TOKENIZER_CONFIG_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/tokenizer/added_tokens.h"

namespace shortlist {

/// What counts of a tokenizer_config.json.
struct TokenizerConfig {
  std::string tokenizer_class;     // empty: not given
  std::optional<std::string> bos;  // the spelling; none: not given, or null
  std::optional<std::string> eos;
  bool names_bos = false;  // the member is there, be it null
  bool names_eos = false;
  std::optional<bool> add_bos;
  std::optional<bool> add_eos;
  std::optional<bool> add_prefix_space;
  std::optional<bool> legacy;
};

/// InvalidArgument names the member that is of the wrong type, and split_special_tokens where it is
/// true: EncodeOptions::parse_special alone says whether texts spell special tokens.
absl::StatusOr<TokenizerConfig> ParseTokenizerConfig(const nlohmann::json& config);

/// The member "added_tokens_decoder", {id: token}, in the order of ids.
absl::StatusOr<std::vector<AddedToken>> ReadAddedTokensOfConfig(const nlohmann::json& config);

/// A special token that tokenizer_config.json names. `token.id` is not set.
struct NamedToken {
  AddedToken token;
  std::string member;  // that names it
  /// Such a token is special even where an added token of the same spelling is not.
  bool makes_special = false;
  bool is_default = false;  // of the tokenizer's class: no file names it
};

/// The special tokens that `config` names, in the order in which transformers adds those that the
/// vocabulary lacks: bos_token, eos_token, unk_token, sep_token, pad_token, cls_token and
/// mask_token; other members whose names end in "_token" and hold a token; those of
/// "extra_special_tokens" (an object), of "model_specific_special_tokens", and of
/// "extra_special_tokens" (a list) or else "additional_special_tokens". A token is a string or an
/// object with "content" and flags. All but those of the lists are named each by a name of its own,
/// which `makes_special`.
///
/// `as_transformers_4`: that has no other members ending in "_token" and no
/// "model_specific_special_tokens", reads "additional_special_tokens" beside extra ones, and
/// has the tokens of both special.
///
/// InvalidArgument names the member of the wrong type.
absl::StatusOr<std::vector<NamedToken>> ReadSpecialTokensOfConfig(const nlohmann::json& config,
                                                                  bool as_transformers_4);

/// Puts `tokens` in that order, by their members' names; others stay as they are.
void SortStandardTokensFirst(std::vector<NamedToken>& tokens);

/// Adds the members of special_tokens_map.json to `config`, over those of the same name, unless
/// `config` has "added_tokens_decoder": so transformers reads the older file.
absl::Status AddSpecialTokensMap(const nlohmann::json& map, nlohmann::json& config);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_CONFIG_H_
