#include "grammar/grammar_constraint.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace shortlist {
namespace {

// Drafts are shorter; the bound keeps the work of one call small.
constexpr size_t kMaxForcedBytes = 512;
// Of one call, about 20 ms: other requests wait meanwhile.
constexpr int64_t kMaxWork = 200'000;

}  // namespace

GrammarConstraint::GrammarConstraint(std::shared_ptr<TokenSets> sets, std::vector<TokenId> end_ids,
                                     Encode encode)
    : sets_(std::move(sets)), end_ids_(std::move(end_ids)), encode_(std::move(encode)) {
  std::ranges::sort(end_ids_);
  end_ids_.erase(std::ranges::unique(end_ids_).begin(), end_ids_.end());
}

const Grammar& GrammarConstraint::Used() const {
  const Grammar& grammar = sets_->grammar();
  grammar.expressions().LimitWork(kMaxWork);
  return grammar;
}

std::string GrammarConstraint::Failure() const {
  if (!sets_->grammar().is_full()) return "";
  return "the grammar is too complex: its states take too much memory, or one of them has too many "
         "ways to go on";
}

bool GrammarConstraint::IsEnd(TokenId token) const {
  return std::ranges::binary_search(end_ids_, token);
}

TokenConstraint::State GrammarConstraint::Next(State state, TokenId token) const {
  if (state == kEnded || IsEnd(token)) return kEnded;
  const std::string_view bytes = sets_->trie().BytesOf(token);
  if (bytes.empty()) return StateOf(Used().expressions().Nothing());
  return StateOf(Used().Next(ExprOf(state), bytes));
}

bool GrammarConstraint::Allows(State state, TokenId token) const {
  if (state == kEnded) return false;
  const Grammar& grammar = Used();
  if (IsEnd(token)) return grammar.Accepts(ExprOf(state));
  const std::string_view bytes = sets_->trie().BytesOf(token);
  return !bytes.empty() && !grammar.IsDead(grammar.Next(ExprOf(state), bytes));
}

TokenSet GrammarConstraint::Allowed(State state) const {
  if (state == kEnded) return TokenSet::Only(std::vector<TokenId>());
  const bool accepts = Used().Accepts(ExprOf(state));
  const std::shared_ptr<const AllowedTokens> set = sets_->Of(ExprOf(state));
  const bool with_ends = set->is_exception != accepts;
  const bool has_ends = std::ranges::all_of(end_ids_, [&](TokenId end) {
    return std::ranges::binary_search(set->ids, end) == with_ends;
  });
  if (has_ends) return TokenSet::Shared(set->is_exception, {set, &set->ids});
  std::vector<TokenId> ids = MergeTokens(set->ids, end_ids_, with_ends);
  return set->is_exception ? TokenSet::AllExcept(std::move(ids)) : TokenSet::Only(std::move(ids));
}

std::optional<TokenSet> GrammarConstraint::AllowedIfFew(State state, int64_t most) const {
  if (state != kEnded) {
    const int64_t num_ends = Used().Accepts(ExprOf(state)) ? std::ssize(end_ids_) : 0;
    const std::shared_ptr<const AllowedTokens> set = sets_->Of(ExprOf(state));
    if (set->is_exception || std::ssize(set->ids) + num_ends > most) return std::nullopt;
  }
  return Allowed(state);
}

bool GrammarConstraint::IsComplete(State state) const {
  if (state == kEnded) return true;
  const Grammar& grammar = Used();
  return grammar.Accepts(ExprOf(state)) && grammar.expressions().FirstBytes(ExprOf(state)).empty();
}

/// The bytes that must follow, up to the end of a character.
std::string GrammarConstraint::ForcedBytes(ExprId state) const {
  const Grammar& grammar = Used();
  std::string forced;
  while (forced.size() < kMaxForcedBytes && !grammar.Accepts(state)) {
    const ByteSet bytes = grammar.expressions().FirstBytes(state);
    if (bytes.size() != 1) break;
    int byte = 0;
    while (!bytes.Contains(static_cast<uint8_t>(byte))) ++byte;
    forced.push_back(static_cast<char>(byte));
    state = grammar.Next(state, static_cast<uint8_t>(byte));
  }
  std::string text;
  forced.resize(forced.size() - AppendUtf8(forced, text));
  return forced;
}

bool GrammarConstraint::Spell(const std::vector<TokenId>& tokens, std::string_view text) const {
  for (const TokenId token : tokens) {
    if (Raw(token) < 0 || Raw(token) >= sets_->trie().vocab_size() || IsEnd(token)) return false;
    const std::string_view bytes = sets_->trie().BytesOf(token);
    if (bytes.empty() || !text.starts_with(bytes)) return false;
    text.remove_prefix(bytes.size());
  }
  return text.empty();
}

std::vector<TokenId> GrammarConstraint::Forced(State state) const {
  if (state == kEnded) return {};
  const std::string bytes = ForcedBytes(ExprOf(state));
  if (bytes.empty()) return {};
  std::vector<TokenId> tokens = encode_(bytes);
  if (!Spell(tokens, bytes)) return {};
  const std::optional<int32_t> node =
      sets_->trie().nodes().Find(sets_->trie().BytesOf(tokens.back()));
  const ExprId end = Used().Next(ExprOf(state), bytes);
  if (sets_->HasTokenBelow(*node, end)) tokens.pop_back();
  return tokens;
}

}  // namespace shortlist
