#ifndef SHORTLIST_TEXT_TOKENIZER_CONFIG_H_
#define SHORTLIST_TEXT_TOKENIZER_CONFIG_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/tokenizer/added_tokens.h"

namespace shortlist {

/// The members of a tokenizer_config.json that are used.
struct TokenizerConfig {
  std::string tokenizer_class;     // empty: not given
  std::optional<std::string> bos;  // the spelling; nullopt: not given, or null
  std::optional<std::string> eos;
  bool names_bos = false;  // the member is present, possibly null
  bool names_eos = false;
  std::optional<bool> add_bos;
  std::optional<bool> add_eos;
  std::optional<bool> add_prefix_space;
  std::optional<bool> legacy;
};

/// InvalidArgument names a member of the wrong type, and split_special_tokens if it is true:
/// EncodeOptions::parse_special alone decides whether texts spell special tokens.
absl::StatusOr<TokenizerConfig> ParseTokenizerConfig(const nlohmann::json& config);

/// Returns the member "added_tokens_decoder", {id: token}, in the order of ids.
absl::StatusOr<std::vector<AddedToken>> ReadAddedTokensOfConfig(const nlohmann::json& config);

/// A special token that tokenizer_config.json names. `token.id` is not set.
struct NamedToken {
  AddedToken token;
  std::string member;      // the member that names the token
  bool has_flags = false;  // an object names it, not a string
  /// The token is special even if an added token of the same spelling is not.
  bool makes_special = false;
  bool is_default = false;  // a default of the tokenizer's class; no file names it

  /// True for a token of a list, such as "additional_special_tokens".
  bool IsListed() const { return !member.ends_with("_token"); }
};

/// Returns the special tokens that `config` names, in the order in which transformers adds those
/// that the vocabulary lacks: bos_token, eos_token, unk_token, sep_token, pad_token, cls_token and
/// mask_token; other members whose names end in "_token" and hold a token; those of
/// "extra_special_tokens" (an object), of "model_specific_special_tokens", and of
/// "extra_special_tokens" (a list) or else "additional_special_tokens". A token is a string or an
/// object with "content" and flags. Tokens outside of lists have a name of their own and get
/// `makes_special`; an object in a list is special only if it says so.
///
/// `as_transformers_4`: ignores other members ending in "_token" and
/// "model_specific_special_tokens", reads "additional_special_tokens" in addition to the extra
/// ones, and sets `makes_special` for the tokens of both.
///
/// InvalidArgument names the member of the wrong type.
absl::StatusOr<std::vector<NamedToken>> ReadSpecialTokensOfConfig(const nlohmann::json& config,
                                                                  bool as_transformers_4);

/// Moves the tokens of standard members (bos_token, eos_token, ...) first, in the order of
/// ReadSpecialTokensOfConfig(), and those of lists last. Otherwise tokens keep their order.
void SortByMember(bool as_transformers_4, std::vector<NamedToken>& tokens);

/// Adds the members of special_tokens_map.json to `config`, overwriting those of the same name,
/// unless `config` has "added_tokens_decoder". This is how transformers reads the older file.
///
/// Lists of further tokens in both files: transformers 5 appends "extra_special_tokens" of the map
/// and ignores its "additional_special_tokens"; transformers 4 appends the latter.
absl::Status AddSpecialTokensMap(const nlohmann::json& map, bool as_transformers_4,
                                 nlohmann::json& config);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_CONFIG_H_
