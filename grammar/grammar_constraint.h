#ifndef SHORTLIST_GRAMMAR_GRAMMAR_CONSTRAINT_H_
#define SHORTLIST_GRAMMAR_GRAMMAR_CONSTRAINT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "grammar/grammar.h"
#include "grammar/token_sets.h"
#include "request/token_constraint.h"

namespace shortlist {

/// Keeps an output within a grammar: the bytes of its tokens begin a text of the grammar, and it
/// may end only where the text may. A state is a state of the grammar, or the one after an end
/// token, which allows nothing.
///
/// Tokens without bytes (control tokens, unused rows) never follow unless they are end tokens. If
/// the grammar becomes full, or one call needs too much work, no token may follow from then on.
class GrammarConstraint final : public TokenConstraint {
 public:
  /// Returns the tokens that the tokenizer writes for a text inside an output; empty: it cannot.
  using Encode = std::function<std::vector<TokenId>(std::string_view text)>;

  /// `sets`: the trie has every token of the target's vocabulary. `end_ids`: tokens that end the
  /// output; they follow exactly where the grammar accepts, never as text. `encode` is called from
  /// any thread.
  GrammarConstraint(std::shared_ptr<TokenSets> sets, std::vector<TokenId> end_ids, Encode encode);

  State Begin() const override { return StateOf(sets_->grammar().Begin()); }
  State Next(State state, TokenId token) const override;
  bool Allows(State state, TokenId token) const override;
  TokenSet Allowed(State state) const override;
  std::optional<TokenSet> AllowedIfFew(State state, int64_t most) const override;
  /// The tokenizer's encoding of the bytes that must follow, without a last token that a longer one
  /// could replace. Empty if its tokens do not spell these bytes.
  std::vector<TokenId> Forced(State state) const override;
  std::string Failure() const override;
  /// True after an end token, and where the text is complete and no byte may follow.
  bool IsComplete(State state) const override;

 private:
  static constexpr State kEnded{-1};

  static State StateOf(ExprId id) { return State{static_cast<int64_t>(id)}; }
  static ExprId ExprOf(State state) { return ExprId{static_cast<int32_t>(state)}; }
  /// The grammar, for one call: what a call may compute is limited.
  const Grammar& Used() const;
  bool IsEnd(TokenId token) const;
  std::string ForcedBytes(ExprId state) const;
  bool Spell(const std::vector<TokenId>& tokens, std::string_view text) const;

  std::shared_ptr<TokenSets> sets_;
  std::vector<TokenId> end_ids_;  // ascending
  Encode encode_;
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_GRAMMAR_CONSTRAINT_H_
