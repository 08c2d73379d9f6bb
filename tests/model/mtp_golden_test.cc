// Four draft steps of tiny Qwen3.5 models with MTP layers against transformers' modules.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "kernels/isa.h"
#include "model/decoder.h"
#include "model/kv_cache.h"
#include "model/mtp_model.h"
#include "nlohmann/json.hpp"
#include "tests/model/model_fixture.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using nlohmann::json;

std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  for (const auto& file :
       std::filesystem::directory_iterator(SourcePath("tests/reference/golden/mtp"))) {
    names.push_back(file.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class MtpGoldenTest : public testing::TestWithParam<std::string> {
 protected:
  MtpGoldenTest()
      : golden_(
            ReadJsonFile(SourcePath("tests/reference/golden/mtp/" + GetParam() + ".json"), 1 << 20)
                .value()) {
    std::vector<StoredTensor> tensors;
    for (const auto& [name, shape] : golden_["tensors"].items()) {
      const auto extents = shape.get<std::vector<int64_t>>();
      tensors.push_back(MakeTensor(name, extents, GoldenWeights(name, extents), DType::kF32));
    }
    SHORTLIST_CHECK(WriteModel(dir_.path(), golden_["config"], tensors).ok());
    target_ = LoadOrDie(dir_.path(), DType::kF32, pool_);
    for (const auto& id : golden_["ids"]) ids_.push_back(TokenId{id.get<int32_t>()});
    prompt_len_ = golden_["prompt_len"].get<int64_t>();
  }
  ~MtpGoldenTest() override { SetIsa(DetectIsa()); }

  std::vector<float> Floats(const char* field) const {
    std::vector<float> values;
    for (const json& row : golden_[field]) {
      const auto floats = row.get<std::vector<float>>();
      values.insert(values.end(), floats.begin(), floats.end());
    }
    return values;
  }

  json golden_;
  TempDir dir_;
  ThreadPool pool_{/*num_threads=*/2};
  std::unique_ptr<Decoder> target_;
  std::vector<TokenId> ids_;
  int64_t prompt_len_ = 0;
};

TEST_P(MtpGoldenTest, StatesAndLogitsMatchTransformers) {
  const auto mtp = MtpModel::Load(ModelSource::OfDirectory(dir_.path()), *target_, pool_);
  ASSERT_TRUE(mtp.ok()) << mtp.status();
  constexpr int64_t kSteps = 4;
  const int64_t num_rows = prompt_len_ + kSteps - 1;
  for (const Isa isa : SupportedIsas()) {
    SCOPED_TRACE(IsaName(isa));
    SetIsa(isa);
    const std::vector<TokenId> prompt(ids_.begin(), ids_.begin() + prompt_len_);
    const std::vector<float> features = RunChain(*target_, prompt);
    EXPECT_LE(RelativeError(features, Floats("features")), 1e-4);

    KvCache cache = KvCache::Create((*mtp)->config(), num_rows, DType::kF32).value();
    const std::vector<int32_t> slots = Iota(num_rows);
    ForwardBatch batch;
    batch.AddChain(std::span(ids_).subspan(1, prompt_len_), 0, std::span(slots).first(prompt_len_));
    Matrix input = FromVector(features, target_->config().hidden);
    std::vector<float> states;
    for (int64_t step = 0; step < kSteps; ++step) {
      const auto prediction = (*mtp)->Forward(batch, input, cache);
      ASSERT_TRUE(prediction.ok()) << prediction.status();
      const std::vector<float> rows = ToVector(prediction->scored);
      states.insert(states.end(), rows.begin(), rows.end());
      const int64_t row = prompt_len_ + step;  // the next one
      if (row == num_rows) break;
      input = prediction->features.Rows(prediction->features.rows() - 1, 1);
      batch.Clear();
      batch.AddChain(std::span(ids_).subspan(row + 1, 1), row, std::span(slots).first(row + 1));
    }
    EXPECT_LE(RelativeError(states, Floats("states")), 1e-4);
    EXPECT_LE(RelativeError(Logits(*target_, states, pool_), Floats("logits")), 1e-4);
  }
}

TEST_P(MtpGoldenTest, DamagedLayersAreNamed) {
  const std::string weights = dir_.Join("model.safetensors");
  const std::vector<StoredTensor> whole = ReadSafetensors(weights).value();
  const auto error_with = [&](const auto& edit) {
    std::vector<StoredTensor> tensors = whole;
    edit(tensors);
    SHORTLIST_CHECK(WriteSafetensors(weights, tensors).ok());
    const ModelSource source = ModelSource::OfDirectory(dir_.path());  // of the new file
    return std::string(MtpModel::Load(source, *target_, pool_).status().message());
  };
  const auto without = [&](const std::string& name) {
    return error_with([&](std::vector<StoredTensor>& tensors) {
      std::erase_if(tensors, [&](const StoredTensor& tensor) { return tensor.name == name; });
    });
  };
  for (const char* name : {"mtp.fc.weight", "mtp.pre_fc_norm_hidden.weight", "mtp.norm.weight",
                           "mtp.layers.0.self_attn.q_norm.weight"}) {
    EXPECT_NE(without(name).find(name), std::string::npos) << without(name);
  }
  const auto renamed = error_with([](std::vector<StoredTensor>& tensors) {
    tensors.push_back(MakeTensor("mtp.extra.weight", {2}, {1, 2}, DType::kF32));
  });
  EXPECT_NE(renamed.find("mtp.extra.weight"), std::string::npos) << renamed;
  const auto second = error_with([](std::vector<StoredTensor>& tensors) {
    tensors.push_back(MakeTensor("mtp.layers.1.input_layernorm.weight", {2}, {1, 2}, DType::kF32));
  });
  EXPECT_NE(second.find("only one is supported"), std::string::npos) << second;
  EXPECT_EQ(error_with([](std::vector<StoredTensor>&) {}), "");
}

INSTANTIATE_TEST_SUITE_P(Cases, MtpGoldenTest, testing::ValuesIn(CaseNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace shortlist
