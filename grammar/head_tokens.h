#ifndef SHORTLIST_GRAMMAR_HEAD_TOKENS_H_
#define SHORTLIST_GRAMMAR_HEAD_TOKENS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "grammar/byte_set.h"
#include "grammar/byte_trie.h"
#include "grammar/expressions.h"
#include "grammar/token_trie.h"
#include "grammar/token_union.h"

namespace shortlist {

/// What the tokens of a state `first rest` owe to `first` alone, whatever the rest: the tokens that
/// stay inside it, and of the others what follows where `first` can end. The walk over the whole
/// trie is done once for all states that begin alike, say for all strings of a JSON text. (XGrammar
/// calls such tokens context-independent: Dong et al. 2024.)
///
/// A repetition of countable strings is walked once for all its counts. Immutable.
class HeadTokens {
 public:
  /// Walks `first`.
  static std::shared_ptr<const HeadTokens> Of(ExprId first, const TokenTrie& trie,
                                              Expressions& expressions);
  /// Walks all repetitions of `of`.
  static std::shared_ptr<const HeadTokens> OfRepetitions(ExprId of, const TokenTrie& trie,
                                                         Expressions& expressions);
  /// False if the bytes of some token do not tell how many repetitions it holds. Then
  /// OfRepetitions() is of no use.
  bool is_countable() const { return is_countable_; }

  /// Adds the tokens of `first rest`, without those of the rest alone. `min` and `max`: counts of
  /// OfRepetitions(), otherwise 0 and kNoLimit. False: this needs a walk over the trie of tokens.
  bool AddTokens(int64_t min, int64_t max, ExprId rest, Expressions& expressions,
                 TokenUnion& tokens) const;
  /// Each token inside is the beginning of a string of `first` of at most so many bytes.
  int64_t max_length() const { return max_length_; }
  int64_t num_bytes() const;

 private:
  class Walk;
  // The rest of a token from where `first` may end, after `count` repetitions.
  struct Exit {
    std::string_view bytes;
    TokenId token;
    uint8_t count;
  };

  HeadTokens() = default;
  /// Sorts what a walk found.
  void Index(std::vector<Exit> exits, int64_t vocab_size);
  /// Adds the tokens inside.
  void AddInside(int64_t max, TokenUnion& tokens) const;

  int64_t vocab_size_ = 0;
  int64_t max_length_ = 0;
  bool is_countable_ = true;
  bool has_exits_ = true;                        // false: they are too long
  std::vector<std::vector<TokenId>> inside_;     // by the number of repetitions that they begin
  std::optional<std::vector<TokenId>> outside_;  // all others, if they are the fewer
  // Bytes after which `first` may go on where it may end. A token inside may also leave `first` by
  // one of these.
  ByteSet inner_bytes_;
  // The exits of tokens outside, by their bytes.
  std::optional<ByteTrie> exits_;
  std::vector<TokenId> exit_tokens_;
  std::vector<uint8_t> exit_counts_;
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_HEAD_TOKENS_H_
