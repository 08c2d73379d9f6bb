#ifndef SHORTLIST_TEXT_TOKENIZER_WORDS_BYTE_TRIE_H_
#define SHORTLIST_TEXT_TOKENIZER_WORDS_BYTE_TRIE_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace shortlist {

/// Byte strings with a value each, found as prefixes of a text. Filled once, then immutable.
class ByteTrie {
 public:
  ByteTrie() { root_.fill(kNone); }

  /// `value` is at least 0. A key that is already present keeps its first value.
  void Add(std::string_view key, int32_t value) {
    uint32_t node = 0;
    for (const char c : key) {
      const uint8_t byte = static_cast<uint8_t>(c);
      uint32_t next = Child(node, byte);
      if (next == kNone) {
        next = static_cast<uint32_t>(values_.size());
        values_.push_back(-1);
        if (node == 0)
          root_[byte] = next;
        else
          children_.emplace(uint64_t{node} << 8 | byte, next);
      }
      node = next;
    }
    if (values_[node] < 0) values_[node] = value;
  }

  bool empty() const { return values_.size() == 1 && values_[0] < 0; }
  bool BeginsKey(char byte) const { return root_[static_cast<uint8_t>(byte)] != kNone; }

  /// Calls visit(length, value) for each non-empty key that `text` has at `from`, shortest first.
  /// Returns how many bytes it looked at.
  template <typename Visit>
  size_t ForEachPrefix(std::string_view text, size_t from, Visit visit) const {
    uint32_t node = 0;
    for (size_t i = from; i < text.size(); ++i) {
      node = Child(node, static_cast<uint8_t>(text[i]));
      if (node == kNone) return i + 1 - from;
      if (values_[node] >= 0) visit(i + 1 - from, values_[node]);
    }
    return text.size() - from;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t Child(uint32_t node, uint8_t byte) const {
    if (node == 0) return root_[byte];
    const auto found = children_.find(uint64_t{node} << 8 | byte);
    return found == children_.end() ? kNone : found->second;
  }

  std::array<uint32_t, 256> root_;
  absl::flat_hash_map<uint64_t, uint32_t> children_;  // node << 8 | byte -> node
  std::vector<int32_t> values_ = {-1};                // [nodes], -1 where no key ends
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_WORDS_BYTE_TRIE_H_
