#ifndef SHORTLIST_GRAMMAR_TRIE_WALK_H_
#define SHORTLIST_GRAMMAR_TRIE_WALK_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "grammar/expressions.h"
#include "grammar/token_trie.h"

namespace shortlist {

/// Calls `visit(node, state)` for each node below `node` whose string leads from `state`, which is
/// the state at `node`, to a state that is not dead. Subtrees of dead states are skipped. `visit`
/// returns false to stop.
template <typename Visit>
void WalkTrie(const TokenTrie& trie, Expressions& expressions, int32_t node, ExprId state,
              Visit visit) {
  std::vector<std::pair<int32_t, ExprId>> path{{trie.EndOf(node), state}};  // ends of subtrees
  const int32_t end = trie.EndOf(node);
  for (int32_t next = node + 1; next < end;) {
    while (next >= path.back().first) path.pop_back();
    const ExprId after = expressions.After(path.back().second, trie.ByteOf(next));
    const int32_t end_of_next = trie.EndOf(next);
    if (after == expressions.Nothing()) {
      next = end_of_next;
      continue;
    }
    if (!visit(next, after)) return;
    ++next;
    if (next < end_of_next) path.push_back({end_of_next, after});
  }
}

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_TRIE_WALK_H_
