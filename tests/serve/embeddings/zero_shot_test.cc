#include "serve/embeddings/zero_shot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "nlohmann/json.hpp"
#include "tests/serve/embeddings/encoder_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(ZeroShotTest, ScoresAreTransformersPipelines) {
  const json golden =
      ReadJsonFile("tests/reference/golden/outputs/zero_shot/golden.json", 1 << 16).value();
  const auto labels = FindEntailment(golden["labels"].get<std::vector<std::string>>());
  ASSERT_TRUE(labels.ok()) << labels.status();
  const auto logits = golden["logits"].get<std::vector<std::vector<float>>>();
  for (const auto& [name, multi_label] : {std::pair("one", false), std::pair("several", true)}) {
    const std::vector<float> scores = ZeroShotScores(logits, *labels, multi_label);
    for (size_t i = 0; i < scores.size(); ++i) {
      EXPECT_NEAR(scores[i], golden[name][i].get<double>(), 1e-6) << name << " " << i;
    }
  }
}

TEST(ZeroShotTest, LabelsAreFoundByTheirNames) {
  const auto found = [](const std::vector<std::string>& labels) {
    const auto place = FindEntailment(labels);
    return place.ok() ? std::pair(place->entails, place->contradicts) : std::pair<size_t, size_t>();
  };
  EXPECT_EQ(found({"neutral", "ENTAILMENT", "Contradiction"}), std::pair(size_t{1}, size_t{2}));
  EXPECT_EQ(found({"entailment", "not_entailment"}), std::pair(size_t{0}, size_t{1}));
  EXPECT_EQ(found({"not_entailment", "entailment"}), std::pair(size_t{1}, size_t{0}));
  EXPECT_FALSE(FindEntailment(std::vector<std::string>{"entailment"}).ok());
  EXPECT_THAT(
      std::string(FindEntailment(std::vector<std::string>{"joy", "anger"}).status().message()),
      HasSubstr("its labels are joy, anger"));
}

class ZeroShotRouteTest : public EncoderTest {
 protected:
  ZeroShotRouteTest() {
    AddScores("judge", /*num_labels=*/3);
    ServedEncoder described = encoders_[0]->described();
    described.labels = {"entailment", "neutral", "contradiction"};
    encoders_[0] = std::make_unique<FakeEncoder>(described);
    StartAll();
  }
};

TEST_F(ZeroShotRouteTest, CandidatesAreJudgedForEachText) {
  // The longer the hypothesis the larger all logits are: softmax over the candidates tells.
  const json body = {{"input", {"a", "b c"}},
                     {"candidate_labels", {"x", "y z"}},
                     {"hypothesis_template", "it {}"}};
  const json data = Post("/classify", body).at("data");
  ASSERT_EQ(data.size(), 2u);
  for (const json& entry : data) {
    EXPECT_EQ(entry.at("label"), "y z");
    EXPECT_EQ(entry.at("labels"), json({"x", "y z"}));
    EXPECT_EQ(entry.at("num_classes"), 2);
    EXPECT_NEAR(entry.at("probs")[1].get<double>(), 1.0 / (1.0 + std::exp(-1.0)), 1e-6);
  }
  json several = body;
  several["multi_label"] = true;  // entailment's logit is 2 above contradiction's
  const json independent = Post("/v1/classify", several);
  for (const json& probability : independent.at("data")[1].at("probs")) {
    EXPECT_NEAR(probability.get<double>(), 1.0 / (1.0 + std::exp(-2.0)), 1e-6);
  }
}

TEST_F(ZeroShotRouteTest, FieldsAreRefusedWithValueAndBound) {
  const auto refusal = [&](const json& fields, const std::string& param) {
    json body = {{"input", {"a", "b"}}, {"candidate_labels", {"x", "y"}}};
    body.update(fields);
    const json error = Post("/classify", body, 400).at("error");
    EXPECT_EQ(error.at("param"), param) << error;
    return error.at("message").get<std::string>();
  };
  const char* const labels = "candidate_labels";
  EXPECT_THAT(refusal({{labels, json::array()}}, labels), HasSubstr("empty"));
  EXPECT_THAT(refusal({{labels, {"x", ""}}}, labels), HasSubstr("empty"));
  EXPECT_THAT(refusal({{labels, 5}}, labels), HasSubstr("neither a string nor a list"));
  EXPECT_THAT(refusal({{labels, json(std::vector<std::string>(257, "x"))}}, labels),
              HasSubstr("256"));
  EXPECT_THAT(refusal({{"hypothesis_template", "none"}}, "hypothesis_template"), HasSubstr("{}"));
  EXPECT_THAT(refusal({{"multi_label", "yes"}}, "multi_label"),
              HasSubstr("neither true nor false"));
  EXPECT_THAT(refusal({{"raw_scores", true}}, "raw_scores"), HasSubstr("candidate_labels"));
  EXPECT_THAT(refusal({{"input", {1, 2}}}, "input"), HasSubstr("token ids"));
  // A pair that is too long is named as its text.
  EXPECT_THAT(refusal({{"input", {"a", std::string("b b b b b b b b b b b b b b b")}}}, "input[1]"),
              HasSubstr("more than 16 tokens"));
}

TEST_F(EncoderTest, ZeroShotWantsAModelThatEntails) {
  AddScores("judge", 2);
  StartAll();
  const json error =
      Post("/classify", {{"input", "a"}, {"candidate_labels", {"x"}}}, 400).at("error");
  EXPECT_EQ(error.at("param"), "model");
  EXPECT_THAT(error.at("message").get<std::string>(), HasSubstr("its labels are LABEL_0, LABEL_1"));
}

}  // namespace
}  // namespace shortlist
