#ifndef SHORTLIST_DRAFT_CONSTRAINT_PATH_H_
#define SHORTLIST_DRAFT_CONSTRAINT_PATH_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "request/sequence.h"
#include "request/token_constraint.h"

namespace shortlist {

/// The states of a sequence's constraints after its tokens and then some drafted ones. Computed
/// from the tokens whenever it is needed, so a rejected draft leaves nothing to undo.
class ConstraintPath {
 public:
  /// `constraints` must outlive the path. Starts after the sequence's tokens and then `drafted`.
  explicit ConstraintPath(std::span<const Sequence::Constraint> constraints,
                          std::span<const TokenId> drafted = {});

  /// Goes on by one token, which need not be allowed.
  void Advance(TokenId token);
  /// True if all constraints allow `token` here.
  bool Allows(TokenId token) const;
  /// True if the request ends here: the output is complete.
  bool IsComplete() const;
  /// Returns tokens that must follow by one constraint, as far as all constraints allow them. Empty
  /// if nothing is forced, or the output is complete.
  std::vector<TokenId> Forced() const;

  /// Most tokens of a set that a draft scores alone. Measured sets have at most 64 tokens or most
  /// of the vocabulary; rows up to this number cost less than those of any active vocabulary.
  static constexpr int64_t kMaxSmallSet = 256;
  /// Returns the tokens that may follow, ascending; nullopt if every constraint allows more than
  /// kMaxSmallSet. An empty list means that no token may follow.
  std::optional<std::vector<TokenId>> SmallAllowedSet() const;
  /// True if SmallAllowedSet() has a value.
  bool HasSmallAllowedSet() const;

 private:
  std::span<const Sequence::Constraint> constraints_;
  std::vector<TokenConstraint::State> states_;  // [constraints_.size()]
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_CONSTRAINT_PATH_H_
