#ifndef SHORTLIST_GRAMMAR_TOKEN_UNION_H_
#define SHORTLIST_GRAMMAR_TOKEN_UNION_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"

namespace shortlist {

/// Only `ids`, or all tokens except `ids`, whichever is shorter.
struct AllowedTokens {
  bool is_exception = false;
  std::vector<TokenId> ids;  // ascending
};

/// A union of token sets in the making. A small one costs as much as its tokens, and one of nearly
/// all tokens as much as those that it lacks.
class TokenUnion {
 public:
  explicit TokenUnion(int64_t vocab_size) : vocab_size_(vocab_size) {}

  void Add(TokenId id) { ids_.push_back(id); }
  /// In any order.
  void Add(std::span<const TokenId> ids) {
    for (const TokenId id : ids) ids_.push_back(id);
  }
  /// Adds all tokens that are neither in `ids` nor in `others`, which are ascending.
  void AddAllExcept(std::span<const TokenId> ids, std::span<const TokenId> others = {});

  AllowedTokens Build() &&;

 private:
  int64_t vocab_size_;
  std::vector<TokenId> ids_;                        // in any order, may repeat
  std::optional<std::vector<TokenId>> exceptions_;  // ascending: all others are added too
};

/// `ids` with or without the few `others`; all ascending.
std::vector<TokenId> MergeTokens(std::span<const TokenId> ids, std::span<const TokenId> others,
                                 bool with_others);
/// Sorts `ids`, which are below `vocab_size`, and removes what repeats.
void SortTokens(std::vector<TokenId>& ids, int64_t vocab_size);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_TOKEN_UNION_H_
