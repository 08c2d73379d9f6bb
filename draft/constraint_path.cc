#include "draft/constraint_path.h"

#include <cstddef>

namespace shortlist {

ConstraintPath::ConstraintPath(std::span<const Sequence::Constraint> constraints,
                               std::span<const TokenId> drafted)
    : constraints_(constraints) {
  for (const Sequence::Constraint& constraint : constraints) states_.push_back(constraint.state);
  for (const TokenId token : drafted) Advance(token);
}

void ConstraintPath::Advance(TokenId token) {
  for (size_t i = 0; i < states_.size(); ++i) {
    states_[i] = constraints_[i].of->Next(states_[i], token);
  }
}

bool ConstraintPath::Allows(TokenId token) const {
  for (size_t i = 0; i < states_.size(); ++i) {
    if (!constraints_[i].of->Allows(states_[i], token)) return false;
  }
  return true;
}

bool ConstraintPath::IsComplete() const {
  for (size_t i = 0; i < states_.size(); ++i) {
    if (constraints_[i].of->IsComplete(states_[i])) return true;
  }
  return false;
}

std::vector<TokenId> ConstraintPath::Forced() const {
  if (IsComplete()) return {};
  std::vector<TokenId> forced;
  for (size_t i = 0; i < states_.size() && forced.empty(); ++i) {
    forced = constraints_[i].of->Forced(states_[i]);
  }
  ConstraintPath path = *this;
  for (size_t n = 0; n < forced.size(); ++n) {
    if (path.IsComplete() || !path.Allows(forced[n])) {
      forced.resize(n);
      break;
    }
    path.Advance(forced[n]);
  }
  return forced;
}

bool ConstraintPath::HasSmallAllowedSet() const {
  for (size_t i = 0; i < states_.size(); ++i) {
    if (constraints_[i].of->AllowedIfFew(states_[i], kMaxSmallSet)) return true;
  }
  return false;
}

std::optional<std::vector<TokenId>> ConstraintPath::SmallAllowedSet() const {
  for (size_t i = 0; i < states_.size(); ++i) {
    const std::optional<TokenSet> set = constraints_[i].of->AllowedIfFew(states_[i], kMaxSmallSet);
    if (!set) continue;
    std::vector<TokenId> ids;
    for (const TokenId id : set->ids()) {
      if (Allows(id)) ids.push_back(id);
    }
    return ids;
  }
  return std::nullopt;
}

}  // namespace shortlist
