#include "grammar/rule_check.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/excerpt.h"

namespace shortlist {
namespace {

class RuleCheck {
 public:
  RuleCheck(ExprNodes& nodes, const ExprDerivatives& derivatives,
            const std::vector<ExprRule>& rules)
      : nodes_(nodes), derivatives_(derivatives), rules_(rules) {}

  std::string Run(ExprId start) {
    if (std::string error = Collect(start); !error.empty()) return error;
    FindLengths();
    if (std::string error = FindLeftRecursion(); !error.empty()) {
      for (const ExprId id : reached_) nodes_.SetMinLength(id, kUnknownLength);
      return error;
    }
    return "";
  }

 private:
  bool IsUnknown(ExprId id) const { return nodes_[id].min_length == kUnknownLength; }
  std::string NameOf(ExprId call) const {
    return absl::StrCat("rule ", Excerpt(rules_[nodes_[call].a].name));
  }
  std::vector<ExprId> ChildrenOf(ExprId id) const;
  std::string Collect(ExprId start);
  int64_t LengthOf(ExprId id) const;
  void FindLengths();
  std::string FindLeftRecursion();

  ExprNodes& nodes_;
  const ExprDerivatives& derivatives_;
  const std::vector<ExprRule>& rules_;
  std::vector<ExprId> reached_;  // unknown before
};

std::vector<ExprId> RuleCheck::ChildrenOf(ExprId id) const {
  const ExprNode& node = nodes_[id];
  if (node.kind == ExprKind::kSequence) return {ExprId{node.a}, ExprId{node.b}};
  std::vector<ExprId> children;
  derivatives_.AppendParts(id, children);
  return children;
}

/// Finds what is unknown, with undefined rules and intersections that call rules.
std::string RuleCheck::Collect(ExprId start) {
  absl::flat_hash_set<ExprId> seen;
  std::vector<ExprId> stack{start};
  while (!stack.empty()) {
    const ExprId id = stack.back();
    stack.pop_back();
    if (!IsUnknown(id) || !seen.insert(id).second) continue;
    const ExprNode& node = nodes_[id];
    if (node.kind == ExprKind::kCall && !rules_[node.a].definition.has_value()) {
      return absl::StrCat(NameOf(id), " is not defined");
    }
    if (node.kind == ExprKind::kBoth || node.kind == ExprKind::kExcept) {
      return "an intersection or a difference calls a rule";
    }
    reached_.push_back(id);
    for (const ExprId child : ChildrenOf(id)) stack.push_back(child);
  }
  return "";
}

/// Length of the shortest string, by the lengths that are known; kUnknownLength if they do not
/// suffice.
int64_t RuleCheck::LengthOf(ExprId id) const {
  const ExprNode& node = nodes_[id];
  const auto length = [&](int32_t child) { return nodes_[ExprId{child}].min_length; };
  switch (node.kind) {
    case ExprKind::kSequence:
      if (length(node.a) == kUnknownLength || length(node.b) == kUnknownLength) break;
      return AddLengths(length(node.a), length(node.b));
    case ExprKind::kRepeat:
      if (node.x == 0) return 0;
      if (length(node.a) == kUnknownLength) break;
      return MultiplyLength(length(node.a), node.x);
    case ExprKind::kCall:
      return nodes_[*rules_[node.a].definition].min_length;
    case ExprKind::kChoice: {
      int64_t shortest = Expressions::kNoLimit;
      for (const ExprId option : nodes_.OptionsOf(id)) {
        if (!IsUnknown(option)) shortest = std::min(shortest, nodes_[option].min_length);
      }
      return shortest == Expressions::kNoLimit ? kUnknownLength : shortest;
    }
    default:
      break;
  }
  return kUnknownLength;
}

/// Knuth's generalisation of Dijkstra's algorithm to grammars (1977): a length is final once no
/// shorter one is open.
void RuleCheck::FindLengths() {
  absl::flat_hash_map<ExprId, std::vector<ExprId>> parents;
  using Entry = std::pair<int64_t, ExprId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> open;
  const auto try_open = [&](ExprId id) {
    const int64_t length = LengthOf(id);
    if (length != kUnknownLength && length != Expressions::kNoLimit) open.push({length, id});
  };
  for (const ExprId id : reached_) {
    for (const ExprId child : ChildrenOf(id)) {
      if (IsUnknown(child)) parents[child].push_back(id);
    }
    try_open(id);
  }
  while (!open.empty()) {
    const auto [length, id] = open.top();
    open.pop();
    if (!IsUnknown(id)) continue;
    nodes_.SetMinLength(id, length);
    const auto found = parents.find(id);
    if (found == parents.end()) continue;
    for (const ExprId parent : found->second) {
      if (!IsUnknown(parent)) continue;
      if (nodes_.KindOf(parent) == ExprKind::kChoice) {
        open.push({length, parent});
      } else {
        try_open(parent);
      }
    }
  }
  for (const ExprId id : reached_) {
    if (IsUnknown(id)) nodes_.SetMinLength(id, Expressions::kNoLimit);
  }
}

/// Depth-first over what the moves depend on, where only a call can close a cycle.
std::string RuleCheck::FindLeftRecursion() {
  struct Frame {
    ExprId id;
    std::vector<ExprId> parts;
    size_t next_part = 0;
  };
  absl::flat_hash_map<ExprId, bool> is_open;  // false: done
  std::vector<Frame> path;
  const auto enter = [&](ExprId id) {
    is_open[id] = true;
    path.push_back({id, {}});
    derivatives_.AppendParts(id, path.back().parts);
  };
  for (const ExprId start : reached_) {
    if (!is_open.contains(start)) enter(start);
    while (!path.empty()) {
      Frame& frame = path.back();
      if (frame.next_part == frame.parts.size()) {
        is_open[frame.id] = false;
        path.pop_back();
        continue;
      }
      const ExprId part = frame.parts[frame.next_part++];
      const auto found = is_open.find(part);
      if (found == is_open.end()) {
        enter(part);
      } else if (found->second) {
        auto on_cycle = path.rbegin();
        while (nodes_.KindOf(on_cycle->id) != ExprKind::kCall) ++on_cycle;
        return absl::StrCat(NameOf(on_cycle->id), " is left-recursive");
      }
    }
  }
  return "";
}

}  // namespace

std::string CheckRules(ExprId start, ExprNodes& nodes, const ExprDerivatives& derivatives,
                       const std::vector<ExprRule>& rules) {
  if (nodes.is_full()) return "the grammar is too large";
  return RuleCheck(nodes, derivatives, rules).Run(start);
}

}  // namespace shortlist
