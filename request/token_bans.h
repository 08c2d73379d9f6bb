#ifndef SHORTLIST_REQUEST_TOKEN_BANS_H_
#define SHORTLIST_REQUEST_TOKEN_BANS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"
#include "request/token_constraint.h"

namespace shortlist {

/// Limits on the emitted tokens. Shared by the generations of a request, since it may be large.
/// Immutable.
class TokenBans {
 public:
  /// `allowed_token_ids`: the only ones emitted, ascending; empty: no limit. `bad_words`: token
  /// sequences that the output must not contain. The last token of one is not emitted after the
  /// others. Validate() checks both.
  TokenBans(std::vector<TokenId> allowed_token_ids, std::vector<std::vector<TokenId>> bad_words);

  const std::vector<TokenId>& allowed_token_ids() const { return allowed_token_ids_; }
  const std::vector<std::vector<TokenId>>& bad_words() const { return bad_words_; }

  /// InvalidArgument names the field, the value and its bound.
  absl::Status Validate(int64_t vocab_size) const;

  // The beginnings of bad words are nodes of an automaton (Aho and Corasick 1975). Node 0: the
  // output ends with none of them.

  /// Returns the longest beginning of a bad word with which the output ends after one more token.
  int32_t NextNode(int32_t node, TokenId token) const;
  /// Returns the tokens that would complete a bad word, ascending.
  std::span<const TokenId> BannedAt(int32_t node) const { return nodes_[node].banned; }
  int64_t num_nodes() const { return std::ssize(nodes_); }

 private:
  struct Node {
    int32_t parent = 0;
    TokenId token{-1};   // last token of the beginning
    int32_t suffix = 0;  // the longest proper suffix that is a node
    std::vector<TokenId> banned;
  };

  int32_t Child(int32_t node, TokenId token) const;  // -1: none
  void AddWord(std::span<const TokenId> word);
  void Link();

  std::vector<TokenId> allowed_token_ids_;
  std::vector<std::vector<TokenId>> bad_words_;
  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, int32_t> children_;  // by node and token
};

/// Bans, and no stop token before a minimum length.
class BanConstraint final : public TokenConstraint {
 public:
  /// bans: null: none. The first `min_new_tokens` tokens of the output are none of
  /// `stop_token_ids`.
  BanConstraint(std::shared_ptr<const TokenBans> bans, std::vector<TokenId> stop_token_ids,
                int64_t min_new_tokens);

  State Begin() const override { return State{0}; }
  State Next(State state, TokenId token) const override;
  bool Allows(State state, TokenId token) const override;
  TokenSet Allowed(State state) const override;
  std::vector<TokenId> Forced(State state) const override;

 private:
  // A state is a node of the bans, and the number of tokens so far, up to the minimum.
  int32_t NodeOf(State state) const;
  bool IsTooShort(State state) const;
  std::span<const TokenId> BannedAt(State state) const;

  std::shared_ptr<const TokenBans> bans_;
  std::vector<TokenId> stop_token_ids_;  // ascending
  int64_t min_new_tokens_;
};

}  // namespace shortlist

#endif  // SHORTLIST_REQUEST_TOKEN_BANS_H_
