#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "model/decoder.h"
#include "nlohmann/json.hpp"
#include "tests/model/model_fixture.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using nlohmann::json;

/// A decoder of tests/reference/golden/decoders, whole or as its body.
class DecoderBodyTest : public testing::TestWithParam<const char*> {
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

TEST_P(DecoderBodyTest, BodyIsReadWithAndWithoutPrefix) {
  const auto states = [](Decoder& decoder) {
    return RunChain(decoder, {TokenId{1}, TokenId{2}, TokenId{3}, TokenId{4}, TokenId{5}});
  };
  const auto whole =
      LoadOrDie(Write(nullptr, /*has_prefix=*/true, /*has_head=*/true), std::nullopt, pool_);
  const std::vector<float> expected = states(*whole);
  const std::string architecture = whole->config().architecture;
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
  // An unread head is no part of a body.
  const auto odd = Decoder::Load(
      ModelSource::OfDirectory(Write(body.c_str(), /*has_prefix=*/true, /*has_head=*/true)),
      std::nullopt, pool_);
  ASSERT_FALSE(odd.ok());
  EXPECT_THAT(std::string(odd.status().message()), testing::HasSubstr("lm_head"));
}

INSTANTIATE_TEST_SUITE_P(Models, DecoderBodyTest,
                         testing::Values("llama_default", "mistral_default", "qwen2_default",
                                         "qwen3_default"));

}  // namespace
}  // namespace shortlist
