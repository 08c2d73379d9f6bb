#include "grammar/token_trie.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace shortlist {

TokenTrie::TokenTrie(std::span<const std::string_view> tokens) {
  CopyTokens(tokens);
  std::vector<std::pair<std::string_view, TokenId>> sorted;
  for (int32_t id = 0; id < vocab_size(); ++id) {
    if (!BytesOf(TokenId{id}).empty()) sorted.emplace_back(BytesOf(TokenId{id}), TokenId{id});
  }
  std::ranges::sort(sorted);
  std::vector<std::string_view> strings;
  for (const auto& [bytes, id] : sorted) {
    strings.push_back(bytes);
    tokens_.push_back(id);
  }
  tokens_.shrink_to_fit();
  nodes_ = std::make_unique<const ByteTrie>(strings);
}

void TokenTrie::CopyTokens(std::span<const std::string_view> tokens) {
  size_t num_bytes = 0;
  for (const std::string_view token : tokens) num_bytes += token.size();
  bytes_.reserve(num_bytes);
  offsets_.reserve(tokens.size() + 1);
  offsets_.push_back(0);
  for (const std::string_view token : tokens) {
    // A token that does not fit 32-bit offsets counts as one without bytes.
    if (bytes_.size() + token.size() <= std::numeric_limits<uint32_t>::max()) bytes_.append(token);
    offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
    max_token_bytes_ = std::max(max_token_bytes_, static_cast<int64_t>(token.size()));
  }
}

int64_t TokenTrie::num_bytes() const {
  return static_cast<int64_t>(sizeof(*this) + bytes_.capacity() +
                              offsets_.capacity() * sizeof(uint32_t) +
                              tokens_.capacity() * sizeof(TokenId)) +
         nodes_->num_bytes();
}

}  // namespace shortlist
