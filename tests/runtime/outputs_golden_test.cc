// Compares outputs of models, from the text to the result, with
// tests/reference/make_outputs_golden.py.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "nlohmann/json.hpp"
#include "runtime/encoding_model.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr double kTolerance = 1e-4;

void ExpectNear(const std::vector<float>& got, const json& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i].get<double>(), kTolerance);
}

void ExpectSparse(const std::vector<SparseWeight>& got, const json& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(Raw(got[i].id), want[i][0].get<int32_t>());
    EXPECT_NEAR(got[i].weight, want[i][1].get<double>(), kTolerance);
  }
}

class OutputsGoldenTest : public testing::TestWithParam<const char*> {
 protected:
  void Open(const std::string& name) {
    const std::string dir = SourcePath("tests/reference/golden/outputs/" + name);
    golden_ = ReadJsonFile(dir + "/golden.json", 1 << 20).value();
    auto model = EncodingModel::Open({.model = dir}, pool_);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    for (const json& entry : golden_["texts"]) {
      const auto input = model_->Prepare("", entry["text"].get<std::string>(), std::nullopt, {});
      ASSERT_TRUE(input.ok()) << input.status();
      std::vector<int32_t> ids;
      for (const TokenId id : input->ids) ids.push_back(Raw(id));
      EXPECT_EQ(ids, entry["ids"].get<std::vector<int32_t>>());
      inputs_.push_back(*input);
    }
  }

  std::vector<EncodeResult> Encode(const EncodeWish& wish) {
    std::vector<EncodingLoop::Item> items;
    for (const EncodeInput& input : inputs_) items.push_back({&input, &wish});
    std::vector<EncodeResult> results = model_->Encode(items);
    for (const EncodeResult& result : results) EXPECT_TRUE(result.status.ok()) << result.status;
    return results;
  }

  ThreadPool pool_{/*num_threads=*/2};
  json golden_;
  std::unique_ptr<EncodingModel> model_;
  std::vector<EncodeInput> inputs_;
};

TEST_F(OutputsGoldenTest, BgeM3ReturnsThreeVectorsInOnePass) {
  Open("bge_m3");
  const auto results = Encode({.sparse = true, .multi_vector = true});
  for (size_t i = 0; i < results.size(); ++i) {
    SCOPED_TRACE(i);
    const json& want = golden_["texts"][i];
    ExpectNear(results[i].values, want["dense"]);
    ExpectSparse(results[i].sparse, want["sparse"]);
    std::vector<double> vectors;
    for (const json& row : want["multi_vector"]) {
      for (const json& value : row) vectors.push_back(value.get<double>());
    }
    ExpectNear(results[i].multi_vector, vectors);
  }
}

TEST_F(OutputsGoldenTest, MaxSimScoresTexts) {
  Open("bge_m3");
  const auto vectors = Encode({.dense = false, .multi_vector = true});
  for (size_t q = 0; q < vectors.size(); ++q) {
    const auto query = std::make_shared<const std::vector<float>>(vectors[q].multi_vector);
    const auto scores = Encode({.query = query});
    for (size_t i = 0; i < scores.size(); ++i)
      ExpectNear(scores[i].values, json::array({golden_["scores"][q][i]}));
  }
}

TEST_F(OutputsGoldenTest, BitsAreIndependentOfOtherOutputs) {
  Open("bge_m3");
  const EncodeWish all{.sparse = true, .multi_vector = true};
  const EncodeWish wishes[] = {
      {}, {.dense = false, .sparse = true}, {.dense = false, .multi_vector = true}, all};
  const auto want = Encode(all);
  // Neighbours that wish for different things.
  std::vector<EncodingLoop::Item> items;
  for (size_t i = 0; i < 12; ++i)
    items.push_back({&inputs_[i % inputs_.size()], &wishes[i * i % 4]});
  items.push_back({&inputs_[1], &wishes[1]});
  items.push_back({&inputs_[2], &wishes[2]});
  const auto got = model_->Encode(items);
  for (size_t i = 0; i < items.size(); ++i) {
    const EncodeResult& whole = want[items[i].input - inputs_.data()];
    const EncodeWish& wish = *items[i].wish;
    EXPECT_EQ(got[i].values, wish.dense ? whole.values : std::vector<float>());
    EXPECT_EQ(got[i].sparse, wish.sparse ? whole.sparse : std::vector<SparseWeight>());
    EXPECT_EQ(got[i].multi_vector, wish.multi_vector ? whole.multi_vector : std::vector<float>());
    const auto alone = model_->Encode({&items[i], 1});
    EXPECT_EQ(alone[0].sparse, got[i].sparse);
    EXPECT_EQ(alone[0].multi_vector, got[i].multi_vector);
  }
}

TEST_F(OutputsGoldenTest, DecoderClassifierIgnoresTrailingPadding) {
  // As transformers' GenericForSequenceClassification, which pools the last token that is not
  // pad_token_id, 0 here.
  Open("classifier_qwen3");
  const auto score = [&](const std::vector<int32_t>& raw) {
    std::vector<TokenId> ids;
    for (const int32_t id : raw) ids.push_back(TokenId{id});
    const EncodeInput input = model_->Prepare(ids, {}).value();
    const EncodeWish wish;
    const EncodingLoop::Item item{&input, &wish};
    return model_->Encode({&item, 1})[0].values;
  };
  EXPECT_EQ(score({5, 6, 7, 0}), score({5, 6, 7}));
  EXPECT_EQ(score({5, 6, 7, 0, 0}), score({5, 6, 7}));
  EXPECT_NE(score({5, 0, 7}), score({5, 7}));
  EXPECT_EQ(score({0, 0}), score({0}));
}

TEST_F(OutputsGoldenTest, UnsupportedOutputIsRejectedByName) {
  Open("splade_sentence_transformers");
  const auto status = [&](const EncodeWish& wish) {
    const EncodingLoop::Item item{&inputs_[0], &wish};
    return std::string(model_->Encode({&item, 1})[0].status.message());
  };
  EXPECT_NE(status({}).find("no dense vectors"), std::string::npos);
  EXPECT_NE(status({.dense = false, .multi_vector = true}).find("no multi-vectors"),
            std::string::npos);
  Open("classifier_llama");
  EXPECT_TRUE(model_->makes_scores());
  EXPECT_EQ(model_->outputs().MaxSparseWeights(100), 0);
}

class SpladeGoldenTest : public OutputsGoldenTest {};

TEST_P(SpladeGoldenTest, WeightsMatchReference) {
  Open(GetParam());
  const auto results = Encode({.dense = false, .sparse = true});
  for (size_t i = 0; i < results.size(); ++i) {
    ExpectSparse(results[i].sparse, golden_["texts"][i]["sparse"]);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SpladeGoldenTest,
                         testing::Values("splade_bert", "splade_distilbert", "splade_roberta",
                                         "splade_sentence_transformers", "splade_untied"),
                         [](const auto& info) { return info.param; });

class LabelGoldenTest : public OutputsGoldenTest {};

TEST_P(LabelGoldenTest, LabelsAndScoresMatchTransformers) {
  Open(GetParam());
  EXPECT_EQ(model_->labels(), golden_["labels"].get<std::vector<std::string>>());
  const auto logits = Encode({.scores = EncodeWish::Scores::kRaw});
  const auto scores = Encode({});
  for (size_t i = 0; i < scores.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectNear(logits[i].values, golden_["texts"][i]["logits"]);
    ExpectNear(scores[i].values, golden_["texts"][i]["scores"]);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, LabelGoldenTest,
                         testing::Values("classifier_llama", "classifier_qwen2", "classifier_qwen3",
                                         "classifier_distilbert", "classifier_roberta",
                                         "classifier_nli"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace shortlist
