#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "base/weight_block.h"
#include "io/gguf/block_format.h"
#include "io/model_source.h"
#include "model/decoder.h"
#include "model/kv_cache.h"
#include "tests/io/gguf_writer.h"
#include "tests/model/model_fixture.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A model whose every matrix is in blocks, the three of a projection in blocks of their own types.
/// Tensors in `plain` are F32.
std::string FileInBlocks(bool has_head, bool is_finite, const std::set<std::string>& plain = {}) {
  struct Weight {
    const char* name;
    uint64_t in, out;
    DType dtype;
  };
  std::vector<Weight> weights = {
      {"token_embd", 256, 6, DType::kQ6K},          {"blk.0.attn_q", 256, 256, DType::kQ4K},
      {"blk.0.attn_k", 256, 128, DType::kQ5K},      {"blk.0.attn_v", 256, 128, DType::kQ6K},
      {"blk.0.attn_output", 256, 256, DType::kQ80}, {"blk.0.ffn_gate", 256, 320, DType::kQ4K},
      {"blk.0.ffn_up", 256, 320, DType::kQ41},      {"blk.0.ffn_down", 320, 256, DType::kQ50}};
  if (has_head) weights.push_back({"output", 256, 6, DType::kQ80});
  std::mt19937 random(9);
  std::vector<GgufTensor> tensors;
  std::string data;
  for (const char* norm : {"output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"}) {
    tensors.push_back({std::string(norm) + ".weight", {256}, 0, data.size()});
    for (int i = 0; i < 256; ++i) data += Bytes(1.0f + 0.001f * static_cast<float>(i % 7));
  }
  for (const Weight& weight : weights) {
    if (plain.contains(weight.name)) {
      tensors.push_back(
          {std::string(weight.name) + ".weight", {weight.in, weight.out}, 0, data.size()});
      for (uint64_t e = 0; e < weight.in * weight.out; ++e) {
        data += Bytes(0.001f * static_cast<float>(random() % 101) - 0.05f);
      }
      continue;
    }
    const BlockType& type = BlockTypeOf(weight.dtype);
    uint32_t id = 0;
    while (FindBlockFormat(id) == nullptr || FindBlockFormat(id)->stored != weight.dtype) ++id;
    tensors.push_back(
        {std::string(weight.name) + ".weight", {weight.in, weight.out}, id, data.size()});
    const int64_t num_blocks = static_cast<int64_t>(weight.in * weight.out) / type.num_elements;
    for (int64_t b = 0; b < num_blocks; ++b) {
      std::string block;
      for (int64_t i = 0; i < type.num_bytes; ++i) block += static_cast<char>(random());
      // Weights of about 0.05, whatever the codes are.
      const float size = type.has_scale_codes() ? 0.1f / 1000 : 0.1f / (1 << type.code_bits);
      const uint16_t scale = FloatToF16(size), min = FloatToF16(-0.05f);
      const uint16_t bits = is_finite || b > 0 ? scale : 0x7c00;
      std::memcpy(block.data() + type.scale_offset, &bits, 2);
      if (type.has_mins) {
        const uint16_t of_codes = FloatToF16(0.05f / 32);
        std::memcpy(block.data() + 2, type.has_scale_codes() ? &of_codes : &min, 2);
      }
      data += block;
    }
    data.resize((data.size() + 31) / 32 * 32);
  }
  const std::vector<std::string> pairs = SmallPairs(
      {IntPair("llama.embedding_length", 256), IntPair("llama.feed_forward_length", 320),
       IntPair("llama.attention.head_count", 4), IntPair("llama.attention.head_count_kv", 2)});
  return FileOf(pairs, tensors, 0) + data;
}

/// RunChain in chunks of `chunk` tokens.
std::vector<float> RunChunks(Decoder& decoder, const std::vector<TokenId>& tokens, int64_t chunk) {
  const auto num_tokens = std::ssize(tokens);
  KvCache cache = KvCache::Create(decoder.config(), num_tokens, decoder.dtype()).value();
  std::vector<int32_t> slots(tokens.size());
  std::iota(slots.begin(), slots.end(), 0);
  return RunChain(decoder, tokens, chunk, slots, cache);
}

TEST(GgufBlocksTest, WeightsStayInTheirBlocks) {
  ThreadPool pool(2);
  const TempDir dir;
  for (const bool has_head : {true, false}) {
    const auto source =
        ModelSource::Open(dir.Write("model.gguf", FileInBlocks(has_head, /*is_finite=*/true)));
    ASSERT_TRUE(source.ok()) << source.status();
    const auto decoder = Decoder::Load(*source, std::nullopt, pool);
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    EXPECT_EQ((*decoder)->weight_types(), "Q4_1+Q5_0+Q8_0+Q4_K+Q5_K+Q6_K");
    EXPECT_EQ((*decoder)->dtype(), DType::kBf16);
    EXPECT_EQ((*decoder)->embedding_weight().dtype, DType::kQ6K);
    EXPECT_EQ((*decoder)->head_weight().dtype, has_head ? DType::kQ80 : DType::kQ6K);
    EXPECT_EQ((*decoder)->head_weight().rows == (*decoder)->embedding_weight().rows, !has_head);

    const auto decoded = Decoder::Load(*source, DType::kBf16, pool);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ((*decoded)->weight_types(), "bf16");
    const std::vector<TokenId> tokens = RandomTokens(40, 6, /*seed=*/5);
    const std::vector<float> states = RunChain(**decoder, tokens);
    const std::vector<float> exact = RunChain(**decoded, tokens);
    // Inputs are rounded to 8 bits here, and weights and inputs to bf16 there.
    EXPECT_LT(RelativeError(states, exact), 0.03);
    EXPECT_LT(RelativeError(Logits(**decoder, states, pool), Logits(**decoded, exact, pool)), 0.03);
    EXPECT_EQ(RunChunks(**decoder, tokens, 1), states);
    EXPECT_EQ(RunChunks(**decoder, tokens, 7), states);

    const auto quantized = Decoder::Load(*source, std::nullopt, pool, DType::kInt8);
    ASSERT_TRUE(quantized.ok()) << quantized.status();
    EXPECT_EQ((*quantized)->weight_types(), "int8");
  }
  const auto source =
      ModelSource::Open(dir.Write("model.gguf", FileInBlocks(true, /*is_finite=*/false)));
  ASSERT_TRUE(source.ok()) << source.status();
  const auto infinite = Decoder::Load(*source, std::nullopt, pool);
  EXPECT_THAT(std::string(infinite.status().message()),
              AllOf(HasSubstr("model.embed_tokens.weight"), HasSubstr("NaN or infinite")));
}

/// Weights that are computed together, in blocks and not.
TEST(GgufBlocksTest, WeightsBesidePlainOnesAreDecoded) {
  ThreadPool pool(2);
  const TempDir dir;
  for (const std::set<std::string>& plain : std::vector<std::set<std::string>>{
           {"blk.0.ffn_up"}, {"blk.0.ffn_gate"}, {"blk.0.attn_k"}, {"token_embd"}, {"output"}}) {
    SCOPED_TRACE(*plain.begin());
    const auto source = ModelSource::Open(dir.Write("model.gguf", FileInBlocks(true, true, plain)));
    ASSERT_TRUE(source.ok()) << source.status();
    const auto decoder = Decoder::Load(*source, std::nullopt, pool);
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    const auto decoded = Decoder::Load(*source, DType::kF32, pool);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    const std::vector<TokenId> tokens = RandomTokens(20, 6, /*seed=*/5);
    const std::vector<float> states = RunChain(**decoder, tokens);
    const std::vector<float> exact = RunChain(**decoded, tokens);
    EXPECT_LT(RelativeError(states, exact), 0.04);
    EXPECT_LT(RelativeError(Logits(**decoder, states, pool), Logits(**decoded, exact, pool)), 0.04);
  }
}

}  // namespace
}  // namespace shortlist
