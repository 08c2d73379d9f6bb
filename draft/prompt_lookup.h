#ifndef SHORTLIST_DRAFT_PROMPT_LOOKUP_H_
#define SHORTLIST_DRAFT_PROMPT_LOOKUP_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"

namespace shortlist {

/// Finds where the end of a request's text, prompt and output, stood in it before: what followed
/// there is likely to follow again (prompt lookup decoding, Saxena 2023).
class PromptLookup {
 public:
  struct Match {
    TokenId next{-1};    // what followed
    int64_t length = 0;  // tokens before it that agree, counted to kMaxLength; 0: nothing found
  };

  static constexpr int64_t kMinLength = 2;
  static constexpr int64_t kMaxLength = 16;
  static constexpr int64_t kMaxCandidates = 4;

  /// Looks for the end of `text` with `drafted` behind it: among the kMaxCandidates latest places
  /// of `text` where its last kMinLength tokens stand before another, the one where most tokens
  /// agree; of several, the latest. `text` begins with the text of earlier calls: what is new is
  /// indexed, at 20 to 50 bytes a token. Not thread-safe.
  Match Find(std::span<const TokenId> text, std::span<const TokenId> drafted);

 private:
  void Index(std::span<const TokenId> text);

  // Positions, each of a token behind kMinLength others: the latest for every such sequence of
  // tokens, and the one before it with the same, -1 where there is none.
  absl::flat_hash_map<uint64_t, int32_t> latest_;
  std::vector<int32_t> earlier_;  // [tokens indexed]
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_PROMPT_LOOKUP_H_
