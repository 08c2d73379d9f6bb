#include "runtime/grammars.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "text/tokenizer.h"

namespace shortlist {

absl::StatusOr<std::unique_ptr<GrammarCompiler>> NewGrammarCompiler(
    const Models& models, const std::vector<TokenId>& more_end_ids,
    const std::vector<TokenId>& shown_controls) {
  const Tokenizer& tokenizer = models.tokenizer();
  if (tokenizer.cleans_up_spaces() || tokenizer.strips_trailing_space()) {
    return absl::UnimplementedError(
        "no grammar can be followed: the tokenizer changes spaces when it decodes");
  }
  GrammarCompiler::Options options;
  for (int32_t id = 0; id < models.num_ids(); ++id) {
    bool at_start = false;  // an output continues its prompt
    options.tokens.push_back(tokenizer.IsSpecial(TokenId{id})
                                 ? std::string_view()
                                 : tokenizer.NextBytes(TokenId{id}, at_start));
  }
  for (const TokenId id : shown_controls) {
    if (Raw(id) < models.num_ids()) options.tokens[Raw(id)] = tokenizer.ControlPiece(id);
  }
  options.end_ids = models.stop_token_ids();
  options.end_ids.insert(options.end_ids.end(), more_end_ids.begin(), more_end_ids.end());
  options.encode = [&tokenizer](std::string_view text) {
    const absl::StatusOr<std::vector<TokenId>> ids =
        tokenizer.Encode(std::string(text), {.add_special_tokens = false});
    return ids.ok() ? *ids : std::vector<TokenId>();
  };
  return std::make_unique<GrammarCompiler>(std::move(options));
}

}  // namespace shortlist
