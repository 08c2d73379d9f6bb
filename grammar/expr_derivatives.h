#ifndef SHORTLIST_GRAMMAR_EXPR_DERIVATIVES_H_
#define SHORTLIST_GRAMMAR_EXPR_DERIVATIVES_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_set.h"
#include "grammar/expr_nodes.h"
#include "grammar/expr_normal_form.h"
#include "grammar/expressions.h"

namespace shortlist {

struct ExprRule {
  std::string name;
  std::optional<ExprId> definition;
};

/// Computes what follows an expression after each byte, once per class of bytes (Owens, Reppy,
/// Turon 2009), and finds the shortest strings of intersections and differences, which tells the
/// dead ones. Never recurses on what the depth of an expression decides. The caller holds the lock
/// of `nodes`.
class ExprDerivatives {
 public:
  ExprDerivatives(ExprNodes& nodes, ExprNormalForm& form, const std::vector<ExprRule>& rules)
      : nodes_(nodes), form_(form), rules_(rules) {}

  /// Computes the moves of `id`, which the node holds from then on. Null if there is no room.
  const ExprMoves* Compute(ExprId id);

  /// Sets the shortest length of a kBoth or kExcept that calls no rule, by a search from it, and
  /// returns it: kNothing if it is dead. Returns other expressions as they are.
  ExprId Settle(ExprId id);

  /// Appends the expressions on which the moves of `id` depend.
  void AppendParts(ExprId id, std::vector<ExprId>& parts) const;

 private:
  // Moves of which each target is followed by `tail`.
  struct Part {
    const ExprMoves* moves;
    ExprId tail;
  };
  // One state of a search; a string leads from `parent` to it by one byte.
  struct Visit {
    int64_t length;  // of the shortest string from the start known so far
    ExprId parent;
    bool is_expanded = false;
  };
  using Visits = absl::flat_hash_map<ExprId, Visit>;

  const ExprMoves* MovesOf(ExprId id) const {
    return nodes_[id].moves.load(std::memory_order_relaxed);
  }
  /// True of a text before something else: its moves need not be stored.
  bool BeginsWithText(ExprId id) const {
    const ExprNode& node = nodes_[id];
    return node.kind == ExprKind::kSequence && nodes_.KindOf(ExprId{node.a}) == ExprKind::kText;
  }
  /// The parts whose moves are known must suffice.
  const ExprMoves* Combine(ExprId id);
  void AppendMoves(ExprId id, ExprId tail, std::vector<Part>& parts);
  const ExprMoves* MovesOfText(ExprId text, ExprId tail);
  const ExprMoves* MovesOfBytes(const ByteSet& set);
  const ExprMoves* Union(std::span<const Part> parts);
  const ExprMoves* Append(const Part& part);
  const ExprMoves* MovesOfPair(ExprId pair);
  /// Targets of a kBoth or kExcept by class, which may be dead.
  std::pair<const ByteClasses&, std::vector<ExprId>> PairTargets(ExprId pair);
  /// Length of the shortest string of `start`, which it sets on the way to it; kNoLimit: all
  /// visited states are dead; nullopt: there is no room.
  std::optional<int64_t> Search(ExprId start);
  int64_t LowerBound(ExprId pair) const;
  void SetLengths(const Visits& visits, ExprId last, int64_t length);

  /// Returns the one copy of `classes`, with their bytes.
  const ByteClasses& Intern(const ByteClasses& classes);
  /// `classes` are interned.
  const ExprMoves* Store(const ByteClasses& classes, std::span<const ExprId> targets);

  ExprNodes& nodes_;
  ExprNormalForm& form_;
  const std::vector<ExprRule>& rules_;
  absl::node_hash_set<ByteClasses> classes_;
  std::deque<ExprMoves> moves_;
  std::vector<std::unique_ptr<ExprId[]>> target_blocks_;
  size_t num_free_targets_ = 0;  // at the end of the last block
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_EXPR_DERIVATIVES_H_
