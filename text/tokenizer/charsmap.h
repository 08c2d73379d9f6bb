#ifndef SHORTLIST_TEXT_TOKENIZER_CHARSMAP_H_
#define SHORTLIST_TEXT_TOKENIZER_CHARSMAP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace shortlist {

/// The normalisation table of a SentencePiece model: strings and their replacements in a
/// double-array trie (Darts-clone's format: byte size of the trie as a little-endian u32, its u32
/// units, then the replacements, each ended by a NUL). Immutable.
class Charsmap {
 public:
  /// Returns InvalidArgument if the trie is empty, not a whole number of units or longer than
  /// `bytes`, or if the replacements are not valid UTF-8. Does not check where units lead.
  static absl::StatusOr<Charsmap> Parse(std::string_view bytes);

  /// Returns `text` (valid UTF-8) with the keys of the table replaced: a grapheme cluster of up to
  /// 5 bytes as a whole, otherwise code point by code point. nullopt if the result exceeds
  /// `max_bytes` bytes.
  std::optional<std::string> Normalize(std::string_view text, size_t max_bytes) const;

 private:
  /// Returns the replacement of the shortest key that `text` begins with.
  std::optional<std::string_view> Find(std::string_view text) const;
  void AppendNormalized(std::string_view grapheme, std::string& out) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_CHARSMAP_H_
