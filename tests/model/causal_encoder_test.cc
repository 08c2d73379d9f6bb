#include "model/causal_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "nlohmann/json.hpp"
#include "tests/model/model_fixture.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using nlohmann::json;

/// A decoder of tests/reference/golden/decoders, whole or as its body.
class CausalEncoderTest : public testing::TestWithParam<const char*> {
 protected:
  std::string Write(const char* architecture, bool has_prefix, bool has_head) {
    const std::string path =
        SourcePath("tests/reference/golden/decoders/" + std::string(GetParam()) + ".json");
    const json golden = ReadJsonFile(path, 1 << 20).value();
    json config = golden["config"];
    if (architecture != nullptr) config["architectures"] = {architecture};
    dir_.Write("config.json", config.dump());
    std::vector<StoredTensor> tensors;
    for (const auto& [name, shape] : golden["tensors"].items()) {
      const bool is_head = name == "lm_head.weight";
      if (is_head && !has_head) continue;
      const auto extents = shape.get<std::vector<int64_t>>();
      const std::string stored = has_prefix || is_head ? name : name.substr(sizeof("model.") - 1);
      tensors.push_back(MakeTensor(stored, extents, GoldenWeights(name, extents), DType::kF32));
    }
    SHORTLIST_CHECK(WriteSafetensors(dir_.Join("model.safetensors"), tensors).ok());
    return dir_.path();
  }

  TempDir dir_;
  ThreadPool pool_{2};
};

std::vector<int32_t> Raws(const std::vector<TokenId>& tokens) {
  std::vector<int32_t> ids;
  for (const TokenId token : tokens) ids.push_back(Raw(token));
  return ids;
}

TEST_P(CausalEncoderTest, ABatchHasTheBitsOfItsSequencesAlone) {
  const std::string dir = Write(nullptr, /*has_prefix=*/true, /*has_head=*/true);
  const auto decoder = LoadOrDie(dir, std::nullopt, pool_);
  CausalEncoder encoder(*decoder);
  const int64_t vocab_size = decoder->config().vocab_size, hidden = decoder->config().hidden;
  const int64_t longest = decoder->config().context_len;
  // Enough for several passes.
  std::vector<int32_t> ids, begin = {0};
  std::vector<std::vector<TokenId>> texts;
  while (std::ssize(ids) < 3 * CausalEncoder::kPassTokens) {
    const int64_t length = 1 + (7 * std::ssize(texts)) % longest;
    texts.push_back(RandomTokens(length, vocab_size, texts.size()));
    for (const int32_t id : Raws(texts.back())) ids.push_back(id);
    begin.push_back(static_cast<int32_t>(ids.size()));
  }
  const auto states = encoder.Forward({.token_ids = ids, .seq_begin = begin});
  ASSERT_TRUE(states.ok()) << states.status();
  const std::vector<float> all = ToVector(*states);
  for (size_t s = 0; s < texts.size(); ++s) {
    const std::vector<float> alone = RunChain(*decoder, texts[s]);
    const std::vector<float> got(all.begin() + begin[s] * hidden,
                                 all.begin() + begin[s + 1] * hidden);
    ASSERT_EQ(got, alone) << "sequence " << s;
  }
}

TEST_P(CausalEncoderTest, ABodyAloneIsReadWithAndWithoutThePrefix) {
  const std::vector<int32_t> ids = {1, 2, 3, 4, 5}, begin = {0, 5};
  const auto states = [&](Decoder& decoder) {
    CausalEncoder encoder(decoder);
    return ToVector(encoder.Forward({.token_ids = ids, .seq_begin = begin}).value());
  };
  const auto whole = LoadOrDie(Write(nullptr, /*has_prefix=*/true, /*has_head=*/true), std::nullopt,
                               pool_);
  const std::vector<float> expected = states(*whole);
  const std::string architecture = ArchitectureName(whole->config().architecture);
  const std::string body = architecture.substr(0, architecture.find("ForCausalLM")) + "Model";
  for (const bool has_prefix : {true, false}) {
    const auto decoder =
        LoadOrDie(Write(body.c_str(), has_prefix, /*has_head=*/false), std::nullopt, pool_);
    EXPECT_FALSE(decoder->has_head());
    EXPECT_EQ(states(*decoder), expected);
  }
  // As Qwen3-Embedding is: named after the whole model, and without its head.
  const auto named = LoadOrDie(Write(nullptr, /*has_prefix=*/false, /*has_head=*/false),
                               DType::kF32, pool_, DType::kInt8);
  EXPECT_FALSE(named->has_head());
  // A head that nobody reads is no part of a body.
  const auto odd = Decoder::Load(Write(body.c_str(), /*has_prefix=*/true, /*has_head=*/true),
                                 std::nullopt, pool_);
  ASSERT_FALSE(odd.ok());
  EXPECT_THAT(std::string(odd.status().message()), testing::HasSubstr("lm_head"));
}

TEST_P(CausalEncoderTest, RefusesLengthsAndIdsWithTheBound) {
  const auto decoder = LoadOrDie(Write(nullptr, true, true), std::nullopt, pool_);
  CausalEncoder encoder(*decoder);
  const int64_t longest = decoder->config().context_len;
  const int64_t vocab_size = decoder->config().vocab_size;
  const auto message = [&](const std::vector<int32_t>& ids) {
    const std::vector<int32_t> begin = {0, static_cast<int32_t>(ids.size())};
    return std::string(
        encoder.Forward({.token_ids = ids, .seq_begin = begin}).status().message());
  };
  EXPECT_EQ(message(std::vector<int32_t>(longest, 1)), "");
  EXPECT_EQ(message(std::vector<int32_t>(longest + 1, 1)),
            "sequence 0 has " + std::to_string(longest + 1) + " tokens, not in [1, " +
                std::to_string(longest) + "]");
  EXPECT_EQ(message({}), "sequence 0 has 0 tokens, not in [1, " + std::to_string(longest) + "]");
  EXPECT_EQ(message({0, static_cast<int32_t>(vocab_size)}),
            "token id " + std::to_string(vocab_size) + " of token 1 not in [0, " +
                std::to_string(vocab_size) + ")");
}

INSTANTIATE_TEST_SUITE_P(Models, CausalEncoderTest,
                         testing::Values("llama_default", "mistral_default", "qwen2_default",
                                         "qwen3_default"));

}  // namespace
}  // namespace shortlist
