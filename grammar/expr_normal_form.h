#ifndef SHORTLIST_GRAMMAR_EXPR_NORMAL_FORM_H_
#define SHORTLIST_GRAMMAR_EXPR_NORMAL_FORM_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "grammar/byte_set.h"
#include "grammar/expr_nodes.h"
#include "grammar/expressions.h"

namespace shortlist {

/// Builds expressions in normal form:
/// - a sequence associates to the right; the empty string vanishes from it;
/// - a choice is flat, sorted, without duplicates and dead options. Options that begin alike are
///   factored, `ab|ac` = `a(b|c)`, so a choice of texts is a trie. Bytes before the same rest
///   are one set, and counts of the same repetition before the same rest are one range.
///
/// Equal sets may still have several forms. The caller holds the lock of `nodes`.
class ExprNormalForm {
 public:
  explicit ExprNormalForm(ExprNodes& nodes) : nodes_(nodes) {}

  ExprId Bytes(const ByteSet& bytes);
  ExprId Text(std::string_view text);
  /// The text `of` without its first `num_bytes`, at most all. `of` is a kText or a kBytes of one.
  ExprId TextSuffix(ExprId of, int32_t num_bytes);
  ExprId Sequence(ExprId first, ExprId second);
  ExprId Choice(std::span<const ExprId> options) { return Choice(options, 0); }
  ExprId Repeat(ExprId of, int64_t min, int64_t max);
  /// kBoth or kExcept. May be dead without being kNothing: `ExprDerivatives::Settle` finds out.
  ExprId Pair(ExprKind kind, ExprId a, ExprId b);

 private:
  // An option of a choice: `head` is no sequence; `tail` is kEmpty if the head is all.
  struct Option {
    ExprId head, tail;
    auto operator<=>(const Option&) const = default;
  };
  using Options = std::vector<Option>;

  ExprId Choice(std::span<const ExprId> options, int depth);
  Options Split(std::span<const ExprId> options) const;
  bool BeginsAsText(const Option& option) const;
  uint8_t FirstByteOf(ExprId head) const;
  /// Replaces the options whose texts begin with the same byte by one.
  void FactorTexts(Options& options, int depth);
  Option FactorTextGroup(std::span<const Option> group, int depth);
  void MergeBytes(Options& options);
  void MergeRepeats(Options& options);
  void FactorHeads(Options& options, int depth);
  ExprId JoinOptions(const Options& options);
  ExprId Both(ExprId a, ExprId b);
  ExprId Except(ExprId a, ExprId b);

  ExprNodes& nodes_;
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_EXPR_NORMAL_FORM_H_
