#ifndef SHORTLIST_GRAMMAR_BYTE_TRIE_H_
#define SHORTLIST_GRAMMAR_BYTE_TRIE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace shortlist {

/// A trie of byte strings, which the caller knows by their index. The children of a node are
/// neighbours, ascending by byte: nodes are numbered level by level; node 0 is the root. The
/// strings below a node are neighbours too. Immutable.
///
/// Example: the strings "a", "ab", "b" make the nodes 0 "", 1 "a", 2 "b", 3 "ab".
class ByteTrie {
 public:
  /// Indices from `begin` up to `end`, without it.
  struct Range {
    int32_t begin, end;
  };

  /// `strings`: ascending; equal ones share a node. They are not needed afterwards.
  explicit ByteTrie(std::span<const std::string_view> strings);

  int32_t num_nodes() const { return static_cast<int32_t>(bytes_.size()); }
  /// Last byte of the node's string; 0 of the root.
  uint8_t ByteOf(int32_t node) const { return bytes_[node]; }
  /// Nodes with one byte more.
  Range ChildrenOf(int32_t node) const {
    return {nodes_[node].first_child, nodes_[node + 1].first_child};
  }
  /// nullopt: no string begins with that of `node` and `byte`.
  std::optional<int32_t> ChildOf(int32_t node, uint8_t byte) const;
  /// nullopt: no string begins with `bytes`.
  std::optional<int32_t> Find(std::string_view bytes) const;
  /// Strings equal to that of the node.
  Range StringsAt(int32_t node) const {
    return {nodes_[node].first_string, nodes_[node].first_longer};
  }
  /// End of the strings that begin with that of the node; those equal to it come first.
  int32_t EndOfStrings(int32_t node) const { return nodes_[node].end_string; }

  int64_t num_bytes() const;  // of memory

 private:
  struct Node {
    int32_t first_child;
    int32_t first_string, first_longer, end_string;
  };

  std::vector<uint8_t> bytes_;  // [num_nodes]
  std::vector<Node> nodes_;     // [num_nodes + 1], the last one without strings
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_BYTE_TRIE_H_
