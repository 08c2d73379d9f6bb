#ifndef SHORTLIST_DRAFT_PROMPT_LOOKUP_H_
#define SHORTLIST_DRAFT_PROMPT_LOOKUP_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"

namespace shortlist {

/// Finds earlier occurrences of the end of a request's text (prompt and output). The token that
/// followed there is likely to follow again (prompt lookup decoding, Saxena 2023).
class PromptLookup {
 public:
  struct Match {
    TokenId next{-1};    // the token that followed
    int64_t length = 0;  // matching tokens before it, at most kMaxLength; 0: no match
  };

  static constexpr int64_t kMinLength = 2;
  static constexpr int64_t kMaxLength = 16;
  static constexpr int64_t kMaxCandidates = 4;

  /// Looks up the end of `text` followed by `drafted`. Considers the kMaxCandidates latest places
  /// in `text` that have the same last kMinLength tokens and a following token. Returns the place
  /// with the longest match; ties go to the latest. `text` must begin with the text of earlier
  /// calls; its new part is indexed, at 20 to 50 bytes a token. Not thread-safe.
  Match Find(std::span<const TokenId> text, std::span<const TokenId> drafted);

 private:
  void Index(std::span<const TokenId> text);

  // Positions of tokens that follow kMinLength others. latest_: the latest position for each such
  // token sequence. earlier_: the previous position with the same sequence, -1 if there is none.
  absl::flat_hash_map<uint64_t, int32_t> latest_;
  std::vector<int32_t> earlier_;  // [tokens indexed]
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_PROMPT_LOOKUP_H_
