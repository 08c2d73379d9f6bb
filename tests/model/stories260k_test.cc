#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/file.h"
#include "tests/model/model_fixture.h"
#include "tests/support/llama2c.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

/// The first fenced block after "run stories260K/stories260K.bin ... -t 0.0" of the model's page.
std::string ReferenceText(const std::string& page) {
  const std::string command = "-t 0.0\n";
  const size_t begin = page.find(command) + command.size();
  return page.substr(begin, page.find("\n```", begin) - begin);
}

TEST(Stories260KTest, GreedyTextMatchesReference) {
  const auto dir = FindSharedData("weights/stories260K");
  if (!dir) GTEST_SKIP() << "shared data absent: weights/stories260K";
  TempDir converted;
  ASSERT_TRUE(WriteStories260K(*dir + "/stories260K.bin", converted.path()).ok());
  const auto pieces = ReadLlama2cPieces(*dir + "/tok512.bin", /*vocab_size=*/512);
  ASSERT_TRUE(pieces.ok()) << pieces.status();
  const auto page = ReadFile(*dir + "/stories260K.md", /*max_bytes=*/1 << 20);
  ASSERT_TRUE(page.ok()) << page.status();
  const std::string expected = ReferenceText(*page);
  ASSERT_GT(expected.size(), 500u);

  ThreadPool pool(/*num_threads=*/2);
  const auto decoder = LoadOrDie(converted.path(), /*dtype=*/std::nullopt, pool);
  EXPECT_EQ(decoder->dtype(), DType::kF32);
  constexpr int64_t kSteps = 256;  // llama2.c's default
  KvCache cache = KvCache::Create(decoder->config(), kSteps, decoder->dtype()).value();
  const std::vector<int32_t> slots = Iota(kSteps);
  const TokenId bos{1};
  std::vector<TokenId> emitted;
  TokenId token = bos;
  ForwardBatch batch;
  for (int64_t position = 0; position < kSteps; ++position) {
    batch.Clear();
    batch.AddChain(std::span(&token, 1), position, std::span(slots).first(position + 1));
    const auto hidden = decoder->Forward(batch, cache);
    ASSERT_TRUE(hidden.ok()) << hidden.status();
    const std::vector<float> logits = Logits(*decoder, ToVector(*hidden), pool);
    token = TokenId(std::max_element(logits.begin(), logits.end()) - logits.begin());
    if (token == bos) break;
    emitted.push_back(token);
  }
  EXPECT_EQ(DecodeLlama2c(*pieces, emitted), expected);
}

}  // namespace
}  // namespace shortlist
