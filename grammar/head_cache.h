#ifndef SHORTLIST_GRAMMAR_HEAD_CACHE_H_
#define SHORTLIST_GRAMMAR_HEAD_CACHE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "grammar/byte_lru.h"
#include "grammar/expressions.h"
#include "grammar/head_tokens.h"
#include "grammar/token_trie.h"

namespace shortlist {

/// Remembers `HeadTokens` of one tokenizer for all grammars: the strings of all JSON schemas share
/// theirs. First parts that call rules or are large are not remembered here. Thread-safe.
class HeadCache {
 public:
  explicit HeadCache(std::shared_ptr<const TokenTrie> trie, int64_t max_bytes = int64_t{16} << 20)
      : trie_(std::move(trie)), heads_(max_bytes) {}

  const std::shared_ptr<const TokenTrie>& trie() const { return trie_; }
  /// `HeadTokens::Of(first)`, and `HeadTokens::OfRepetitions(of)`.
  std::shared_ptr<const HeadTokens> HeadOf(ExprId first, Expressions& expressions);
  std::shared_ptr<const HeadTokens> RepetitionsOf(ExprId of, Expressions& expressions);
  int64_t num_bytes() const { return heads_.num_bytes(); }

 private:
  template <typename Compute>
  std::shared_ptr<const HeadTokens> FindOrAdd(char kind, ExprId id, Expressions& expressions,
                                              Compute compute);

  std::shared_ptr<const TokenTrie> trie_;
  ByteLru<std::string, HeadTokens> heads_;  // by kind and form
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_HEAD_CACHE_H_
