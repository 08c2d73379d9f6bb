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

/// True if after most of the bytes that may follow `a` the states are the same.
bool AreMostlyEqual(ExprId a, ExprId b, Expressions& expressions) {
  int num_more_equal = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const ExprId after = expressions.After(a, static_cast<uint8_t>(byte));
    if (after == expressions.Nothing()) continue;
    num_more_equal += after == expressions.After(b, static_cast<uint8_t>(byte)) ? 1 : -1;
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
  WalkTrie(trie(), grammar_->expressions(), node, state, [&](int32_t below, ExprId) {
    has_token = !trie().TokensAt(below).empty();
    return !has_token;
  });
  return has_token;
}

std::shared_ptr<const AllowedTokens> TokenSets::Compute(ExprId state) {
  TokenBits tokens(trie().vocab_size());
  AddTokensOf(state, tokens);
  AllowedTokens set{.is_exception = tokens.size() > trie().vocab_size() / 2, .ids = {}};
  set.ids = tokens.Ids(/*included=*/!set.is_exception);
  return std::make_shared<const AllowedTokens>(std::move(set));
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

void TokenSets::AddTokensOf(ExprId state, TokenBits& tokens) {
  const std::vector<ExprId> parts = SplitState(state);
  for (const ExprId part : parts) AddTokensOfPart(part, tokens);
  if (parts.empty()) WalkAll(state, tokens);
}

void TokenSets::AddTokensOfPart(ExprId state, TokenBits& tokens) {
  Expressions& expressions = grammar_->expressions();
  const auto [first, rest] = expressions.SplitSequence(state);
  // A plain part ends within few nodes: nothing of it is worth remembering.
  if (expressions.IsPlain(first)) return WalkAll(state, tokens);
  const ExprId minuend = expressions.MinuendOf(first);
  if (minuend != first && AreMostlyEqual(minuend, first, expressions)) {
    return AddTokensWithin(expressions.Sequence(minuend, rest), state, tokens);
  }
  const auto [of, min, max] = expressions.RepetitionOf(first);
  if (of != first) {
    if (const auto head = RepetitionsOf(of); head->is_countable()) {
      head->AddTokens(min, max, rest, trie(), expressions, tokens);
      return;
    }
  }
  HeadOf(first)->AddTokens(0, Expressions::kNoLimit, rest, trie(), expressions, tokens);
}

/// Walks only where the states differ, as before the names that an object lists: a few nodes.
void TokenSets::AddTokensWithin(ExprId wider, ExprId state, TokenBits& tokens) {
  struct Place {
    int32_t end;  // of the subtree
    ExprId wider, state;
  };
  Expressions& expressions = grammar_->expressions();
  TokenBits within(trie().vocab_size());
  AddTokensOf(wider, within);
  std::vector<Place> path{{trie().num_nodes(), wider, state}};
  for (int32_t node = 1; node < trie().num_nodes();) {
    while (node >= path.back().end) path.pop_back();
    const Place next = {trie().EndOf(node),
                        expressions.After(path.back().wider, trie().ByteOf(node)),
                        expressions.After(path.back().state, trie().ByteOf(node))};
    if (next.wider == next.state) {
      node = next.end;
    } else if (next.state == expressions.Nothing()) {
      for (; node < next.end; ++node) within.Remove(trie().TokensAt(node));
    } else {
      ++node;
      if (node < next.end) path.push_back(next);
    }
  }
  tokens.Add(within);
}

void TokenSets::WalkAll(ExprId state, TokenBits& tokens) {
  WalkTrie(trie(), grammar_->expressions(), /*node=*/0, state, [&](int32_t node, ExprId) {
    tokens.Add(trie().TokensAt(node));
    return true;
  });
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
