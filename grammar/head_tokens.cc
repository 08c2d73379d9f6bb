#include "grammar/head_tokens.h"

#include <algorithm>
#include <array>

#include "grammar/trie_walk.h"

namespace shortlist {
namespace {

// More repetitions than a token can begin, so that neither count runs out on the way. The distance
// between the counts is kept by each step unless counts merge.
constexpr int64_t kManyRepetitions = int64_t{1} << 30;
// Such repetitions of longer strings would have lengths at the limit, and no token holds one.
constexpr int64_t kMaxCountedLength = int64_t{1} << 20;

// Shares of the trie's nodes above which a list is indexed by node or token.
constexpr int64_t kMinNodesPerExit = 16;
constexpr int64_t kMinTokensPerBit = 64;

/// Counts the repetitions of `of` that states after Repeat(of, kMany, 2 * kMany) have begun.
class RepetitionCounter {
 public:
  RepetitionCounter(ExprId of, const Expressions& expressions)
      : of_(of), expressions_(expressions) {}

  struct Count {
    uint8_t num_begun;
    bool may_end;  // none is open, or the open one may end
  };
  /// nullopt: not known, or too many.
  std::optional<Count> Of(ExprId state) {
    Entry& entry = entries_[static_cast<size_t>(state) % entries_.size()];
    if (entry.state != state) entry = {state, CountOf(state)};
    return entry.count;
  }

 private:
  struct Entry {
    ExprId state{-1};
    std::optional<Count> count;
  };

  std::optional<Count> CountOf(ExprId state) const {
    ExprId last = state;
    while (expressions_.SplitSequence(last).rest != expressions_.Empty()) {
      last = expressions_.SplitSequence(last).rest;
    }
    const auto [of, min, max] = expressions_.RepetitionOf(last);
    if (of != of_ || max - min != kManyRepetitions) return std::nullopt;
    const int64_t num_begun = kManyRepetitions - min;
    if (num_begun >= UINT8_MAX) return std::nullopt;
    return Count{static_cast<uint8_t>(num_begun),
                 expressions_.MinLength(state) == expressions_.MinLength(last)};
  }

  ExprId of_;
  const Expressions& expressions_;
  std::array<Entry, 1024> entries_;  // a cache: a walk meets few states
};

}  // namespace

HeadTokens::HeadTokens(ExprId first, const TokenTrie& trie, Expressions& expressions)
    : HeadTokens() {
  WalkTrie(trie, expressions, /*node=*/0, first, [&](int32_t node, ExprId state) {
    AddNode(node, expressions.IsNullable(state), /*count=*/0, trie);
    return true;
  });
  Index(trie);
}

std::shared_ptr<const HeadTokens> HeadTokens::OfRepetitions(ExprId of, const TokenTrie& trie,
                                                            Expressions& expressions) {
  if (expressions.MinLength(of) > kMaxCountedLength) {
    return std::shared_ptr<const HeadTokens>(new HeadTokens(/*is_countable=*/false));
  }
  const ExprId many = expressions.Repeat(of, kManyRepetitions, 2 * kManyRepetitions);
  RepetitionCounter counter(of, expressions);
  const std::shared_ptr<HeadTokens> head(new HeadTokens());
  head->is_countable_ = counter.Of(many).has_value();
  if (!head->is_countable_) return head;
  WalkTrie(trie, expressions, /*node=*/0, many, [&](int32_t node, ExprId state) {
    const auto count = counter.Of(state);
    if (count.has_value()) head->AddNode(node, count->may_end, count->num_begun, trie);
    head->is_countable_ = count.has_value();
    return count.has_value();
  });
  if (!head->is_countable_)
    return std::shared_ptr<const HeadTokens>(new HeadTokens(/*is_countable=*/false));
  head->Index(trie);
  return head;
}

void HeadTokens::AddNode(int32_t node, bool may_end, uint8_t count, const TokenTrie& trie) {
  if (inside_.size() <= count) inside_.resize(count + 1);
  const std::span<const TokenId> tokens = trie.TokensAt(node);
  inside_[count].insert(inside_[count].end(), tokens.begin(), tokens.end());
  if (!may_end) return;
  if (exit_counts_.empty()) exit_counts_.assign(trie.num_nodes(), kNoExit);
  const int32_t end = trie.EndOf(node);
  for (int32_t child = node + 1; child < end; child = trie.EndOf(child)) {
    exit_counts_[child] = count;
    ++num_exits_;
  }
}

void HeadTokens::Index(const TokenTrie& trie) {
  if (NumInside(0, std::ssize(inside_)) > trie.vocab_size() / kMinTokensPerBit) {
    inside_bits_.emplace(trie.vocab_size());
    for (const std::vector<TokenId>& tokens : inside_) inside_bits_->Add(tokens);
    if (inside_.size() == 1) inside_.clear();  // no counts: all or nothing
  }
  if (num_exits_ <= trie.num_nodes() / kMinNodesPerExit) {
    exits_.reserve(num_exits_);
    for (int32_t node = 0; node < std::ssize(exit_counts_); ++node) {
      if (exit_counts_[node] != kNoExit) exits_.push_back({node, exit_counts_[node]});
    }
    std::vector<uint8_t>().swap(exit_counts_);
  }
  for (std::vector<TokenId>& tokens : inside_) tokens.shrink_to_fit();
}

int64_t HeadTokens::NumInside(int64_t begin, int64_t end) const {
  int64_t num_tokens = 0;
  for (int64_t count = begin; count < end; ++count) num_tokens += std::ssize(inside_[count]);
  return num_tokens;
}

void HeadTokens::AddInside(int64_t max, TokenBits& tokens) const {
  const int64_t num_counts = std::ssize(inside_);
  const int64_t end = max < num_counts ? max + 1 : num_counts;
  const bool is_most = NumInside(end, num_counts) < NumInside(0, end);
  if (inside_bits_.has_value() && (is_most || inside_.empty())) {
    TokenBits bits = *inside_bits_;
    for (int64_t count = end; count < num_counts; ++count) bits.Remove(inside_[count]);
    tokens.Add(bits);
    return;
  }
  for (int64_t count = 0; count < end; ++count) tokens.Add(inside_[count]);
}

void HeadTokens::AddTokens(int64_t min, int64_t max, ExprId rest, const TokenTrie& trie,
                           Expressions& expressions, TokenBits& tokens) const {
  AddInside(max, tokens);
  if (rest == expressions.Empty()) return;
  const auto try_exit = [&](int32_t node, uint8_t count) {
    if (count < min || count > max) return;
    const ExprId state = expressions.After(rest, trie.ByteOf(node));
    if (state == expressions.Nothing()) return;
    tokens.Add(trie.TokensAt(node));
    if (trie.EndOf(node) == node + 1) return;
    WalkTrie(trie, expressions, node, state, [&](int32_t below, ExprId) {
      tokens.Add(trie.TokensAt(below));
      return true;
    });
  };
  for (const Exit& exit : exits_) try_exit(exit.node, exit.count);
  if (exit_counts_.empty()) return;
  const ByteSet first_bytes = expressions.FirstBytes(rest);
  for (int byte = 0; byte < 256; ++byte) {
    if (!first_bytes.Contains(static_cast<uint8_t>(byte))) continue;
    for (const int32_t node : trie.NodesWithByte(static_cast<uint8_t>(byte))) {
      if (exit_counts_[node] != kNoExit) try_exit(node, exit_counts_[node]);
    }
  }
}

int64_t HeadTokens::num_bytes() const {
  int64_t num_bytes =
      static_cast<int64_t>(sizeof(*this) + exits_.size() * sizeof(Exit) + exit_counts_.size());
  num_bytes += static_cast<int64_t>(inside_.size() * sizeof(inside_[0]));
  num_bytes += NumInside(0, std::ssize(inside_)) * static_cast<int64_t>(sizeof(TokenId));
  return num_bytes + (inside_bits_.has_value() ? inside_bits_->num_bytes() : 0);
}

}  // namespace shortlist
