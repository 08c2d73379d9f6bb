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

/// InvalidArgument names the member that is of the wrong type.
absl::StatusOr<TokenizerConfig> ParseTokenizerConfig(const nlohmann::json& config);

/// The member "added_tokens_decoder", {id: token}, in the order of ids.
absl::StatusOr<std::vector<AddedToken>> ReadAddedTokensOfConfig(const nlohmann::json& config);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_CONFIG_H_
