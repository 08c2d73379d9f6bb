#ifndef SHORTLIST_GRAMMAR_TRIE_WALK_H_
#define SHORTLIST_GRAMMAR_TRIE_WALK_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "grammar/byte_trie.h"
#include "grammar/expressions.h"

namespace shortlist {

/// A walk over the nodes of a trie whose strings lead from a state to one that is not dead. It
/// skips the subtrees of dead states, and follows a text without making the states within it.
class TrieWalk {
 public:
  TrieWalk(const ByteTrie& trie, Expressions& expressions)
      : trie_(trie), expressions_(expressions) {}

  /// Calls `visit(node)` for each such node below `node`, at which the state is `state`. `visit`
  /// returns false to stop.
  template <typename Visit>
  void Run(int32_t node, ExprId state, Visit visit) {
    const ExprId nothing = expressions_.Nothing();
    if (!Enter(node, state, visit)) return;
    while (!path_.empty()) {
      Place& place = path_.back();
      if (place.next == place.end) {
        path_.pop_back();
        continue;
      }
      const int32_t next = place.next++;
      const ExprId after = place.moves->After(trie_.ByteOf(next));
      if (after == nothing) continue;
      if (!visit(next) || !Enter(next, after, visit)) return;
    }
  }

 private:
  struct Place {
    int32_t next, end;  // children that are not visited yet
    const ExprMoves* moves;
  };

  /// Visits what lies on the way of texts. False: stop.
  template <typename Visit>
  bool Enter(int32_t node, ExprId state, Visit& visit) {
    std::array<char, 64> text;
    while (expressions_.BeginsWithText(state)) {
      if (IsLeaf(node)) return true;
      const size_t size = expressions_.CopyText(state, text);
      const size_t num_copied = std::min(size, text.size());
      for (size_t i = 0; i < num_copied; ++i) {
        const std::optional<int32_t> child = trie_.ChildOf(node, static_cast<uint8_t>(text[i]));
        if (!child.has_value()) return true;
        node = *child;
        if (!visit(node)) return false;
      }
      state = size == num_copied
                  ? expressions_.SplitSequence(state).rest
                  : expressions_.After(state, std::string_view(text.data(), num_copied));
    }
    if (IsLeaf(node)) return true;
    const ByteTrie::Range children = trie_.ChildrenOf(node);
    path_.push_back({children.begin, children.end, &expressions_.MovesOf(state)});
    return true;
  }

  bool IsLeaf(int32_t node) const {
    const ByteTrie::Range children = trie_.ChildrenOf(node);
    return children.begin == children.end;
  }

  const ByteTrie& trie_;
  Expressions& expressions_;
  std::vector<Place> path_;
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_TRIE_WALK_H_
