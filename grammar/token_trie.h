#ifndef SHORTLIST_GRAMMAR_TOKEN_TRIE_H_
#define SHORTLIST_GRAMMAR_TOKEN_TRIE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace shortlist {

/// The bytes of a vocabulary's tokens as a trie. Nodes are numbered depth-first, so that a subtree
/// is a range of nodes and of tokens; node 0 is the root. Immutable; one for each tokenizer.
///
/// Example: the tokens "a", "ab", "b" make the nodes 0 "", 1 "a", 2 "ab", 3 "b"; EndOf(1) is 3.
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

  int32_t num_nodes() const { return static_cast<int32_t>(ends_.size()); }
  /// Last byte of the node's string; 0 of the root.
  uint8_t ByteOf(int32_t node) const { return node_bytes_[node]; }
  /// The first node after `node` and all below it.
  int32_t EndOf(int32_t node) const { return ends_[node]; }
  /// Tokens whose bytes are the node's string.
  std::span<const TokenId> TokensAt(int32_t node) const {
    return std::span(tokens_).subspan(first_tokens_[node],
                                      first_tokens_[node + 1] - first_tokens_[node]);
  }
  /// All nodes with this last byte, ascending, without the root.
  std::span<const int32_t> NodesWithByte(uint8_t byte) const {
    return std::span(by_byte_).subspan(byte_begins_[byte],
                                       byte_begins_[byte + 1] - byte_begins_[byte]);
  }
  /// nullopt: no token begins with `bytes`.
  std::optional<int32_t> Find(std::string_view bytes) const;

  int64_t num_bytes() const;  // of memory

 private:
  void CopyTokens(std::span<const std::string_view> tokens);
  void AddNodes();
  void IndexByByte();

  std::string bytes_;              // of all tokens, by id
  std::vector<uint32_t> offsets_;  // [vocab_size + 1] in bytes_
  int64_t max_token_bytes_ = 0;
  std::vector<uint8_t> node_bytes_;         // [num_nodes]
  std::vector<int32_t> ends_;               // [num_nodes]
  std::vector<int32_t> first_tokens_;       // [num_nodes + 1] in tokens_
  std::vector<TokenId> tokens_;             // by node, then by id
  std::vector<int32_t> by_byte_;            // [num_nodes - 1]
  std::array<int32_t, 257> byte_begins_{};  // in by_byte_
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_TOKEN_TRIE_H_
