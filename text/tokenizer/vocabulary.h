#ifndef SHORTLIST_TEXT_TOKENIZER_VOCABULARY_H_
#define SHORTLIST_TEXT_TOKENIZER_VOCABULARY_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shortlist {

/// Ids are below this bound: far above any real vocabulary, and a table of this size fits in
/// memory.
inline constexpr int64_t kMaxVocabularySize = int64_t{1} << 22;

/// Tokens and their ids, both ways. Ids may have gaps; see CheckComplete(). Immutable.
class Vocabulary {
 public:
  using Entries = std::vector<std::pair<std::string, int64_t>>;

  Vocabulary() = default;
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  /// InvalidArgument names a token that appears twice, an id that two tokens have, or an id that is
  /// not in [0, kMaxVocabularySize).
  static absl::StatusOr<Vocabulary> Create(Entries entries);

  /// Returns the highest id plus one.
  int32_t size() const { return static_cast<int32_t>(tokens_.size()); }
  std::optional<int32_t> Find(std::string_view token) const {
    const auto found = ids_.find(absl::string_view(token.data(), token.size()));
    if (found == ids_.end()) return std::nullopt;
    return found->second;
  }
  /// True for the id of a token, false in a gap.
  bool Has(int32_t id) const { return present_[id]; }
  /// Returns the token of `id`; empty in a gap.
  const std::string& token(int32_t id) const { return tokens_[id]; }

  /// InvalidArgument names the first id below size() that neither a token nor `others` has: the
  /// file lost some tokens. `others` are any ids, in any order.
  absl::Status CheckComplete(std::span<const int32_t> others) const;

 private:
  std::vector<std::string> tokens_;                      // [size]
  std::vector<bool> present_;                            // [size]
  absl::flat_hash_map<absl::string_view, int32_t> ids_;  // keys are views of tokens_
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_VOCABULARY_H_
