#include "embed/classifier_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/embed/embed_testing.h"
#include "tests/embed/model_dir.h"

namespace shortlist {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
constexpr char kConfig[] = "config.json";
constexpr char kModel[] = "config_sentence_transformers.json";

ModelDir GoodDir() {
  return ModelDir({{kConfig,
                    {{"architectures", {"ModernBertForSequenceClassification"}},
                     {"hidden_size", 8},
                     {"id2label", {{"0", "no"}, {"1", "maybe"}, {"2", "yes"}}},
                     {"classifier_pooling", "mean"},
                     {"classifier_activation", "silu"},
                     {"classifier_bias", true},
                     {"norm_bias", true},
                     {"norm_eps", 1e-3}}}});
}

/// Files that make it a CrossEncoder of sentence-transformers.
void AddCrossEncoderModules(ModelDir& dir) {
  dir.Change("modules.json", "/0",
             R"({"path": "", "type": "sentence_transformers.models.Transformer"})");
  dir.Change(kModel, "/model_type", "\"CrossEncoder\"");
}

TEST(ClassifierConfigTest, ReadsEveryField) {
  ModelDir dir = GoodDir();
  const auto config = ReadClassifierConfig(ModelSource::OfDirectory(dir.Write()));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->architecture, ClassifierConfig::Architecture::kModernBert);
  EXPECT_EQ(config->hidden, 8);
  EXPECT_THAT(config->labels, testing::ElementsAre("no", "maybe", "yes"));
  EXPECT_EQ(config->score_function, ScoreFunction::kSoftmax);
  EXPECT_EQ(config->pooling, Pooling::kMean);
  EXPECT_EQ(config->activation, HeadActivation::kSilu);
  EXPECT_TRUE(config->dense_has_bias);
  EXPECT_TRUE(config->norm_has_bias);
  EXPECT_EQ(config->norm_eps, 1e-3);
  EXPECT_TRUE(IsSequenceClassifier(ModelSource::OfDirectory(dir.dir().path())));
}

TEST(ClassifierConfigTest, LabelsDefaultToTwoLikeTransformers) {
  ModelDir dir = GoodDir();
  dir.Change(kConfig, "/id2label", nullptr);
  auto config = ReadClassifierConfig(ModelSource::OfDirectory(dir.Write()));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->labels, testing::ElementsAre("LABEL_0", "LABEL_1"));
  dir.Change(kConfig, "/num_labels", "1");
  config = ReadClassifierConfig(ModelSource::OfDirectory(dir.Write()));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->labels, testing::ElementsAre("LABEL_0"));
  EXPECT_EQ(config->score_function, ScoreFunction::kSigmoid);
}

TEST(ClassifierConfigTest, NewerScoreFunctionFieldsOverrideOlder) {
  ModelDir dir = GoodDir();
  const auto expect = [&dir](ScoreFunction function) {
    const auto config = ReadClassifierConfig(ModelSource::OfDirectory(dir.Write()));
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->score_function, function);
  };
  dir.Change(kConfig, "/sbert_ce_default_activation_function",
             "\"torch.nn.modules.activation.Sigmoid\"");
  expect(ScoreFunction::kSigmoid);
  dir.Change(kConfig, "/sentence_transformers",
             R"({"activation_fn": "torch.nn.modules.linear.Identity"})");
  expect(ScoreFunction::kRaw);
  AddCrossEncoderModules(dir);
  dir.Change(kModel, "/activation_fn", "\"torch.nn.modules.activation.Softmax\"");
  expect(ScoreFunction::kSoftmax);
}

// As sentence-transformers has it (tests/reference/make_inputs_golden.py).
TEST(ClassifierConfigTest, OneLabelHasCrossEncoderFunction) {
  const auto cases =
      ReadJsonFile(SourcePath("tests/reference/golden/functions.json"), 1 << 20).value();
  ASSERT_FALSE(cases.empty());
  for (const nlohmann::json& golden : cases) {
    SCOPED_TRACE(golden["name"].get<std::string>());
    std::map<std::string, nlohmann::json> files = golden["files"];
    files[kConfig].update({{"architectures", {"BertForSequenceClassification"}},
                           {"hidden_size", 8},
                           {"num_labels", 1}});
    ModelDir dir(files);
    const auto config = ReadClassifierConfig(ModelSource::OfDirectory(dir.Write()));
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(ScoreFunctionName(config->score_function), golden["function"].get<std::string>());
  }
}

TEST(ClassifierConfigTest, OtherCrossEncodersAreRejectedByArchitecture) {
  ModelDir dir = GoodDir();
  dir.Change(kConfig, "/architectures", R"(["MPNetForSequenceClassification"])");
  EXPECT_TRUE(RefuseOtherCrossEncoder(ModelSource::OfDirectory(dir.Write())).ok());
  AddCrossEncoderModules(dir);
  ExpectError(RefuseOtherCrossEncoder(ModelSource::OfDirectory(dir.Write())), kUnimplemented,
              {kConfig, "MPNetForSequenceClassification", "ModernBert-"});
  dir.Change("modules.json", "/1",
             R"({"path": "1_LogitScore",
                 "type": "sentence_transformers.cross_encoder.modules.logit_score.LogitScore"})");
  ExpectError(RefuseOtherCrossEncoder(ModelSource::OfDirectory(dir.Write())), kUnimplemented,
              {"modules.json", "module 1", "LogitScore", "Qwen3-Reranker"});
  dir.Change(kModel, "/model_type", "\"SentenceTransformer\"");
  EXPECT_TRUE(RefuseOtherCrossEncoder(ModelSource::OfDirectory(dir.Write())).ok());
}

TEST(ClassifierConfigTest, SoftmaxOverOneLabelIsRejected) {
  ModelDir dir = GoodDir();
  dir.Change(kConfig, "/id2label", R"({"0": "relevance"})");
  dir.Change(kConfig, "/problem_type", "\"single_label_classification\"");
  EXPECT_EQ(ReadClassifierConfig(ModelSource::OfDirectory(dir.Write()))->score_function,
            ScoreFunction::kSigmoid);
  for (const char* name :
       {"/sentence_transformers/activation_fn", "/sbert_ce_default_activation_function"}) {
    dir.Change(kConfig, name, "\"torch.nn.modules.activation.Softmax\"");
    ExpectError(ReadClassifierConfig(ModelSource::OfDirectory(dir.Write())).status(), kInvalid,
                {kConfig, "softmax over one label"});
    dir.Change(kConfig, name, nullptr);
  }
}

TEST(ClassifierConfigTest, FurtherModulesAreRejected) {
  ModelDir dir = GoodDir();
  AddCrossEncoderModules(dir);
  EXPECT_TRUE(ReadClassifierConfig(ModelSource::OfDirectory(dir.Write())).ok());
  dir.Change("modules.json", "/1",
             R"({"path": "1_Dense", "type": "sentence_transformers.models.Dense"})");
  ExpectError(ReadClassifierConfig(ModelSource::OfDirectory(dir.Write())).status(), kUnimplemented,
              {"modules.json", "module 1", "Dense"});
}

TEST(ClassifierConfigTest, ProblemTypeSelectsDefaultFunction) {
  ModelDir dir = GoodDir();
  const auto function = [&dir] {
    return ReadClassifierConfig(ModelSource::OfDirectory(dir.Write())).value().score_function;
  };
  dir.Change(kConfig, "/problem_type", "\"multi_label_classification\"");
  EXPECT_EQ(function(), ScoreFunction::kSigmoid);
  dir.Change(kConfig, "/problem_type", "\"regression\"");
  EXPECT_EQ(function(), ScoreFunction::kRaw);
  dir.Change(kConfig, "/problem_type", "\"single_label_classification\"");
  EXPECT_EQ(function(), ScoreFunction::kSoftmax);
  dir.Change(kConfig, "/sentence_transformers/activation_fn",
             "\"torch.nn.modules.linear.Identity\"");
  EXPECT_EQ(function(), ScoreFunction::kRaw);
}

TEST(ClassifierConfigTest, DecoderWithOneLabelHasSigmoid) {
  for (const char* name : {"Llama", "Mistral", "Qwen2", "Qwen3", "Gemma"}) {
    SCOPED_TRACE(name);
    ModelDir dir = GoodDir();
    dir.Change(kConfig, "/architectures",
               (std::string("[\"") + name + "ForSequenceClassification\"]").c_str());
    dir.Change(kConfig, "/id2label", R"({"0": "reward"})");
    const auto config = ReadClassifierConfig(ModelSource::OfDirectory(dir.Write()));
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->score_function, ScoreFunction::kSigmoid);
    EXPECT_EQ(config->pooling, Pooling::kLast);
  }
}

struct WrongField {
  const char* file;
  const char* pointer;
  const char* value;  // null: removed
  absl::StatusCode code;
  std::vector<std::string> message;
};

void PrintTo(const WrongField& wrong, std::ostream* out) {
  *out << wrong.file << wrong.pointer << " = " << (wrong.value != nullptr ? wrong.value : "(none)");
}

class WrongFieldTest : public testing::TestWithParam<WrongField> {};

TEST_P(WrongFieldTest, IsRejectedByFileFieldValueAndBound) {
  const WrongField& wrong = GetParam();
  ModelDir dir = GoodDir();
  dir.Change(wrong.file, wrong.pointer, wrong.value);
  std::vector<std::string> parts = wrong.message;
  parts.push_back(wrong.file);
  ExpectError(ReadClassifierConfig(ModelSource::OfDirectory(dir.Write())).status(), wrong.code,
              parts);
}

INSTANTIATE_TEST_SUITE_P(
    Fields, WrongFieldTest,
    testing::Values(
        WrongField{kConfig, "", nullptr, absl::StatusCode::kNotFound, {"is missing"}},
        WrongField{kConfig, "", "[]", kInvalid, {"not a JSON object"}},
        WrongField{kConfig, "/architectures", nullptr, kInvalid, {"architectures is missing"}},
        WrongField{kConfig, "/architectures", "\"x\"", kInvalid, {"architectures = \"x\""}},
        WrongField{kConfig,
                   "/architectures",
                   "[\"T5ForSequenceClassification\"]",
                   kUnimplemented,
                   {"\"T5ForSequenceClassification\""}},
        WrongField{kConfig, "/problem_type", "5", kInvalid, {"problem_type"}},
        WrongField{kConfig, "/problem_type", "\"ranking\"", kUnimplemented, {"\"ranking\""}},
        WrongField{kConfig, "/hidden_size", nullptr, kInvalid, {"hidden_size is missing"}},
        WrongField{kConfig, "/hidden_size", "-8", kInvalid, {"= -8", "[1, 1048576]"}},
        WrongField{kConfig, "/hidden_size", "1048577", kInvalid, {"[1, 1048576]"}},
        WrongField{kConfig, "/hidden_size", "8.0", kInvalid, {"8.0 is not an integer"}},
        WrongField{kConfig, "/id2label", "[]", kInvalid, {"id2label = []"}},
        WrongField{kConfig, "/id2label", "{}", kInvalid, {"id2label has 0 labels"}},
        WrongField{kConfig, "/id2label/1", nullptr, kInvalid, {"id2label: 1 is missing"}},
        WrongField{kConfig, "/id2label/1", "1", kInvalid, {"id2label: 1 = 1 is not a text"}},
        WrongField{kConfig, "/id2label/7", "\"x\"", kInvalid, {"id2label: 3 is missing"}},
        WrongField{kConfig, "/num_labels", "4", kInvalid, {"num_labels = 4 is not 3"}},
        WrongField{kConfig, "/num_labels", "0", kInvalid, {"num_labels = 0"}},
        WrongField{kConfig, "/classifier_pooling", "\"max\"", kUnimplemented, {"\"max\""}},
        WrongField{kConfig, "/classifier_pooling", "1", kInvalid, {"classifier_pooling = 1"}},
        WrongField{kConfig, "/classifier_activation", "\"mish\"", kUnimplemented, {"\"mish\""}},
        WrongField{kConfig, "/classifier_bias", "1", kInvalid, {"classifier_bias = 1"}},
        WrongField{kConfig, "/norm_bias", "\"\"", kInvalid, {"norm_bias"}},
        WrongField{kConfig, "/norm_eps", "0", kInvalid, {"norm_eps = 0", "(0, 1]"}},
        WrongField{kConfig, "/norm_eps", "\"nan\"", kInvalid, {"not a number"}},
        WrongField{kConfig, "/sentence_transformers", "1", kInvalid, {"sentence_transformers = 1"}},
        WrongField{kConfig,
                   "/sentence_transformers",
                   R"({"activation_fn": "os.system"})",
                   kUnimplemented,
                   {"sentence_transformers: activation_fn", "os.system"}},
        WrongField{kConfig,
                   "/sbert_ce_default_activation_function",
                   "\"torch.nn.Tanh\"",
                   kUnimplemented,
                   {"torch.nn.Tanh"}},
        WrongField{kConfig,
                   "/sbert_ce_default_activation_function",
                   "2",
                   kInvalid,
                   {"sbert_ce_default_activation_function = 2"}}));

TEST(ClassifierConfigTest, TooManyLabelsAreRejected) {
  nlohmann::json labels = nlohmann::json::object();
  for (int i = 0; i <= 1 << 16; ++i) labels[std::to_string(i)] = "";
  ModelDir dir = GoodDir();
  dir.Change(kConfig, "/id2label", labels.dump().c_str());
  ExpectError(ReadClassifierConfig(ModelSource::OfDirectory(dir.Write())).status(), kInvalid,
              {kConfig, "id2label has 65537 labels, not in [1, 65536]"});
}

TEST(ClassifierConfigTest, OtherDirectoriesAreNotClassifiers) {
  ModelDir dir = GoodDir();
  dir.Change(kConfig, "/architectures", "[\"BertModel\"]");
  EXPECT_FALSE(IsSequenceClassifier(ModelSource::OfDirectory(dir.Write())));
  EXPECT_FALSE(IsSequenceClassifier(ModelSource::OfDirectory(dir.dir().Join("nowhere"))));
}

}  // namespace
}  // namespace shortlist
