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

/// The normalisation table of a SentencePiece model: strings that stand for others, in a
/// double-array trie (Darts-clone's format: byte size of the trie as a little-endian u32, its u32
/// units, then the replacements, each ended by a NUL). Immutable.
class Charsmap {
 public:
  /// InvalidArgument when `bytes` are too few for the trie, or a unit leads outside.
  static absl::StatusOr<Charsmap> Parse(std::string_view bytes);

  /// `text` (valid UTF-8) with what the table knows replaced: a grapheme cluster of up to 5 bytes
  /// as a whole, otherwise code point by code point. None when that has more than `max_bytes`.
  std::optional<std::string> Normalize(std::string_view text, size_t max_bytes) const;

 private:
  /// What stands for the shortest key that `text` begins with.
  std::optional<std::string_view> Find(std::string_view text) const;
  void AppendNormalized(std::string_view grapheme, std::string& out) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_CHARSMAP_H_
