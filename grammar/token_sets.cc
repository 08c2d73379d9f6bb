#include "grammar/token_sets.h"

#include <algorithm>
#include <utility>

#include "grammar/trie_walk.h"

namespace shortlist {
namespace {

// A state is split in at most so many steps, into at most so many parts that do not begin with a
// plain one; otherwise it is walked as a whole.
constexpr size_t kMaxSplitSteps = 256;
constexpr size_t kMaxOtherParts = 16;
constexpr size_t kMaxNarrowTokens = 512;

/// True if after most of the bytes that may follow `a` the states are the same.
bool AreMostlyEqual(ExprId a, ExprId b, Expressions& expressions) {
  const ExprMoves& moves_a = expressions.MovesOf(a);
  const ExprMoves& moves_b = expressions.MovesOf(b);
  int num_more_equal = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const ExprId after = moves_a.After(static_cast<uint8_t>(byte));
    if (after == expressions.Nothing()) continue;
    num_more_equal += after == moves_b.After(static_cast<uint8_t>(byte)) ? 1 : -1;
  }
  return num_more_equal > 0;
}

}  // namespace

TokenSets::TokenSets(std::shared_ptr<const Grammar> grammar, std::shared_ptr<HeadCache> shared,
                     int64_t max_bytes)
    : grammar_(std::move(grammar)),
      shared_(std::move(shared)),
      sets_(max_bytes / 2),
      heads_(max_bytes / 4),
      repetitions_(max_bytes / 4) {}

std::shared_ptr<const AllowedTokens> TokenSets::Of(ExprId state) {
  if (grammar_->is_full()) return std::make_shared<const AllowedTokens>();
  if (auto found = sets_.Find(state); found != nullptr) return found;
  std::shared_ptr<const AllowedTokens> set = Compute(state);
  if (grammar_->is_full()) return std::make_shared<const AllowedTokens>();
  constexpr int64_t kBytesPerEntry = sizeof(AllowedTokens) + 128;
  sets_.Add(state, set, kBytesPerEntry + static_cast<int64_t>(set->ids.size() * sizeof(TokenId)));
  return set;
}

bool TokenSets::HasTokenBelow(int32_t node, ExprId state) const {
  bool has_token = false;
  TrieWalk(trie().nodes(), grammar_->expressions()).Run(node, state, [&](int32_t below) {
    has_token = !trie().TokensAt(below).empty();
    return !has_token;
  });
  return has_token;
}

std::shared_ptr<const AllowedTokens> TokenSets::Compute(ExprId state) {
  TokenUnion tokens(trie().vocab_size());
  AddTokensOf(state, tokens);
  return std::make_shared<const AllowedTokens>(std::move(tokens).Build());
}

std::vector<ExprId> TokenSets::SplitState(ExprId state) const {
  Expressions& expressions = grammar_->expressions();
  std::vector<ExprId> parts, open{state};
  size_t num_others = 0;  // parts whose first is not plain
  for (size_t num_steps = 0; !open.empty(); ++num_steps) {
    const ExprId part = open.back();
    open.pop_back();
    // Before the first byte there may be dead options, whose first parts are not dead.
    if (!expressions.IsProductive(part)) continue;
    const auto [first, rest] = expressions.SplitSequence(part);
    const std::vector<ExprId> options = expressions.OptionsOf(expressions.DefinitionOf(first));
    if (options.size() > kMaxSplitSteps) return {};
    if (options.front() != first) {
      for (const ExprId option : options) open.push_back(expressions.Sequence(option, rest));
    } else if (std::ranges::find(parts, part) == parts.end()) {
      parts.push_back(part);
      if (!expressions.IsPlain(first)) ++num_others;
      if (rest != expressions.Empty() && expressions.IsNullable(first)) open.push_back(rest);
    }
    if (num_others > kMaxOtherParts || num_steps > kMaxSplitSteps) return {};
  }
  return parts;
}

void TokenSets::AddTokensOf(ExprId state, TokenUnion& tokens) {
  if (grammar_->expressions().BeginsWithText(state)) return WalkAll(state, tokens);
  const std::vector<ExprId> parts = SplitState(state);
  for (const ExprId part : parts) AddTokensOfPart(part, tokens);
  if (parts.empty()) WalkAll(state, tokens);
}

void TokenSets::AddTokensOfPart(ExprId state, TokenUnion& tokens) {
  Expressions& expressions = grammar_->expressions();
  const auto [first, rest] = expressions.SplitSequence(state);
  if (expressions.IsPlain(first)) return WalkAll(state, tokens);
  // The head of a rule is of no use to other grammars.
  if (expressions.CallsRule(first) && IsNarrow(first)) return WalkAll(state, tokens);
  const ExprId minuend = expressions.MinuendOf(first);
  if (minuend != first && AreMostlyEqual(minuend, first, expressions)) {
    return AddTokensWithin(expressions.Sequence(minuend, rest), state, tokens);
  }
  const auto [of, min, max] = expressions.RepetitionOf(first);
  if (of != first) {
    if (const auto head = RepetitionsOf(of); head->is_countable()) {
      if (!head->AddTokens(min, max, rest, expressions, tokens)) WalkAll(state, tokens);
      return;
    }
  }
  const bool is_added =
      HeadLike(first)->AddTokens(0, Expressions::kNoLimit, rest, expressions, tokens);
  if (!is_added) WalkAll(state, tokens);
}

void TokenSets::AddTokensWithin(ExprId wider, ExprId state, TokenUnion& tokens) {
  const std::shared_ptr<const AllowedTokens> all = Of(wider);
  const std::vector<TokenId> missing = Missing(wider, state);
  if (all->is_exception) return tokens.AddAllExcept(all->ids, missing);
  tokens.Add(MergeTokens(all->ids, missing, /*with_others=*/false));
}

/// Walks only where the states differ, as before the names that an object lists: a few nodes.
std::vector<TokenId> TokenSets::Missing(ExprId wider, ExprId state) const {
  struct Place {
    int32_t node;
    ExprId wider, state;
  };
  Expressions& expressions = grammar_->expressions();
  const ByteTrie& nodes = trie().nodes();
  std::vector<TokenId> missing;
  std::vector<Place> open{{0, wider, state}};
  while (!open.empty()) {
    const Place place = open.back();
    open.pop_back();
    const auto [begin, end] = nodes.ChildrenOf(place.node);
    if (begin == end) continue;
    const ExprMoves& moves_of_wider = expressions.MovesOf(place.wider);
    const ExprMoves& moves = expressions.MovesOf(place.state);
    for (int32_t child = begin; child < end; ++child) {
      const Place next = {child, moves_of_wider.After(nodes.ByteOf(child)),
                          moves.After(nodes.ByteOf(child))};
      if (next.wider == next.state) continue;
      if (next.state != expressions.Nothing()) {
        open.push_back(next);
        continue;
      }
      const std::span<const TokenId> tokens = trie().TokensFrom(child);
      missing.insert(missing.end(), tokens.begin(), tokens.end());
    }
  }
  SortTokens(missing, trie().vocab_size());
  return missing;
}

void TokenSets::WalkAll(ExprId state, TokenUnion& tokens) {
  TrieWalk(trie().nodes(), grammar_->expressions()).Run(/*node=*/0, state, [&](int32_t node) {
    tokens.Add(trie().TokensAt(node));
    return true;
  });
}

bool TokenSets::IsNarrow(ExprId first) const {
  const ExprMoves& moves = grammar_->expressions().MovesOf(first);
  const ByteTrie& nodes = trie().nodes();
  const auto [begin, end] = nodes.ChildrenOf(0);
  size_t num_tokens = 0;
  for (int32_t node = begin; node < end && num_tokens <= kMaxNarrowTokens; ++node) {
    if (moves.After(nodes.ByteOf(node)) == grammar_->expressions().Nothing()) continue;
    num_tokens += trie().TokensFrom(node).size();
  }
  return num_tokens <= kMaxNarrowTokens;
}

/// A string of both an expression and a repetition is often limited by a count that no token comes
/// near, and that falls with each byte.
std::shared_ptr<const HeadTokens> TokenSets::HeadLike(ExprId first) {
  Expressions& expressions = grammar_->expressions();
  auto [other, repetition] = expressions.BothOf(first).value_or(std::pair(first, first));
  if (expressions.RepetitionOf(repetition).of == repetition) std::swap(other, repetition);
  const auto [of, min, max] = expressions.RepetitionOf(repetition);
  if (other != repetition && of != repetition && max != Expressions::kNoLimit) {
    const auto head =
        HeadOf(expressions.Both(other, expressions.Repeat(of, min, Expressions::kNoLimit)));
    if (head->max_length() <= max) return head;
  }
  return HeadOf(first);
}

std::shared_ptr<const HeadTokens> TokenSets::HeadOf(ExprId first) {
  if (auto found = heads_.Find(first); found != nullptr) return found;
  const auto head = shared_->HeadOf(first, grammar_->expressions());
  heads_.Add(first, head, head->num_bytes());
  return head;
}

std::shared_ptr<const HeadTokens> TokenSets::RepetitionsOf(ExprId of) {
  if (auto found = repetitions_.Find(of); found != nullptr) return found;
  const auto head = shared_->RepetitionsOf(of, grammar_->expressions());
  repetitions_.Add(of, head, head->num_bytes());
  return head;
}

}  // namespace shortlist
