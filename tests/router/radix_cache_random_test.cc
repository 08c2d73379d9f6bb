// RadixCache and KvPool against a naive oracle: random operations, memory that runs out in the
// middle of them, and every invariant after each.

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <new>
#include <random>

#include "router/radix_cache.h"
#include "tests/router/failing_new.h"
#include "tests/router/prefix_oracle.h"

namespace shortlist {
namespace {

constexpr int64_t kCapacity = 96;

struct Prompt {
  char space = 'a';
  std::vector<TokenId> tokens;
};

/// A locked prefix, or a match that may be out of date.
struct Held {
  Prompt prompt;
  int32_t root = -1;  // open for as long as this is held
  int32_t node = -1;
  RadixCache::Match match;
};

class Model {
 public:
  Model(bool bigram_keys, uint64_t seed)
      : random_(seed),
        pool_(kCapacity),
        cache_(pool_, {.bigram_keys = bigram_keys, .hash_seed = seed}),
        oracle_(cache_.look_ahead()) {}

  void Step() {
    const int64_t op = Draw(100);
    if (op < 25) {
      Insert();
    } else if (op < 45) {
      Lock();
    } else if (op < 60) {
      Unlock();
    } else if (op < 70) {
      Evict(Draw(12));
    } else if (op < 85) {
      Remember();
    } else if (op < 95) {
      Forget();
    } else {
      Lookup();
    }
    CheckAll();
  }

  void ReleaseAll() {
    while (!locked_.empty()) Unlock();
    while (!remembered_.empty()) Forget();
    Evict(kCapacity);
    CheckAll();
    EXPECT_EQ(cache_.num_nodes(), 0);
    EXPECT_EQ(pool_.num_free(), kCapacity);
  }

 private:
  int64_t Draw(int64_t below) {
    return std::uniform_int_distribution<int64_t>(0, below - 1)(random_);
  }

  Prompt DrawPrompt() {
    Prompt prompt{.space = static_cast<char>('a' + Draw(2))};
    // Long common beginnings are likely: two tokens, one of them rare.
    const int64_t len = cache_.look_ahead() + 1 + Draw(20);
    for (int64_t i = 0; i < len; ++i)
      prompt.tokens.push_back(TokenId(Draw(6) == 0 ? 1 + Draw(3) : 0));
    return prompt;
  }

  int32_t Open(const Prompt& prompt) {
    return cache_.OpenNamespace(std::string_view(&prompt.space, 1));
  }

  /// Runs `op`, now and then with memory that fails at some call, and again if it failed.
  template <typename Op>
  void WithFailures(Op op) {
    if (Draw(4) == 0) {
      const FailingNew failing(1 + Draw(6));
      try {
        op();
        return;
      } catch (const std::bad_alloc&) {
      }
    } else {
      op();
      return;
    }
    CheckAll();  // nothing has changed
    op();
  }

  void Insert() {
    const Prompt prompt = DrawPrompt();
    const int64_t len = std::ssize(prompt.tokens) - cache_.look_ahead();
    std::vector<int32_t> slots(len);
    if (pool_.num_free() < len) Evict(len - pool_.num_free());
    if (!pool_.Allocate(slots)) return;
    std::vector<TokenId> rows;
    for (int64_t i = Draw(4); i > 0; --i) rows.push_back(TokenId(Draw(100)));
    int32_t root = -1;
    WithFailures([&] { root = Open(prompt); });
    const bool uses_cache_now = Draw(2) == 0;  // some callers lock what they have inserted
    RadixCache::Inserted inserted{};
    WithFailures([&] { inserted = cache_.Insert(root, prompt.tokens, slots, rows); });
    EXPECT_EQ(oracle_.Insert(prompt.space, prompt.tokens, slots, rows), inserted.existing_len);
    pool_.Free(std::span<const int32_t>(slots).first(inserted.existing_len));
    if (uses_cache_now) {
      cache_.Lock(inserted.node);
      oracle_.Lock(prompt.space, prompt.tokens, len);
      locked_.push_back({prompt, root, inserted.node, {.len = len}});
    } else {
      cache_.CloseNamespace(root);
    }
  }

  void Lock() {
    Held held{.prompt = DrawPrompt()};
    WithFailures([&] { held.root = Open(held.prompt); });
    held.match = cache_.MatchPrefix(held.root, held.prompt.tokens);
    const int64_t len = oracle_.MatchLen(held.prompt.space, held.prompt.tokens);
    ASSERT_EQ(held.match.len, len);
    const int64_t evictable_len = cache_.EvictableLen(held.match);
    const int64_t before = cache_.evictable_len();
    WithFailures([&] { held.node = cache_.Lock(held.match); });
    EXPECT_EQ(before - cache_.evictable_len(), evictable_len);
    EXPECT_EQ(cache_.EndOf(held.node), len);
    oracle_.Lock(held.prompt.space, held.prompt.tokens, len);
    locked_.push_back(held);
  }

  void Unlock() {
    if (locked_.empty()) return;
    const Held held = Take(locked_);
    // Locked prefixes are cached, in the slots of the oracle.
    const int64_t first = Draw(held.match.len + 1);
    std::vector<int32_t> slots(held.match.len - first);
    cache_.CopySlots(held.node, first, slots);
    const std::vector<int32_t> expected =
        oracle_.Slots(held.prompt.space, held.prompt.tokens, held.match.len);
    EXPECT_TRUE(std::equal(slots.begin(), slots.end(), expected.begin() + first));
    std::vector<TokenId> rows;
    cache_.AppendRows(held.node, rows);
    EXPECT_EQ(rows, oracle_.Rows(held.prompt.space, held.prompt.tokens, held.match.len));
    cache_.Unlock(held.node);
    oracle_.Unlock(held.prompt.space, held.prompt.tokens, held.match.len);
    cache_.CloseNamespace(held.root);
  }

  void Evict(int64_t count) {
    const int64_t expected = std::min(count, oracle_.evictable_len());
    EXPECT_EQ(cache_.Evict(count), expected);
    EXPECT_EQ(oracle_.DropFreed(pool_), expected) << "wrong positions were evicted";
  }

  /// Matches are kept over other operations, as the queue does.
  void Remember() {
    Held held{.prompt = DrawPrompt()};
    held.root = Open(held.prompt);
    held.match = cache_.MatchPrefix(held.root, held.prompt.tokens);
    remembered_.push_back(held);
    if (remembered_.size() > 12) Forget();
  }

  void Forget() {
    if (remembered_.empty()) return;
    cache_.CloseNamespace(Take(remembered_).root);
  }

  void Lookup() {
    const Prompt prompt = DrawPrompt();
    const int32_t root = Open(prompt);
    const RadixCache::Match match = cache_.MatchPrefix(root, prompt.tokens);
    EXPECT_EQ(match.len, oracle_.MatchLen(prompt.space, prompt.tokens));
    cache_.CloseNamespace(root);
  }

  void CheckAll() {
    std::vector<bool> seen(kCapacity);
    const absl::Status status = cache_.CheckInvariants(seen);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(cache_.len(), oracle_.len());
    for (Held& held : remembered_) {
      const bool is_current = cache_.IsCurrent(held.match);
      const int64_t len = oracle_.MatchLen(held.prompt.space, held.prompt.tokens);
      if (is_current) {
        ASSERT_EQ(held.match.len, len) << "a match that is current";
      }
      const RadixCache::Match match = cache_.Rematch(held.match, held.root, held.prompt.tokens);
      ASSERT_EQ(match.len, len) << "matched again";
      ASSERT_EQ(match.offset, cache_.MatchPrefix(held.root, held.prompt.tokens).offset);
      if (Draw(2) == 0) held.match = match;
    }
  }

  Held Take(std::vector<Held>& list) {
    std::swap(list[Draw(std::ssize(list))], list.back());
    Held held = std::move(list.back());
    list.pop_back();
    return held;
  }

  std::mt19937_64 random_;
  KvPool pool_;
  RadixCache cache_;
  PrefixOracle oracle_;
  std::vector<Held> locked_, remembered_;
};

class RadixCacheRandomTest : public testing::TestWithParam<bool> {};

TEST_P(RadixCacheRandomTest, MatchesOracle) {
  const uint64_t seed = std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  const int64_t num_ops = NumRandomOps(500'000);
  constexpr int64_t kOpsPerModel = 4000;
  for (int64_t done = 0; done < num_ops; done += kOpsPerModel) {
    Model model(/*bigram_keys=*/GetParam(), seed + done);
    for (int64_t i = 0; i < kOpsPerModel; ++i) {
      model.Step();
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", operation " << done + i;
    }
    model.ReleaseAll();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Keys, RadixCacheRandomTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Bigram" : "Unigram"; });

}  // namespace
}  // namespace shortlist
