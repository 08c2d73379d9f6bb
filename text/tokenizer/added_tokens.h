#ifndef SHORTLIST_TEXT_TOKENIZER_ADDED_TOKENS_H_
#define SHORTLIST_TEXT_TOKENIZER_ADDED_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/byte_range.h"
#include "nlohmann/json_fwd.hpp"
#include "text/tokenizer/longest_keys.h"

namespace shortlist {

/// A token that is searched for in the text before any other step splits it.
struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool single_word = false;  // matches only with no word character on either side
  bool lstrip = false;       // absorbs the white space before it
  bool rstrip = false;       // absorbs the white space after it
  bool normalized = true;    // its normalised spelling is matched in the normalised text
  bool special = false;      // a control token: carries no text
};

/// Parses an entry of "added_tokens" in tokenizer.json, or of "added_tokens_decoder" in
/// tokenizer_config.json, where `id` is the key. InvalidArgument names what is wrong.
absl::StatusOr<AddedToken> ParseAddedToken(const nlohmann::json& spec,
                                           std::optional<int64_t> id = std::nullopt);

/// Finds added tokens in texts. Immutable.
class AddedTokenMatcher {
 public:
  /// `spellings` [tokens.size()]: the spelling of each token in the text. Of equal spellings, the
  /// first token is used.
  AddedTokenMatcher(std::vector<AddedToken> tokens, const std::vector<std::string>& spellings);

  bool empty() const { return tokens_.empty(); }

  struct Part {
    std::string_view text;    // never empty
    const AddedToken* token;  // null: text between tokens
  };
  /// Replaces `parts` by the parts of `text`, in order. They cover `text` without overlap, except
  /// for white space absorbed by two tokens. Matches the leftmost, then the longest token.
  ///
  /// The spelling of a special token stays text if `parse_special` is false, or if it overlaps
  /// `literal` (EncodeOptions::literal; a prefix that normalisation put before the token's content
  /// does not count). No other token is searched for inside such a spelling.
  ///
  /// Returns false, with `parts` incomplete, if there are more than `max_tokens` tokens. Time is
  /// linear in the text.
  bool Split(std::string_view text, bool parse_special, size_t max_tokens, std::vector<Part>& parts,
             std::span<const ByteRange> literal = {}) const;

 private:
  const std::vector<AddedToken> tokens_;
  std::vector<size_t> spelling_bytes_;  // [tokens_.size()]
  const LongestKeys spellings_;         // value: index in tokens_
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_ADDED_TOKENS_H_
