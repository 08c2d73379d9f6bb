#ifndef SHORTLIST_GRAMMAR_TOKEN_TRIE_H_
#define SHORTLIST_GRAMMAR_TOKEN_TRIE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "grammar/byte_trie.h"

namespace shortlist {

/// The bytes of a vocabulary's tokens, by token and as a trie. Immutable; one for each tokenizer.
class TokenTrie {
 public:
  /// `tokens`: bytes by id, copied; empty: the token has none and is at no node. Tokens with equal
  /// bytes share a node.
  explicit TokenTrie(std::span<const std::string_view> tokens);

  int64_t vocab_size() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t max_token_bytes() const { return max_token_bytes_; }
  /// Returns the bytes of `id`, which is in [0, vocab_size()).
  std::string_view BytesOf(TokenId id) const {
    const uint32_t offset = offsets_[Raw(id)];
    return std::string_view(bytes_).substr(offset, offsets_[Raw(id) + 1] - offset);
  }

  const ByteTrie& nodes() const { return *nodes_; }
  /// Tokens whose bytes are the node's string.
  std::span<const TokenId> TokensAt(int32_t node) const {
    return TokensOf(nodes_->StringsAt(node));
  }
  /// Tokens whose bytes begin with the node's string.
  std::span<const TokenId> TokensFrom(int32_t node) const {
    return TokensOf({nodes_->StringsAt(node).begin, nodes_->EndOfStrings(node)});
  }

  int64_t num_bytes() const;  // of memory

 private:
  void CopyTokens(std::span<const std::string_view> tokens);
  std::span<const TokenId> TokensOf(ByteTrie::Range range) const {
    return std::span(tokens_).subspan(range.begin, range.end - range.begin);
  }

  std::string bytes_;              // of all tokens, by id
  std::vector<uint32_t> offsets_;  // [vocab_size + 1] in bytes_
  int64_t max_token_bytes_ = 0;
  std::vector<TokenId> tokens_;  // those with bytes, by bytes, then by id
  std::unique_ptr<const ByteTrie> nodes_;
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_TOKEN_TRIE_H_
