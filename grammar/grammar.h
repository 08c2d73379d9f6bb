#ifndef SHORTLIST_GRAMMAR_GRAMMAR_H_
#define SHORTLIST_GRAMMAR_GRAMMAR_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "grammar/expressions.h"

namespace shortlist {

/// A set of texts, which says after each beginning what may follow. A state is an expression: the
/// rests of the texts that begin so. Shared by requests; immutable to callers, while it remembers
/// states up to a number of bytes. If they do not suffice it fails closed for all its requests: no
/// byte may follow and no state accepts.
///
/// Thread-safe.
class Grammar {
 public:
  /// Accepts the texts of `start`. InvalidArgument: a rule is broken (`Expressions::Check`), or no
  /// text is accepted. ResourceExhausted: the expressions are full.
  static absl::StatusOr<std::shared_ptr<const Grammar>> Create(
      std::unique_ptr<Expressions> expressions, ExprId start);
  /// Accepts `texts`, at least one.
  static absl::StatusOr<std::shared_ptr<const Grammar>> OfChoice(
      std::span<const std::string> texts);
  /// Accepts what the rule `root` of `text` does (`grammar/ebnf.h`).
  static absl::StatusOr<std::shared_ptr<const Grammar>> OfEbnf(std::string_view text);

  ExprId Begin() const { return start_; }
  /// Returns the state after one more byte; Nothing() if it may not follow.
  ExprId Next(ExprId state, uint8_t byte) const {
    return is_full() ? expressions_->Nothing() : expressions_->After(state, byte);
  }
  ExprId Next(ExprId state, std::string_view bytes) const {
    return is_full() ? expressions_->Nothing() : expressions_->After(state, bytes);
  }
  /// True if the text may end here.
  bool Accepts(ExprId state) const { return !is_full() && expressions_->IsNullable(state); }
  bool IsDead(ExprId state) const { return state == expressions_->Nothing(); }
  /// Bytes of the shortest text.
  int64_t min_length() const { return expressions_->MinLength(start_); }

  /// True if the memory does not suffice.
  bool is_full() const { return expressions_->is_full(); }
  int64_t num_bytes() const { return expressions_->num_bytes(); }
  /// For what is computed of states. Grows; see there.
  Expressions& expressions() const { return *expressions_; }

 private:
  Grammar(std::unique_ptr<Expressions> expressions, ExprId start)
      : expressions_(std::move(expressions)), start_(start) {}

  std::unique_ptr<Expressions> expressions_;
  ExprId start_;
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_GRAMMAR_H_
