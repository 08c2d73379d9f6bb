#include "grammar/head_tokens.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "grammar/token_bits.h"
#include "grammar/trie_walk.h"

namespace shortlist {
namespace {

// More repetitions than a token can begin, so that neither count runs out on the way. The distance
// between the counts is kept by each step unless counts merge.
constexpr int64_t kManyRepetitions = int64_t{1} << 30;
// Such repetitions of longer strings would have lengths at the limit, and no token holds one.
constexpr int64_t kMaxCountedLength = int64_t{1} << 20;

// Of the exits that are kept, per token of the vocabulary.
constexpr int64_t kMaxExitBytesPerToken = 1;

/// How far a token has come in `first`.
struct Count {
  uint8_t num_begun;
  bool may_end;  // no repetition is open, or the open one may end
};

/// Counts the repetitions of `of` that states after Repeat(of, kMany, 2 * kMany) have begun.
class RepetitionCounter {
 public:
  RepetitionCounter(ExprId of, const Expressions& expressions)
      : of_(of), expressions_(expressions) {}

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

/// A walk over all tokens.
class HeadTokens::Walk {
 public:
  Walk(const TokenTrie& trie, Expressions& expressions, HeadTokens& head)
      : trie_(trie), expressions_(expressions), head_(head) {}

  /// `count_of` returns the Count of a state; nullopt: it is not known. False: it was not.
  template <typename CountOf>
  bool Run(ExprId first, CountOf count_of) {
    const ExprId nothing = expressions_.Nothing();
    Enter(/*node=*/0, first);
    while (!path_.empty()) {
      Place& place = path_.back();
      if (place.next == place.end) {
        if (EndsHere()) endings_.pop_back();
        path_.pop_back();
        continue;
      }
      const int32_t node = place.next++;
      const ExprId state = place.moves->After(trie_.nodes().ByteOf(node));
      if (state == nothing) {
        AddExits(node);
        continue;
      }
      const std::optional<Count> count = count_of(state);
      if (!count.has_value()) return false;
      AddInside(node, count->num_begun);
      head_.max_length_ =
          std::max(head_.max_length_, std::ssize(path_) + expressions_.MinLength(state));
      const ByteTrie::Range children = trie_.nodes().ChildrenOf(node);
      if (children.begin == children.end) continue;
      if (count->may_end) endings_.push_back({path_.size(), count->num_begun});
      Enter(node, state);
    }
    head_.Index(std::move(exits_), trie_.vocab_size());
    return true;
  }

 private:
  struct Place {
    int32_t next, end;  // children that are not visited yet
    const ExprMoves* moves;
  };
  // A beginning of this length that `first` may end with.
  struct Ending {
    size_t length;
    uint8_t count;
  };

  void Enter(int32_t node, ExprId state) {
    const ByteTrie::Range children = trie_.nodes().ChildrenOf(node);
    path_.push_back({children.begin, children.end, &expressions_.MovesOf(state)});
  }
  /// True if `first` may end before the children that are visited.
  bool EndsHere() const { return !endings_.empty() && endings_.back().length + 1 == path_.size(); }
  void AddInside(int32_t node, uint8_t count) {
    if (EndsHere()) head_.inner_bytes_.Add(trie_.nodes().ByteOf(node));
    if (head_.inside_.size() <= count) head_.inside_.resize(count + 1);
    const std::span<const TokenId> tokens = trie_.TokensAt(node);
    head_.inside_[count].insert(head_.inside_[count].end(), tokens.begin(), tokens.end());
  }
  /// `node` is outside, and so are all tokens from it on.
  void AddExits(int32_t node) {
    if (endings_.empty()) return;
    for (const TokenId token : trie_.TokensFrom(node)) {
      const std::string_view bytes = trie_.BytesOf(token);
      for (const auto& [length, count] : endings_) {
        if (!head_.has_exits_) return;
        exits_.push_back({bytes.substr(length), token, count});
        num_exit_bytes_ += std::ssize(exits_.back().bytes);
        head_.has_exits_ = num_exit_bytes_ <= kMaxExitBytesPerToken * trie_.vocab_size();
      }
    }
  }

  const TokenTrie& trie_;
  Expressions& expressions_;
  HeadTokens& head_;
  std::vector<Place> path_;
  std::vector<Ending> endings_;  // of the string that `path_` leads to
  std::vector<Exit> exits_;
  int64_t num_exit_bytes_ = 0;
};

std::shared_ptr<const HeadTokens> HeadTokens::Of(ExprId first, const TokenTrie& trie,
                                                 Expressions& expressions) {
  const std::shared_ptr<HeadTokens> head(new HeadTokens());
  Walk(trie, expressions, *head).Run(first, [&](ExprId state) {
    return std::optional(Count{.num_begun = 0, .may_end = expressions.IsNullable(state)});
  });
  return head;
}

std::shared_ptr<const HeadTokens> HeadTokens::OfRepetitions(ExprId of, const TokenTrie& trie,
                                                            Expressions& expressions) {
  const std::shared_ptr<HeadTokens> not_countable(new HeadTokens());
  not_countable->is_countable_ = false;
  if (expressions.MinLength(of) > kMaxCountedLength) return not_countable;
  const ExprId many = expressions.Repeat(of, kManyRepetitions, 2 * kManyRepetitions);
  RepetitionCounter counter(of, expressions);
  if (!counter.Of(many).has_value()) return not_countable;
  const std::shared_ptr<HeadTokens> head(new HeadTokens());
  const bool is_countable =
      Walk(trie, expressions, *head).Run(many, [&](ExprId state) { return counter.Of(state); });
  return is_countable ? head : not_countable;
}

void HeadTokens::Index(std::vector<Exit> exits, int64_t vocab_size) {
  vocab_size_ = vocab_size;
  TokenBits bits(vocab_size);
  for (std::vector<TokenId>& tokens : inside_) {
    bits.Add(tokens);
    SortTokens(tokens, vocab_size);
    tokens.shrink_to_fit();
  }
  if (bits.size() > vocab_size / 2) {
    outside_ = bits.Ids(/*included=*/false);
    if (inside_.size() == 1) inside_.clear();  // no counts: all or nothing
  }
  if (!has_exits_) exits.clear();
  std::ranges::sort(exits, {}, [](const Exit& exit) { return std::tie(exit.bytes, exit.token); });
  std::vector<std::string_view> strings;
  exit_tokens_.reserve(exits.size());
  exit_counts_.reserve(exits.size());
  for (const Exit& exit : exits) {
    strings.push_back(exit.bytes);
    exit_tokens_.push_back(exit.token);
    exit_counts_.push_back(exit.count);
  }
  exits_.emplace(strings);
}

void HeadTokens::AddInside(int64_t max, TokenUnion& tokens) const {
  const int64_t num_counts = std::ssize(inside_);
  const int64_t end = max < num_counts ? max + 1 : num_counts;
  if (!outside_.has_value()) {
    for (int64_t count = 0; count < end; ++count) tokens.Add(inside_[count]);
    return;
  }
  std::vector<TokenId> above;
  for (int64_t count = end; count < num_counts; ++count) {
    above.insert(above.end(), inside_[count].begin(), inside_[count].end());
  }
  SortTokens(above, vocab_size_);
  tokens.AddAllExcept(*outside_, above);
}

bool HeadTokens::AddTokens(int64_t min, int64_t max, ExprId rest, Expressions& expressions,
                           TokenUnion& tokens) const {
  if (rest == expressions.Empty()) {
    AddInside(max, tokens);
    return true;
  }
  // A token that begins too many repetitions may leave after fewer.
  const bool may_leave =
      max < std::ssize(inside_) - 1 && !(inner_bytes_ & expressions.FirstBytes(rest)).empty();
  if (!has_exits_ || may_leave) return false;
  AddInside(max, tokens);
  TrieWalk(*exits_, expressions).Run(/*node=*/0, rest, [&](int32_t node) {
    const auto [begin, end] = exits_->StringsAt(node);
    for (int32_t i = begin; i < end; ++i) {
      if (min <= exit_counts_[i] && exit_counts_[i] <= max) tokens.Add(exit_tokens_[i]);
    }
    return true;
  });
  return true;
}

int64_t HeadTokens::num_bytes() const {
  size_t num_tokens = exit_tokens_.size() + (outside_.has_value() ? outside_->size() : 0);
  for (const std::vector<TokenId>& tokens : inside_) num_tokens += tokens.size();
  return static_cast<int64_t>(sizeof(*this) + inside_.size() * sizeof(inside_[0]) +
                              num_tokens * sizeof(TokenId) + exit_counts_.size()) +
         (exits_.has_value() ? exits_->num_bytes() : 0);
}

}  // namespace shortlist
