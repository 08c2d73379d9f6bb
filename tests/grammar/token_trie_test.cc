#include "grammar/token_trie.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace shortlist {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<TokenId> ToVector(std::span<const TokenId> ids) { return {ids.begin(), ids.end()}; }

TEST(TokenTrieTest, NodesAreByLevel) {
  const std::vector<std::string_view> tokens = {"b", "ab", "", "a", "ab", "xyz"};
  const TokenTrie trie(tokens);
  const ByteTrie& nodes = trie.nodes();
  EXPECT_EQ(trie.vocab_size(), 6);
  EXPECT_EQ(trie.max_token_bytes(), 3);
  ASSERT_EQ(nodes.num_nodes(), 7);  // "", a, b, x, ab, xy, xyz
  EXPECT_EQ(nodes.ChildrenOf(0).begin, 1);
  EXPECT_EQ(nodes.ChildrenOf(0).end, 4);
  EXPECT_EQ(nodes.ChildrenOf(2).begin, nodes.ChildrenOf(2).end);
  EXPECT_EQ(nodes.ByteOf(4), 'b');
  EXPECT_THAT(ToVector(trie.TokensAt(0)), IsEmpty());
  EXPECT_THAT(ToVector(trie.TokensAt(1)), ElementsAre(TokenId{3}));
  EXPECT_THAT(ToVector(trie.TokensAt(4)), ElementsAre(TokenId{1}, TokenId{4}));
  EXPECT_THAT(ToVector(trie.TokensAt(5)), IsEmpty());
  EXPECT_THAT(ToVector(trie.TokensAt(6)), ElementsAre(TokenId{5}));
  EXPECT_THAT(ToVector(trie.TokensFrom(1)), ElementsAre(TokenId{3}, TokenId{1}, TokenId{4}));
  EXPECT_THAT(ToVector(trie.TokensFrom(3)), ElementsAre(TokenId{5}));
  EXPECT_EQ(nodes.ChildOf(0, 'x'), 3);
  EXPECT_EQ(nodes.ChildOf(3, 'x'), std::nullopt);
  EXPECT_EQ(nodes.Find("xy"), 5);
  EXPECT_EQ(nodes.Find("b"), 2);
  EXPECT_EQ(nodes.Find("bb"), std::nullopt);
  EXPECT_EQ(trie.BytesOf(TokenId{4}), "ab");
  EXPECT_EQ(trie.BytesOf(TokenId{2}), "");
}

TEST(TokenTrieTest, NoTokensMakeOneNode) {
  EXPECT_EQ(TokenTrie({}).nodes().num_nodes(), 1);
  const std::vector<std::string_view> tokens = {"", ""};
  EXPECT_EQ(TokenTrie(tokens).nodes().num_nodes(), 1);
}

TEST(TokenTrieTest, RandomTokensAreFound) {
  std::mt19937 random(7);
  std::vector<std::string> tokens(2000);
  for (std::string& token : tokens) {
    for (uint32_t i = random() % 9; i > 0; --i) token += static_cast<char>(0xFD + random() % 5);
  }
  const TokenTrie trie(std::vector<std::string_view>(tokens.begin(), tokens.end()));
  size_t num_at_nodes = 0;
  for (int32_t node = 0; node < trie.nodes().num_nodes(); ++node)
    num_at_nodes += trie.TokensAt(node).size();
  size_t num_with_bytes = 0;
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id].empty()) continue;
    ++num_with_bytes;
    const auto node = trie.nodes().Find(tokens[id]);
    ASSERT_TRUE(node.has_value());
    EXPECT_THAT(trie.TokensAt(*node), testing::Contains(TokenId{static_cast<int32_t>(id)}));
  }
  EXPECT_EQ(num_at_nodes, num_with_bytes);
}

}  // namespace
}  // namespace shortlist
