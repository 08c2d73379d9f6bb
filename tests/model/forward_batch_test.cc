#include "model/forward_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace shortlist {
namespace {

using testing::ElementsAre;

TEST(ForwardBatchTest, ChainSeesPrefixAndItself) {
  ForwardBatch batch;
  const std::vector<TokenId> tokens = {TokenId{30}, TokenId{31}};
  const std::vector<int32_t> slots = {7, 3, 9, 4};
  batch.AddChain(tokens, /*first_position=*/2, slots);
  EXPECT_THAT(batch.token_ids(), ElementsAre(30, 31));
  EXPECT_THAT(batch.positions(), ElementsAre(2, 3));
  EXPECT_THAT(batch.out_slots(), ElementsAre(9, 4));
  const AttentionLayout layout = batch.layout();
  EXPECT_EQ(layout.num_tokens, 2);
  EXPECT_THAT(std::vector(layout.kv_indptr, layout.kv_indptr + 2), ElementsAre(0, 4));
  EXPECT_THAT(std::vector(layout.kv_slots, layout.kv_slots + 4), ElementsAre(7, 3, 9, 4));
  EXPECT_THAT(std::vector(layout.context_len, layout.context_len + 2), ElementsAre(3, 4));
  EXPECT_EQ(layout.tail_indptr, nullptr);
}

TEST(ForwardBatchTest, TreeNodesSeePrefixAndAncestors) {
  ForwardBatch batch;
  const std::vector<TokenId> first = {TokenId{1}};
  batch.AddChain(first, /*first_position=*/0, std::vector<int32_t>{5});
  const std::vector<TokenId> nodes = {TokenId{10}, TokenId{11}, TokenId{12}, TokenId{13}};
  batch.AddTree(nodes, std::vector<int32_t>{-1, 0, -1, 1}, std::vector<int32_t>{7, 3},
                std::vector<int32_t>{20, 22, 21, 19});
  EXPECT_THAT(batch.token_ids(), ElementsAre(1, 10, 11, 12, 13));
  EXPECT_THAT(batch.positions(), ElementsAre(0, 2, 3, 2, 4));
  EXPECT_THAT(batch.out_slots(), ElementsAre(5, 20, 22, 21, 19));
  const AttentionLayout layout = batch.layout();
  EXPECT_THAT(std::vector(layout.seq_of_token, layout.seq_of_token + 5),
              ElementsAre(0, 1, 1, 1, 1));
  EXPECT_THAT(std::vector(layout.kv_indptr, layout.kv_indptr + 3), ElementsAre(0, 1, 3));
  EXPECT_THAT(std::vector(layout.context_len, layout.context_len + 5), ElementsAre(1, 2, 2, 2, 2));
  EXPECT_THAT(std::vector(layout.tail_indptr, layout.tail_indptr + 6),
              ElementsAre(0, 0, 1, 3, 4, 7));
  EXPECT_THAT(std::vector(layout.tail_slots, layout.tail_slots + 7),
              ElementsAre(20, 20, 22, 21, 20, 22, 19));
}

TEST(ForwardBatchTest, ClearResets) {
  ForwardBatch batch;
  const std::vector<TokenId> token = {TokenId{4}};
  batch.AddTree(token, std::vector<int32_t>{-1}, std::vector<int32_t>{0}, std::vector<int32_t>{1});
  batch.Clear();
  EXPECT_EQ(batch.num_tokens(), 0);
  batch.AddChain(token, /*first_position=*/0, std::vector<int32_t>{8});
  const AttentionLayout layout = batch.layout();
  EXPECT_THAT(std::vector(layout.kv_indptr, layout.kv_indptr + 2), ElementsAre(0, 1));
  EXPECT_EQ(layout.seq_of_token[0], 0);
  EXPECT_EQ(layout.tail_indptr, nullptr);
}

TEST(ForwardBatchDeathTest, ParentsMustPrecedeChildren) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ForwardBatch batch;
  const std::vector<TokenId> tokens = {TokenId{4}, TokenId{5}};
  const std::vector<int32_t> prefix = {0}, nodes = {1, 2};
  EXPECT_DEATH(batch.AddTree(tokens, std::vector<int32_t>{-1, 1}, prefix, nodes), "parent");
  EXPECT_DEATH(batch.AddTree(tokens, std::vector<int32_t>{-2, 0}, prefix, nodes), "parent");
}

}  // namespace
}  // namespace shortlist
