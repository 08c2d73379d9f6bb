#include "router/radix_cache.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <vector>

namespace shortlist {
namespace {

std::vector<TokenId> Tokens(std::initializer_list<int32_t> ids) {
  std::vector<TokenId> tokens;
  for (int32_t id : ids) tokens.push_back(TokenId{id});
  return tokens;
}

class RadixCacheTest : public testing::Test {
 protected:
  void Create(int64_t capacity, bool bigram_keys = false) {
    pool_ = std::make_unique<KvPool>(capacity);
    cache_ = std::make_unique<RadixCache>(*pool_, RadixCache::Options{.bigram_keys = bigram_keys});
    root_ = cache_->OpenNamespace("");
  }
  void TearDown() override {
    std::vector<bool> seen(pool_->capacity());
    const absl::Status status = cache_->CheckInvariants(seen);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  /// Inserts with slots of its own and gives back what the tree did not take. Returns the node.
  int32_t Insert(const std::vector<TokenId>& tokens, std::vector<TokenId> rows = {}) {
    std::vector<int32_t> slots(tokens.size() - cache_->look_ahead());
    EXPECT_TRUE(pool_->Allocate(slots));
    const RadixCache::Inserted inserted = cache_->Insert(root_, tokens, slots, rows);
    pool_->Free(std::span<const int32_t>(slots).first(inserted.existing_len));
    return inserted.node;
  }
  int64_t MatchLen(const std::vector<TokenId>& tokens) {
    return cache_->MatchPrefix(root_, tokens).len;
  }
  std::vector<int32_t> Slots(int32_t node) {
    std::vector<int32_t> slots(cache_->EndOf(node));
    cache_->CopySlots(node, 0, slots);
    return slots;
  }

  std::unique_ptr<KvPool> pool_;
  std::unique_ptr<RadixCache> cache_;
  int32_t root_ = -1;
};

TEST_F(RadixCacheTest, ContinuationsEndWithNearest) {
  Create(/*capacity=*/30);
  Insert(Tokens({5, 6, 7, 8}));
  Insert(Tokens({5, 6, 9, 10, 11}));
  Insert(Tokens({5, 6, 9, 12}));
  Insert(Tokens({1, 2}));
  const auto continuations = [&](const std::vector<TokenId>& prefix, int64_t max_tokens) {
    std::vector<TokenId> tokens = Tokens({99});
    cache_->AppendContinuations(cache_->MatchPrefix(root_, prefix), max_tokens, tokens);
    EXPECT_EQ(tokens.front(), TokenId{99});
    return std::vector<TokenId>(tokens.begin() + 1, tokens.end());
  };
  EXPECT_EQ(continuations(Tokens({5, 6}), 100), Tokens({11, 10, 12, 8, 7, 9}));
  EXPECT_EQ(continuations(Tokens({5, 6}), 2), Tokens({7, 9}));
  EXPECT_EQ(continuations(Tokens({5}), 100), Tokens({11, 10, 12, 8, 7, 9, 6}));  // inside a run
  EXPECT_EQ(continuations(Tokens({5, 6, 7, 8}), 100), Tokens({}));
  EXPECT_EQ(continuations(Tokens({1, 2, 3}), 0), Tokens({}));
}

TEST_F(RadixCacheTest, SharesCommonPrefix) {
  Create(/*capacity=*/20);
  EXPECT_EQ(Slots(Insert(Tokens({5, 6, 7}))), (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(Slots(Insert(Tokens({5, 6, 8}))), (std::vector<int32_t>{0, 1, 5}));
  EXPECT_EQ(cache_->len(), 4);
  EXPECT_EQ(pool_->num_free(), 16);
  EXPECT_EQ(MatchLen(Tokens({5, 6, 7, 9})), 3);
  EXPECT_EQ(MatchLen(Tokens({5, 9})), 1);
  EXPECT_EQ(MatchLen(Tokens({6})), 0);
  EXPECT_EQ(MatchLen({}), 0);
}

TEST_F(RadixCacheTest, MatchLeavesTreeUnchangedAndLockSplits) {
  Create(/*capacity=*/20);
  Insert(Tokens({1, 2, 3, 4}));
  const RadixCache::Match match = cache_->MatchPrefix(root_, Tokens({1, 2, 9}));
  EXPECT_EQ(cache_->num_nodes(), 2);
  EXPECT_EQ(match.len, 2);
  const int32_t node = cache_->Lock(match);
  EXPECT_EQ(cache_->num_nodes(), 3);
  EXPECT_EQ(cache_->evictable_len(), 2);
  EXPECT_EQ(cache_->Evict(10), 2);
  EXPECT_EQ(Slots(node), (std::vector<int32_t>{0, 1}));
  cache_->Unlock(node);
}

TEST_F(RadixCacheTest, BigramKeysCompareNextToken) {
  Create(/*capacity=*/20, /*bigram_keys=*/true);
  Insert(Tokens({1, 2, 3, 4}));
  EXPECT_EQ(cache_->len(), 3);
  EXPECT_EQ(MatchLen(Tokens({1, 2, 3, 4})), 3);
  EXPECT_EQ(MatchLen(Tokens({1, 2, 3})), 2);
  EXPECT_EQ(MatchLen(Tokens({1, 2, 9})), 1);
  EXPECT_EQ(MatchLen(Tokens({1, 9, 3})), 0);
  EXPECT_EQ(MatchLen(Tokens({1})), 0);
  Insert(Tokens({1, 9, 3}));
  EXPECT_EQ(MatchLen(Tokens({1, 9, 3})), 2);
  EXPECT_EQ(cache_->len(), 5);
}

TEST_F(RadixCacheTest, EvictsLeastRecentlyUsedLeavesOnly) {
  Create(/*capacity=*/20);
  Insert(Tokens({1, 2, 3, 4}));
  Insert(Tokens({1, 2, 8, 9}));
  Insert(Tokens({7, 7, 7}));
  const int32_t used = cache_->Lock(cache_->MatchPrefix(root_, Tokens({1, 2, 3, 4})));
  cache_->Unlock(used);
  EXPECT_EQ(cache_->Evict(1), 1);
  EXPECT_EQ(MatchLen(Tokens({1, 2, 8, 9})), 3);
  EXPECT_EQ(cache_->Evict(3), 3);
  EXPECT_EQ(MatchLen(Tokens({1, 2, 8, 9})), 2);
  EXPECT_EQ(MatchLen(Tokens({7, 7, 7})), 1);
  EXPECT_EQ(MatchLen(Tokens({1, 2, 3, 4})), 4);
  EXPECT_EQ(cache_->Evict(100), 5);
  EXPECT_EQ(pool_->num_free(), 20);
}

TEST_F(RadixCacheTest, RowsBelongToEndOfPrefix) {
  Create(/*capacity=*/20);
  Insert(Tokens({1, 2}), Tokens({40}));
  const int32_t node = Insert(Tokens({1, 2, 3, 4}), Tokens({50, 51}));
  std::vector<TokenId> rows;
  cache_->AppendRows(node, rows);
  EXPECT_EQ(rows, Tokens({40, 50, 51}));
  const int32_t half = cache_->Lock(cache_->MatchPrefix(root_, Tokens({1, 2, 3})));
  rows.clear();
  cache_->AppendRows(half, rows);
  EXPECT_EQ(rows, Tokens({40}));
  cache_->Unlock(half);
  Insert(Tokens({1, 2, 3, 4}), Tokens({60}));
  rows.clear();
  cache_->AppendRows(node, rows);
  EXPECT_EQ(rows, Tokens({40, 60}));
}

TEST_F(RadixCacheTest, NamespacesShareNothingAndVanishWhenUnused) {
  Create(/*capacity=*/20);
  Insert(Tokens({1, 2, 3}));
  const int32_t other = cache_->OpenNamespace("tenant");
  EXPECT_EQ(cache_->OpenNamespace("tenant"), other);
  EXPECT_EQ(cache_->MatchPrefix(other, Tokens({1, 2, 3})).len, 0);
  std::vector<int32_t> slots(1);
  ASSERT_TRUE(pool_->Allocate(slots));
  cache_->Insert(other, Tokens({1}), slots, {});
  cache_->CloseNamespace(other);
  cache_->CloseNamespace(other);
  EXPECT_EQ(cache_->num_nodes(), 4);
  cache_->Evict(100);
  EXPECT_EQ(cache_->num_nodes(), 1);  // the fixture's root is open
}

TEST_F(RadixCacheTest, DeepTreesNeedNoRecursion) {
#if defined(__SANITIZE_THREAD__)
  constexpr int64_t kDepth = 2'000;  // its shadow of every matched path would take gigabytes
#else
  constexpr int64_t kDepth = 30'000;
#endif
  Create(/*capacity=*/kDepth);
  std::vector<TokenId> tokens;
  for (int64_t i = 0; i < kDepth; ++i) tokens.push_back(TokenId(i % 50));
  Insert(tokens);
  for (int64_t len = kDepth - 1; len > 0; --len) {  // a node for every token
    cache_->Unlock(cache_->Lock(cache_->MatchPrefix(root_, std::span(tokens).first(len))));
  }
  EXPECT_EQ(cache_->num_nodes(), kDepth + 1);
  const RadixCache::Match match = cache_->MatchPrefix(root_, tokens);
  EXPECT_EQ(match.len, kDepth);
  const int32_t node = cache_->Lock(match);
  EXPECT_EQ(cache_->evictable_len(), 0);
  EXPECT_EQ(Slots(node).size(), kDepth);
  cache_->Unlock(node);
  EXPECT_EQ(cache_->Evict(kDepth), kDepth);
}

TEST_F(RadixCacheTest, MatchIsCurrentUntilPathChanges) {
  Create(/*capacity=*/40);
  Insert(Tokens({1, 2, 3}));
  const std::vector<TokenId> tokens = Tokens({1, 2, 3, 4, 5});
  const RadixCache::Match match = cache_->MatchPrefix(root_, tokens);
  Insert(Tokens({9, 9, 9}));
  EXPECT_TRUE(cache_->IsCurrent(match));
  Insert(tokens);
  EXPECT_FALSE(cache_->IsCurrent(match));
  EXPECT_EQ(cache_->Rematch(match, root_, tokens).len, 5);
  cache_->Evict(100);
  EXPECT_FALSE(cache_->IsCurrent(match));
  EXPECT_EQ(cache_->Rematch(match, root_, tokens).len, 0);
}

}  // namespace
}  // namespace shortlist
