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

/// A token that is looked for in the text before anything else cuts it.
struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool single_word = false;  // counts only with no word character on either side
  bool lstrip = false;       // takes the white space before it along
  bool rstrip = false;       // takes the white space behind it along
  bool normalized = true;    // stands for its normalised spelling in the normalised text
  bool special = false;      // a control token: carries no text
};

/// An entry of "added_tokens" in tokenizer.json, or of "added_tokens_decoder" in
/// tokenizer_config.json, where the id is the key. InvalidArgument names what is wrong.
absl::StatusOr<AddedToken> ParseAddedToken(const nlohmann::json& spec,
                                           std::optional<int64_t> id = std::nullopt);

/// Finds added tokens in texts. Immutable.
class AddedTokenMatcher {
 public:
  /// `spellings` [tokens.size()]: what stands for each in the text. The first of equal ones counts.
  AddedTokenMatcher(std::vector<AddedToken> tokens, const std::vector<std::string>& spellings);

  bool empty() const { return tokens_.empty(); }

  struct Part {
    std::string_view text;    // never empty
    const AddedToken* token;  // null: text between tokens
  };
  /// Replaces `parts` by the parts of `text`, which they cover but for stripped white space that
  /// two tokens share. Leftmost, then longest tokens. Where `parse_special` is false, the spelling
  /// of a special token is text, and no other token is looked for inside it; likewise one with
  /// bytes in `literal` (EncodeOptions::literal), but for what normalisation put before a token's
  /// content. False, with `parts` as far as it came, when there are more than `max_tokens` tokens.
  /// Time is linear in the text.
  bool Split(std::string_view text, bool parse_special, size_t max_tokens, std::vector<Part>& parts,
             std::span<const ByteRange> literal = {}) const;

 private:
  const std::vector<AddedToken> tokens_;
  std::vector<size_t> spelling_bytes_;  // [tokens_.size()]
  const LongestKeys spellings_;         // value: index in tokens_
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_ADDED_TOKENS_H_
