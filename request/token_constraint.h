#ifndef SHORTLIST_REQUEST_TOKEN_CONSTRAINT_H_
#define SHORTLIST_REQUEST_TOKEN_CONSTRAINT_H_

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace shortlist {

/// Tokens that may follow: only `ids`, or all tokens except `ids`.
class TokenSet {
 public:
  /// `ids` ascending; the memory must outlive the set.
  static TokenSet Only(std::span<const TokenId> ids) { return TokenSet(false, ids); }
  /// `ids` ascending.
  static TokenSet Only(std::vector<TokenId> ids) { return Shared(false, std::move(ids)); }
  static TokenSet AllExcept(std::vector<TokenId> ids) { return Shared(true, std::move(ids)); }
  /// `ids` ascending. Copies no ids.
  static TokenSet Shared(bool is_exception, std::shared_ptr<const std::vector<TokenId>> ids) {
    TokenSet set(is_exception, *ids);
    set.owned_ = std::move(ids);
    return set;
  }

  bool is_exception() const { return is_exception_; }  // all tokens except ids()
  std::span<const TokenId> ids() const { return ids_; }

  TokenSet(TokenSet&&) = default;
  TokenSet& operator=(TokenSet&&) = default;

 private:
  TokenSet(bool is_exception, std::span<const TokenId> ids)
      : is_exception_(is_exception), ids_(ids) {}
  static TokenSet Shared(bool is_exception, std::vector<TokenId> ids) {
    return Shared(is_exception, std::make_shared<const std::vector<TokenId>>(std::move(ids)));
  }

  bool is_exception_;
  std::shared_ptr<const std::vector<TokenId>> owned_;  // null: the caller's memory
  std::span<const TokenId> ids_;
};

/// Decides which tokens of a request's output may follow which. A state is a function of the
/// constraint and the output so far, so drafted tokens need no rollback: their states are computed
/// from the state before them and then forgotten.
///
/// Immutable; any thread may call any method.
class TokenConstraint {
 public:
  enum class State : int64_t {};

  virtual ~TokenConstraint() = default;

  /// Returns the state before the first token of the output.
  virtual State Begin() const = 0;
  /// Returns the state after one more token, which need not be allowed.
  virtual State Next(State state, TokenId token) const = 0;
  /// True if `token` may follow.
  virtual bool Allows(State state, TokenId token) const = 0;
  /// Returns the tokens that may follow. The constraint must outlive the set.
  virtual TokenSet Allowed(State state) const = 0;
  /// Returns Allowed() if it names at most `most` tokens, as the only ones; else nullopt, which may
  /// cost less than the set.
  virtual std::optional<TokenSet> AllowedIfFew(State state, int64_t most) const {
    TokenSet set = Allowed(state);
    if (set.is_exception() || std::ssize(set.ids()) > most) return std::nullopt;
    return set;
  }
  /// Returns the tokens that must follow, in order, up to the next choice; empty if there is one.
  virtual std::vector<TokenId> Forced(State state) const = 0;
  /// Returns why no token may ever follow, if the constraint cannot be followed any more; else "".
  virtual std::string Failure() const { return ""; }
  /// True if the output is complete: nothing may follow, and the request ends.
  virtual bool IsComplete(State /*state*/) const { return false; }
};

}  // namespace shortlist

#endif  // SHORTLIST_REQUEST_TOKEN_CONSTRAINT_H_
