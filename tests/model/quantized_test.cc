// Compares decoders with quantised weights and with the same weights unquantised.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/isa.h"
#include "model/eagle_model.h"
#include "tests/model/model_fixture.h"
#include "tests/support/llama2c.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_llama.h"

namespace shortlist {
namespace {

constexpr DType kQuantDTypes[] = {DType::kInt8, DType::kInt4};

/// Returns `prompt` and `count` greedy tokens after it.
std::vector<TokenId> Continue(Decoder& decoder, std::vector<TokenId> tokens, int64_t count,
                              ThreadPool& pool) {
  const int64_t num_slots = static_cast<int64_t>(tokens.size()) + count;
  KvCache cache = KvCache::Create(decoder.config(), num_slots, decoder.dtype()).value();
  const std::vector<int32_t> slots = Iota(num_slots);
  std::vector<float> hidden = RunChain(decoder, tokens, num_slots, slots, cache);
  ForwardBatch batch;
  for (int64_t i = 0; i < count; ++i) {
    hidden.erase(hidden.begin(), hidden.end() - decoder.config().hidden);
    const std::vector<float> logits = Logits(decoder, hidden, pool);
    tokens.push_back(TokenId(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    batch.Clear();
    const int64_t position = static_cast<int64_t>(tokens.size()) - 1;
    batch.AddChain(std::span(&tokens.back(), 1), position, std::span(slots).first(position + 1));
    hidden = ToVector(decoder.Forward(batch, cache).value());
  }
  return tokens;
}

/// Loads `dir` unquantised and quantised and compares the logits of one sequence.
void ExpectCloseToUnquantized(const std::string& dir, int64_t num_random, int64_t num_greedy) {
  ThreadPool pool(/*num_threads=*/2);
  const auto decoder = LoadOrDie(dir, std::nullopt, pool);
  const int64_t vocab_size = decoder->config().vocab_size;
  const std::vector<TokenId> tokens =
      Continue(*decoder, RandomTokens(num_random, vocab_size, /*seed=*/3), num_greedy, pool);
  const std::vector<float> want = Logits(*decoder, RunChain(*decoder, tokens), pool);
  for (const DType dtype : kQuantDTypes) {
    const auto quantized = LoadOrDie(dir, std::nullopt, pool, dtype);
    EXPECT_EQ(quantized->dtype(), decoder->dtype());
    EXPECT_EQ(quantized->weight_dtype(), dtype);
    for (const Isa isa : SupportedIsas()) {
      if (isa == Isa::kScalar && vocab_size > 1000) continue;
      SetIsa(isa);
      const std::vector<float> got = Logits(*quantized, RunChain(*quantized, tokens), pool);
      const std::vector<double> cosines = Cosines(got, want, vocab_size);
      const double mean = std::accumulate(cosines.begin(), cosines.end(), 0.0) / cosines.size();
      std::printf("%s %s: cosine %.5f, least %.5f of %zu positions\n", DTypeName(dtype),
                  IsaName(isa), mean, *std::min_element(cosines.begin(), cosines.end()),
                  tokens.size());
      EXPECT_GE(mean, dtype == DType::kInt8 ? 0.999 : 0.98) << DTypeName(dtype) << IsaName(isa);
    }
    SetIsa(DetectIsa());
  }
}

TEST(QuantizedTest, DemoTargetIsCloseToUnquantized) {
  ExpectCloseToUnquantized(SourcePath("models/demo/target"), /*num_random=*/4, /*num_greedy=*/60);
}

TEST(QuantizedTest, RandomModelIsCloseToUnquantized) {
  TempDir dir;
  TinyLlamaOptions options;
  options.vocab_size = 700;
  options.hidden = 328;
  options.intermediate = 840;
  options.num_layers = 8;
  options.num_heads = 8;
  options.num_kv_heads = 2;
  options.head_dim = 40;
  options.dtype = DType::kBf16;
  ASSERT_TRUE(WriteTinyLlama(dir.path(), options, /*seed=*/5).ok());
  ExpectCloseToUnquantized(dir.path(), /*num_random=*/60, /*num_greedy=*/0);
}

TEST(QuantizedTest, Stories260KIsCloseToUnquantized) {
  const auto dir = FindSharedData("weights/stories260K");
  if (!dir) GTEST_SKIP() << "shared data absent: weights/stories260K";
  TempDir converted;
  ASSERT_TRUE(WriteStories260K(*dir + "/stories260K.bin", converted.path()).ok());
  ExpectCloseToUnquantized(converted.path(), /*num_random=*/1, /*num_greedy=*/100);
}

TEST(QuantizedTest, TiedHeadIsQuantizedCopy) {
  TempDir dir;
  TinyLlamaOptions options;
  options.tied = true;
  options.dtype = DType::kBf16;
  ASSERT_TRUE(WriteTinyLlama(dir.path(), options, /*seed=*/5).ok());
  ThreadPool pool(/*num_threads=*/1);
  const auto decoder = LoadOrDie(dir.path(), std::nullopt, pool, DType::kInt8);
  EXPECT_EQ(decoder->dtype(), DType::kBf16);
  EXPECT_EQ(decoder->embedding_weight().dtype, DType::kBf16);
  EXPECT_EQ(decoder->head_weight().dtype, DType::kInt8);
  EXPECT_NE(decoder->head_weight().rows, decoder->embedding_weight().rows);
}

TEST(QuantizedTest, ChunksAndThreadsKeepBits) {
  TempDir dir;
  ASSERT_TRUE(WriteTinyLlama(dir.path(), TinyLlamaOptions(), /*seed=*/6).ok());
  const std::vector<TokenId> tokens = RandomTokens(40, /*vocab_size=*/96, /*seed=*/7);
  for (const DType dtype : kQuantDTypes) {
    std::vector<float> expected;
    for (const int num_threads : {1, 2, 3}) {
      ThreadPool pool(num_threads);
      const auto decoder = LoadOrDie(dir.path(), std::nullopt, pool, dtype);
      for (const int64_t chunk : {40, 1, 7, 16}) {
        KvCache cache = KvCache::Create(decoder->config(), 40, decoder->dtype()).value();
        const std::vector<float> hidden = RunChain(*decoder, tokens, chunk, Iota(40), cache);
        if (expected.empty()) expected = hidden;
        ASSERT_EQ(hidden, expected)
            << DTypeName(dtype) << " threads " << num_threads << " chunk " << chunk;
      }
    }
  }
}

TEST(QuantizedTest, NanWeightIsRejectedByName) {
  TempDir dir;
  ASSERT_TRUE(WriteTinyLlama(dir.path(), TinyLlamaOptions(), /*seed=*/6).ok());
  const std::string path = dir.path() + "/model.safetensors";
  std::FILE* file = std::fopen(path.c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  const float bad = std::numeric_limits<float>::infinity();
  ASSERT_EQ(std::fseek(file, -4, SEEK_END), 0);
  ASSERT_EQ(std::fwrite(&bad, sizeof(bad), 1, file), 1u);
  std::fclose(file);
  ThreadPool pool(/*num_threads=*/1);
  for (const DType dtype : kQuantDTypes) {
    const auto decoder =
        Decoder::Load(ModelSource::OfDirectory(dir.path()), std::nullopt, pool, dtype);
    ASSERT_TRUE(absl::IsInvalidArgument(decoder.status())) << decoder.status();
    EXPECT_NE(decoder.status().message().find("NaN or infinite"), std::string::npos);
    EXPECT_NE(decoder.status().message().find("tensor "), std::string::npos);
  }
}

}  // namespace
}  // namespace shortlist
