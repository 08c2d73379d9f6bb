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

constexpr char kGolden[] = "tests/reference/golden/outputs/zero_shot/golden.json";
constexpr char kRules[] = "tests/reference/golden/outputs/zero_shot/rules.json";

/// `golden` has labels, logits, and scores for "one" that holds or "several".
void ExpectScores(const json& golden) {
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

TEST(ZeroShotTest, ScoresMatchTransformersPipeline) {
  ExpectScores(ReadJsonFile(kGolden, 1 << 16).value());
  const json rules = ReadJsonFile(kRules, 1 << 16).value();
  ASSERT_GE(rules["orders"].size(), 5u);
  for (const json& order : rules["orders"]) {
    SCOPED_TRACE(order["labels"]);
    ExpectScores(order);
  }
}

TEST(ZeroShotTest, LabelsAreFoundByName) {
  const auto found = [](const std::vector<std::string>& labels) {
    const auto place = FindEntailment(labels);
    return place.ok() ? std::pair(place->entails, place->contradicts) : std::pair<size_t, size_t>();
  };
  // Contradiction is where transformers looks for it, not where it is named.
  EXPECT_EQ(found({"neutral", "ENTAILMENT", "Contradiction"}), std::pair(size_t{1}, size_t{0}));
  EXPECT_EQ(found({"Entailed", "contradiction", "neutral"}), std::pair(size_t{0}, size_t{2}));
  EXPECT_EQ(found({"entailment", "not_entailment"}), std::pair(size_t{0}, size_t{1}));
  EXPECT_EQ(found({"not_entailment", "entailment"}), std::pair(size_t{1}, size_t{0}));
  EXPECT_FALSE(FindEntailment(std::vector<std::string>{"entailment"}).ok());
  EXPECT_THAT(
      std::string(FindEntailment(std::vector<std::string>{"joy", "anger"}).status().message()),
      HasSubstr("its labels are joy, anger"));
}

TEST(ZeroShotTest, TemplatesFollowPythonFormat) {
  const json rules = ReadJsonFile(kRules, 1 << 16).value();
  int num_refused = 0;
  for (const json& entry : rules["templates"]) {
    const auto parsed = ParseHypothesisTemplate(entry["template"].get<std::string>());
    const json text = parsed.ok() ? json(parsed->before + "label" + parsed->after) : json();
    if (entry["refused_here"] == true) {
      EXPECT_FALSE(parsed.ok()) << entry;
    } else {
      EXPECT_EQ(text, entry["text"]) << entry;
    }
    num_refused += parsed.ok() ? 0 : 1;
  }
  EXPECT_GE(num_refused, 8);
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

TEST_F(ZeroShotRouteTest, CandidatesAreScoredForEachText) {
  // Logits grow with the length of the hypothesis: softmax over the candidates shows it.
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

TEST_F(ZeroShotRouteTest, CommasSeparateLabels) {
  const json body = {{"input", "a"}, {"candidate_labels", " x, y z ,,"}};
  EXPECT_EQ(Post("/classify", body).at("data")[0].at("labels"), json({"x", "y z"}));
  const json one = {{"input", "a"}, {"candidate_labels", {"x, y"}}};
  EXPECT_EQ(Post("/classify", one).at("data")[0].at("labels"), json({"x, y"}));
}

TEST_F(ZeroShotRouteTest, BadFieldsAreRejectedWithValueAndBound) {
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
  EXPECT_THAT(refusal({{labels, " , ,"}}, labels), HasSubstr("empty"));
  std::string many = "x";
  for (int i = 0; i < 256; ++i) many += ",x";
  EXPECT_THAT(refusal({{labels, many}}, labels), HasSubstr("257 entries, more than 256"));
  EXPECT_THAT(refusal({{labels, "x," + std::string(1025, 'y')}}, labels),
              HasSubstr("1025 bytes, more than 1024"));
  EXPECT_THAT(refusal({{labels, 5}}, labels), HasSubstr("neither a string nor a list"));
  EXPECT_THAT(refusal({{labels, json(std::vector<std::string>(257, "x"))}}, labels),
              HasSubstr("256"));
  EXPECT_THAT(refusal({{"hypothesis_template", "none"}}, "hypothesis_template"), HasSubstr("{}"));
  EXPECT_THAT(refusal({{"hypothesis_template", "{} or {}"}}, "hypothesis_template"),
              HasSubstr("more than one {}"));
  EXPECT_THAT(refusal({{"multi_label", "yes"}}, "multi_label"),
              HasSubstr("neither true nor false"));
  EXPECT_THAT(refusal({{"raw_scores", true}}, "raw_scores"), HasSubstr("candidate_labels"));
  EXPECT_THAT(refusal({{"input", {1, 2}}}, "input"), HasSubstr("token ids"));
  // A pair that is too long is named as its text.
  EXPECT_THAT(refusal({{"input", {"a", std::string("b b b b b b b b b b b b b b b")}}}, "input[1]"),
              HasSubstr("more than 16 tokens"));
}

TEST_F(EncoderTest, ZeroShotRequiresEntailmentModel) {
  AddScores("judge", 2);
  StartAll();
  const json error =
      Post("/classify", {{"input", "a"}, {"candidate_labels", {"x"}}}, 400).at("error");
  EXPECT_EQ(error.at("param"), "model");
  EXPECT_THAT(error.at("message").get<std::string>(), HasSubstr("its labels are LABEL_0, LABEL_1"));
}

}  // namespace
}  // namespace shortlist
