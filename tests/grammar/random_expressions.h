#ifndef SHORTLIST_TESTS_GRAMMAR_RANDOM_EXPRESSIONS_H_
#define SHORTLIST_TESTS_GRAMMAR_RANDOM_EXPRESSIONS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/expressions.h"

namespace shortlist {

/// A small expression over the bytes 'a' to 'c', matched by its definition.
class Tree {
 public:
  enum class Kind {
    kNothing,
    kEmpty,
    kBytes,
    kText,
    kSequence,
    kChoice,
    kRepeat,
    kBoth,
    kExcept,
    kCall
  };
  using Ptr = std::shared_ptr<const Tree>;

  /// `num_rules`: rules that it may call, 0: none. A call stands after a byte, so no rule is left
  /// recursive.
  static Ptr Random(std::mt19937& random, int depth, int num_rules);

  /// True if `text` is in the expression, by its definition.
  bool Matches(std::string_view text, const std::vector<Ptr>& rules = {}) const {
    Memo memo;
    return Ends(text, 0, rules, memo).contains(text.size());
  }
  ExprId Build(Expressions& expressions, const std::vector<RuleId>& rules = {}) const;
  std::string Show() const;

 private:
  // Ends by tree and begin, so that calls of rules cost no exponential time.
  using Memo = std::map<std::pair<const Tree*, size_t>, std::set<size_t>>;

  /// The ends of all strings of `text` that begin at `begin` and are in the expression.
  std::set<size_t> Ends(std::string_view text, size_t begin, const std::vector<Ptr>& rules,
                        Memo& memo) const;
  std::set<size_t> FindEnds(std::string_view text, size_t begin, const std::vector<Ptr>& rules,
                            Memo& memo) const;

  Kind kind_ = Kind::kNothing;
  std::string text_;  // of kText; the bytes of kBytes
  std::vector<Ptr> parts_;
  int64_t min_ = 0, max_ = 0;
  int rule_ = 0;
};

/// Calls `visit` with every string over 'a' to 'c' of at most `max_len` bytes.
template <typename Visit>
void ForEachText(size_t max_len, Visit visit, const std::string& text = "") {
  visit(text);
  if (text.size() == max_len) return;
  for (const char c : {'a', 'b', 'c'}) ForEachText(max_len, visit, text + c);
}

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_GRAMMAR_RANDOM_EXPRESSIONS_H_
