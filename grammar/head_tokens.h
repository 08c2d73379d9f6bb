#ifndef SHORTLIST_GRAMMAR_HEAD_TOKENS_H_
#define SHORTLIST_GRAMMAR_HEAD_TOKENS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "grammar/expressions.h"
#include "grammar/token_bits.h"
#include "grammar/token_trie.h"

namespace shortlist {

/// What the tokens of a state `first rest` owe to `first` alone, whatever the rest: the tokens that
/// stay inside it, and the nodes of the trie at which it can end. The walk over the whole trie is
/// done once for all states that begin alike, say for all strings of a JSON text. (XGrammar calls
/// such tokens context-independent: Dong et al. 2024.)
///
/// A repetition of countable strings is walked once for all its counts. Immutable.
class HeadTokens {
 public:
  /// Walks `first`.
  HeadTokens(ExprId first, const TokenTrie& trie, Expressions& expressions);
  /// Walks all repetitions of `of`.
  static std::shared_ptr<const HeadTokens> OfRepetitions(ExprId of, const TokenTrie& trie,
                                                         Expressions& expressions);
  /// False if the bytes of some token do not tell how many repetitions it holds. Then
  /// OfRepetitions() is of no use.
  bool is_countable() const { return is_countable_; }

  /// Adds the tokens of `first rest`, without those of the rest alone. `min` and `max`: counts of
  /// OfRepetitions(), otherwise 0 and kNoLimit.
  void AddTokens(int64_t min, int64_t max, ExprId rest, const TokenTrie& trie,
                 Expressions& expressions, TokenBits& tokens) const;
  int64_t num_bytes() const;

 private:
  static constexpr uint8_t kNoExit = UINT8_MAX;

  // A node below one at which `first` may end, after `count` repetitions.
  struct Exit {
    int32_t node;
    uint8_t count;
  };

  explicit HeadTokens(bool is_countable = true) : is_countable_(is_countable) {}
  void AddNode(int32_t node, bool may_end, uint8_t count, const TokenTrie& trie);
  /// Brings long lists into a form that is quick to apply.
  void Index(const TokenTrie& trie);
  /// Number of tokens inside with counts in [begin, end).
  int64_t NumInside(int64_t begin, int64_t end) const;
  void AddInside(int64_t max, TokenBits& tokens) const;

  bool is_countable_;
  std::vector<std::vector<TokenId>> inside_;  // by the number of repetitions that they begin
  std::optional<TokenBits> inside_bits_;      // all of them, if many
  int64_t num_exits_ = 0;
  std::vector<Exit> exits_;           // if few
  std::vector<uint8_t> exit_counts_;  // [num_nodes] if many; kNoExit: no exit
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_HEAD_TOKENS_H_
