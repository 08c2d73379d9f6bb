#include "request/token_bans.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

uint64_t Key(int32_t node, TokenId token) {
  return static_cast<uint64_t>(static_cast<uint32_t>(node)) << 32 |
         static_cast<uint32_t>(Raw(token));
}

void SortUnique(std::vector<TokenId>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

bool Contains(std::span<const TokenId> ascending, TokenId id) {
  return std::binary_search(ascending.begin(), ascending.end(), id);
}

absl::Status CheckId(const char* name, TokenId id, int64_t vocab_size) {
  if (Raw(id) >= 0 && Raw(id) < vocab_size) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": token id ", Raw(id), " not in [0, ", vocab_size, ")"));
}

}  // namespace

TokenBans::TokenBans(std::vector<TokenId> allowed_token_ids,
                     std::vector<std::vector<TokenId>> bad_words)
    : allowed_token_ids_(std::move(allowed_token_ids)),
      bad_words_(std::move(bad_words)),
      nodes_(1) {
  for (const std::vector<TokenId>& word : bad_words_) {
    if (!word.empty()) AddWord(word);
  }
  Link();
}

int32_t TokenBans::Child(int32_t node, TokenId token) const {
  const auto child = children_.find(Key(node, token));
  return child == children_.end() ? -1 : child->second;
}

void TokenBans::AddWord(std::span<const TokenId> word) {
  int32_t node = 0;
  for (const TokenId token : word.first(word.size() - 1)) {
    int32_t child = Child(node, token);
    if (child < 0) {
      child = static_cast<int32_t>(nodes_.size());
      children_.emplace(Key(node, token), child);
      nodes_.push_back({.parent = node, .token = token});
    }
    node = child;
  }
  nodes_[node].banned.push_back(word.back());
}

/// Shorter beginnings first: a suffix is shorter than its node.
void TokenBans::Link() {
  std::vector<int32_t> order(nodes_.size()), depths(nodes_.size(), 0);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    order[i] = static_cast<int32_t>(i);
    if (i > 0) depths[i] = depths[nodes_[i].parent] + 1;  // a parent comes before its children
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return depths[a] < depths[b]; });
  for (const int32_t at : order) {
    Node& node = nodes_[at];
    if (depths[at] > 1) node.suffix = NextNode(nodes_[node.parent].suffix, node.token);
    if (at != 0) {
      const std::vector<TokenId>& of_suffix = nodes_[node.suffix].banned;
      node.banned.insert(node.banned.end(), of_suffix.begin(), of_suffix.end());
    }
    SortUnique(node.banned);
  }
}

int32_t TokenBans::NextNode(int32_t node, TokenId token) const {
  while (true) {
    if (const int32_t child = Child(node, token); child >= 0) return child;
    if (node == 0) return 0;
    node = nodes_[node].suffix;
  }
}

absl::Status TokenBans::Validate(int64_t vocab_size) const {
  for (size_t i = 0; i < allowed_token_ids_.size(); ++i) {
    const TokenId id = allowed_token_ids_[i];
    SHORTLIST_RETURN_IF_ERROR(CheckId("allowed_token_ids", id, vocab_size));
    if (i > 0 && allowed_token_ids_[i - 1] >= id) {
      return absl::InvalidArgumentError(absl::StrCat("allowed_token_ids: token id ", Raw(id),
                                                     " at position ", i,
                                                     " is not above the one before it"));
    }
  }
  for (const std::vector<TokenId>& word : bad_words_) {
    if (word.empty()) return absl::InvalidArgumentError("bad_words: one has no tokens");
    for (const TokenId id : word) SHORTLIST_RETURN_IF_ERROR(CheckId("bad_words", id, vocab_size));
  }
  return absl::OkStatus();
}

BanConstraint::BanConstraint(std::shared_ptr<const TokenBans> bans,
                             std::vector<TokenId> stop_token_ids, int64_t min_new_tokens)
    : bans_(std::move(bans)),
      stop_token_ids_(std::move(stop_token_ids)),
      min_new_tokens_(min_new_tokens) {
  SortUnique(stop_token_ids_);
}

int32_t BanConstraint::NodeOf(State state) const {
  return static_cast<int32_t>(static_cast<int64_t>(state) / (min_new_tokens_ + 1));
}

bool BanConstraint::IsTooShort(State state) const {
  return static_cast<int64_t>(state) % (min_new_tokens_ + 1) < min_new_tokens_;
}

std::span<const TokenId> BanConstraint::BannedAt(State state) const {
  return bans_ == nullptr ? std::span<const TokenId>() : bans_->BannedAt(NodeOf(state));
}

TokenConstraint::State BanConstraint::Next(State state, TokenId token) const {
  const int64_t lengths = min_new_tokens_ + 1;
  const int64_t length = std::min(static_cast<int64_t>(state) % lengths + 1, min_new_tokens_);
  const int64_t node = bans_ == nullptr ? 0 : bans_->NextNode(NodeOf(state), token);
  return State{node * lengths + length};
}

bool BanConstraint::Allows(State state, TokenId token) const {
  if (IsTooShort(state) && Contains(stop_token_ids_, token)) return false;
  if (bans_ == nullptr) return true;
  const std::vector<TokenId>& allowed = bans_->allowed_token_ids();
  return !Contains(BannedAt(state), token) && (allowed.empty() || Contains(allowed, token));
}

TokenSet BanConstraint::Allowed(State state) const {
  const std::span<const TokenId> banned = BannedAt(state);
  std::vector<TokenId> excluded(banned.begin(), banned.end());
  if (IsTooShort(state)) {
    excluded.insert(excluded.end(), stop_token_ids_.begin(), stop_token_ids_.end());
    SortUnique(excluded);
  }
  if (bans_ == nullptr || bans_->allowed_token_ids().empty()) {
    return TokenSet::AllExcept(std::move(excluded));
  }
  const std::span<const TokenId> allowed = bans_->allowed_token_ids();
  if (excluded.empty()) return TokenSet::Only(allowed);
  std::vector<TokenId> rest;
  std::set_difference(allowed.begin(), allowed.end(), excluded.begin(), excluded.end(),
                      std::back_inserter(rest));
  return TokenSet::Only(std::move(rest));
}

std::vector<TokenId> BanConstraint::Forced(State state) const {
  std::vector<TokenId> forced;
  constexpr size_t kMost = 64;
  while (forced.size() < kMost) {
    const TokenSet next = Allowed(state);
    if (next.is_exception() || next.ids().size() != 1) break;
    forced.push_back(next.ids().front());
    state = Next(state, forced.back());
  }
  return forced;
}

}  // namespace shortlist
