#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/isa.h"
#include "kernels/matrix.h"
#include "model/eagle_model.h"
#include "tests/model/golden_file.h"
#include "tests/model/model_fixture.h"

namespace shortlist {
namespace {

class GoldenTest : public testing::TestWithParam<const char*> {
 protected:
  ~GoldenTest() override { SetIsa(DetectIsa()); }
  ThreadPool pool_{/*num_threads=*/2};
};

class LlamaGoldenTest : public GoldenTest {};
class EagleGoldenTest : public GoldenTest {};

TEST_P(LlamaGoldenTest, LogitsMatchTransformersInEveryDTypeAndIsa) {
  const Golden golden = ReadGolden(GoldenDir(GetParam()) + "/golden.safetensors");
  const std::vector<TokenId>& ids = golden.ids.at("input_ids");
  const std::vector<float>& want = golden.floats.at("logits");
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBf16}) {
    const auto decoder = LoadOrDie(GoldenDir(GetParam()), dtype, pool_);
    for (const Isa isa : SupportedIsas()) {
      SCOPED_TRACE(std::string(DTypeName(dtype)) + " " + IsaName(isa));
      SetIsa(isa);
      const std::vector<float> got = Logits(*decoder, RunChain(*decoder, ids), pool_);
      ExpectClose(dtype, got, want, decoder->config().vocab_size);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, LlamaGoldenTest,
                         testing::Values("llama_mha", "llama_gqa_tied", "llama_linear",
                                         "llama_llama3", "llama_bf16", "llama_f16",
                                         "llama_sharded"),
                         [](const auto& info) { return std::string(info.param); });

TEST(LlamaGoldenDTypeTest, DefaultsToDTypeOfFiles) {
  ThreadPool pool(/*num_threads=*/1);
  EXPECT_EQ(LoadOrDie(GoldenDir("llama_mha"), std::nullopt, pool)->dtype(), DType::kF32);
  EXPECT_EQ(LoadOrDie(GoldenDir("llama_f16"), std::nullopt, pool)->dtype(), DType::kF16);
  EXPECT_EQ(LoadOrDie(GoldenDir("llama_bf16"), std::nullopt, pool)->dtype(), DType::kBf16);
}

TEST_P(EagleGoldenTest, PredictedFeaturesMatchPyTorch) {
  const Golden golden = ReadGolden(GoldenDir(GetParam()) + "/golden.safetensors");
  const std::vector<TokenId>& next_ids = golden.ids.at("next_ids");
  const std::vector<float>& want = golden.floats.at("predicted");
  const int64_t num_tokens = static_cast<int64_t>(next_ids.size());
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBf16}) {
    const auto target = LoadOrDie(GoldenDir(GetParam()) + "/target", dtype, pool_);
    auto draft = EagleModel::Load(ModelSource::OfDirectory(GoldenDir(GetParam()) + "/draft"),
                                  *target, pool_);
    ASSERT_TRUE(draft.ok()) << draft.status();
    const ModelConfig& config = (*draft)->config();
    const Matrix features = FromVector(golden.floats.at("features"), config.hidden);
    for (const Isa isa : SupportedIsas()) {
      SCOPED_TRACE(std::string(DTypeName(dtype)) + " " + IsaName(isa));
      SetIsa(isa);
      KvCache cache = KvCache::Create(config, num_tokens, dtype).value();
      ForwardBatch batch;
      batch.AddChain(next_ids, /*first_position=*/0, Iota(num_tokens));
      const auto out = (*draft)->Forward(batch, features, cache);
      ASSERT_TRUE(out.ok()) << out.status();
      ExpectClose(dtype, ToVector(out->features), want, config.hidden);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EagleGoldenTest,
                         testing::Values("eagle", "eagle_bias_2_layers", "eagle_qwen2_padded",
                                         "eagle_qwen2_2_layers_fewer_rows", "eagle_qwen3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace shortlist
