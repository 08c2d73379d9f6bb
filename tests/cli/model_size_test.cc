#include "cli/model_size.h"

#include <cstdint>
#include <set>

#include "gtest/gtest.h"

namespace shortlist {
namespace {

ModelConfig SmallConfig() {
  ModelConfig c;
  c.vocab_size = 100;
  c.hidden = 64;
  c.intermediate = 96;
  c.num_layers = 3;
  c.num_heads = 4;
  c.num_kv_heads = 2;
  c.head_dim = 16;
  c.qkv_bias = true;
  c.packing = {WeightPacking::Kind::kAwq, /*group_size=*/32};
  return c;
}

TEST(LargestPackedSizesTest, LinearLayersTakeFiveAndAHalfBits) {
  ModelConfig c = SmallConfig();
  const int64_t linear = 3 * (128 * 64 + 64 * 64 + 2 * 96 * 64 + 64 * 96);
  const int64_t vectors = 3 * (128 + 2 * 64) + 64;
  const int64_t tables = 2 * 100 * 64;
  const BlockSizes sizes = LargestPackedSizes(c, DType::kF16);
  EXPECT_EQ(sizes.types, (std::set<DType>{DType::kQ40, DType::kQ50}));
  EXPECT_EQ(sizes.bytes, linear * 11 / 16 + vectors * 4 + tables * 2);
  c.tie_word_embeddings = true;
  EXPECT_EQ(LargestPackedSizes(c, DType::kF16).bytes, sizes.bytes - 100 * 64 * 2);
}

TEST(LargestPackedSizesTest, NoneWhereLayersAreUnpacked) {
  const auto types = [](const WeightPacking& packing) {
    ModelConfig c = SmallConfig();
    c.packing = packing;
    return LargestPackedSizes(c, DType::kF16).types.size();
  };
  EXPECT_EQ(types({WeightPacking::Kind::kGptq, /*group_size=*/0}), 2u);
  EXPECT_EQ(types({WeightPacking::Kind::kGptq, /*group_size=*/16}), 0u);
  EXPECT_EQ(types({WeightPacking::Kind::kGptq, /*group_size=*/128, /*act_order=*/true}), 0u);
  EXPECT_EQ(types({}), 0u);
}

}  // namespace
}  // namespace shortlist
