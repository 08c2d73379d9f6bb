#ifndef SHORTLIST_GRAMMAR_TOKEN_SETS_H_
#define SHORTLIST_GRAMMAR_TOKEN_SETS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "grammar/byte_lru.h"
#include "grammar/expressions.h"
#include "grammar/grammar.h"
#include "grammar/head_cache.h"
#include "grammar/head_tokens.h"
#include "grammar/token_trie.h"
#include "grammar/token_union.h"

namespace shortlist {

/// Computes and remembers which tokens of a vocabulary may follow a state of a grammar: those whose
/// bytes begin a rest of the state. Shared by all requests with this grammar and tokenizer.
/// Thread-safe.
class TokenSets {
 public:
  /// `shared`: of the tokenizer. `max_bytes`: of what is remembered of this grammar alone.
  TokenSets(std::shared_ptr<const Grammar> grammar, std::shared_ptr<HeadCache> shared,
            int64_t max_bytes = int64_t{16} << 20);

  /// Empty if the grammar is full.
  std::shared_ptr<const AllowedTokens> Of(ExprId state);
  /// True if a token longer than the string of `node` may follow, where `state` follows that
  /// string.
  bool HasTokenBelow(int32_t node, ExprId state) const;

  const Grammar& grammar() const { return *grammar_; }
  const TokenTrie& trie() const { return *shared_->trie(); }
  int64_t num_bytes() const {
    return sets_.num_bytes() + heads_.num_bytes() + repetitions_.num_bytes();
  }

 private:
  std::shared_ptr<const AllowedTokens> Compute(ExprId state);
  /// Splits `state` into states whose tokens together are those of `state`, each with a first part
  /// that must be left by at least one byte. Empty: there are too many.
  std::vector<ExprId> SplitState(ExprId state) const;
  void AddTokensOf(ExprId state, TokenUnion& tokens);
  /// `state`: one of those that SplitState() returns.
  void AddTokensOfPart(ExprId state, TokenUnion& tokens);
  /// Adds the tokens of `state` from those of `wider`, which has more strings.
  void AddTokensWithin(ExprId wider, ExprId state, TokenUnion& tokens);
  /// Adds the tokens of `state` by a walk over the trie.
  void WalkAll(ExprId state, TokenUnion& tokens);
  /// Tokens that `state` does not allow, at least all that `wider` allows. Ascending.
  std::vector<TokenId> Missing(ExprId wider, ExprId state) const;
  /// True if few tokens begin as `first` does.
  bool IsNarrow(ExprId first) const;
  /// The head of `first` or of an expression with the same tokens.
  std::shared_ptr<const HeadTokens> HeadLike(ExprId first);
  std::shared_ptr<const HeadTokens> HeadOf(ExprId first);
  std::shared_ptr<const HeadTokens> RepetitionsOf(ExprId of);

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<HeadCache> shared_;
  ByteLru<ExprId, AllowedTokens> sets_;
  ByteLru<ExprId, HeadTokens> heads_;
  ByteLru<ExprId, HeadTokens> repetitions_;  // by what is repeated
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_TOKEN_SETS_H_
