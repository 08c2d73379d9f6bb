#include "grammar/byte_trie.h"

#include <algorithm>

namespace shortlist {

ByteTrie::ByteTrie(std::span<const std::string_view> strings) : bytes_{0} {
  nodes_.push_back({.first_child = 0,
                    .first_string = 0,
                    .first_longer = 0,
                    .end_string = static_cast<int32_t>(strings.size())});
  size_t length = 0;        // of the strings of this level's nodes
  size_t end_of_level = 1;  // in nodes_
  for (size_t node = 0; node < nodes_.size(); ++node) {
    if (node == end_of_level) {
      ++length;
      end_of_level = nodes_.size();
    }
    int32_t begin = nodes_[node].first_string;
    const int32_t end = nodes_[node].end_string;
    while (begin < end && strings[begin].size() == length) ++begin;
    nodes_[node].first_longer = begin;
    nodes_[node].first_child = num_nodes();
    while (begin < end) {
      const char byte = strings[begin][length];
      const int32_t first = begin;
      while (begin < end && strings[begin][length] == byte) ++begin;
      bytes_.push_back(static_cast<uint8_t>(byte));
      nodes_.push_back(
          {.first_child = 0, .first_string = first, .first_longer = first, .end_string = begin});
    }
  }
  nodes_.push_back(
      {.first_child = num_nodes(), .first_string = 0, .first_longer = 0, .end_string = 0});
  bytes_.shrink_to_fit();
  nodes_.shrink_to_fit();
}

std::optional<int32_t> ByteTrie::ChildOf(int32_t node, uint8_t byte) const {
  const Range children = ChildrenOf(node);
  const auto end = bytes_.begin() + children.end;
  const auto found = std::lower_bound(bytes_.begin() + children.begin, end, byte);
  if (found == end || *found != byte) return std::nullopt;
  return static_cast<int32_t>(found - bytes_.begin());
}

std::optional<int32_t> ByteTrie::Find(std::string_view bytes) const {
  std::optional<int32_t> node = 0;
  for (size_t i = 0; i < bytes.size() && node.has_value(); ++i) {
    node = ChildOf(*node, static_cast<uint8_t>(bytes[i]));
  }
  return node;
}

int64_t ByteTrie::num_bytes() const {
  return static_cast<int64_t>(bytes_.capacity() + nodes_.capacity() * sizeof(Node));
}

}  // namespace shortlist
