#include "grammar/token_trie.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace shortlist {
namespace {

template <typename T>
int64_t BytesOfVector(const std::vector<T>& values) {
  return static_cast<int64_t>(values.capacity() * sizeof(T));
}

}  // namespace

TokenTrie::TokenTrie(std::span<const std::string_view> tokens) {
  CopyTokens(tokens);
  AddNodes();
  IndexByByte();
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

void TokenTrie::AddNodes() {
  for (int32_t id = 0; id < vocab_size(); ++id) {
    if (!BytesOf(TokenId{id}).empty()) tokens_.push_back(TokenId{id});
  }
  std::ranges::sort(tokens_, [&](TokenId a, TokenId b) {
    return std::pair(BytesOf(a), a) < std::pair(BytesOf(b), b);
  });
  node_bytes_.push_back(0);
  ends_.push_back(0);
  first_tokens_.push_back(0);
  std::vector<int32_t> path{0};  // nodes of the beginnings of `last`
  std::string_view last;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view bytes = BytesOf(tokens_[i]);
    const size_t common = std::ranges::mismatch(last, bytes).in1 - last.begin();
    for (; path.size() > common + 1; path.pop_back()) ends_[path.back()] = num_nodes();
    for (const char byte : bytes.substr(common)) {
      path.push_back(num_nodes());
      node_bytes_.push_back(static_cast<uint8_t>(byte));
      ends_.push_back(0);
      first_tokens_.push_back(static_cast<int32_t>(i));
    }
    last = bytes;
  }
  for (const int32_t node : path) ends_[node] = num_nodes();
  first_tokens_.push_back(static_cast<int32_t>(tokens_.size()));
  for (auto* vector : {&ends_, &first_tokens_}) vector->shrink_to_fit();
  node_bytes_.shrink_to_fit();
  tokens_.shrink_to_fit();
}

void TokenTrie::IndexByByte() {
  for (int32_t node = 1; node < num_nodes(); ++node) ++byte_begins_[node_bytes_[node] + 1];
  for (int byte = 0; byte < 256; ++byte) byte_begins_[byte + 1] += byte_begins_[byte];
  by_byte_.resize(num_nodes() - 1);
  std::array<int32_t, 257> next = byte_begins_;
  for (int32_t node = 1; node < num_nodes(); ++node) by_byte_[next[node_bytes_[node]]++] = node;
}

std::optional<int32_t> TokenTrie::Find(std::string_view bytes) const {
  int32_t node = 0;
  for (const char byte : bytes) {
    int32_t child = node + 1;
    const int32_t end = ends_[node];
    while (child < end && node_bytes_[child] != static_cast<uint8_t>(byte)) child = ends_[child];
    if (child >= end) return std::nullopt;
    node = child;
  }
  return node;
}

int64_t TokenTrie::num_bytes() const {
  return static_cast<int64_t>(sizeof(*this) + bytes_.capacity()) + BytesOfVector(offsets_) +
         BytesOfVector(node_bytes_) + BytesOfVector(ends_) + BytesOfVector(first_tokens_) +
         BytesOfVector(tokens_) + BytesOfVector(by_byte_);
}

}  // namespace shortlist
