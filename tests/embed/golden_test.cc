#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "embed/classifier_head.h"
#include "embed/pooler.h"
#include "embed/sentence_transformers.h"
#include "model/checkpoint.h"
#include "nlohmann/json.hpp"
#include "tests/embed/embed_testing.h"

namespace shortlist {
namespace {

using nlohmann::json;

class ClassifierGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(ClassifierGoldenTest, LogitsAndScoresMatchTransformers) {
  ThreadPool pool(2);
  const std::string dir = EmbedGoldenDir(std::string("classifier/") + GetParam());
  const auto config = ReadClassifierConfig(ModelSource::OfDirectory(dir));
  ASSERT_TRUE(config.ok()) << config.status();
  auto checkpoint = Checkpoint::Open(ModelSource::OfDirectory(dir), {});
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  const auto head = ClassifierHead::Load(*config, *checkpoint, pool);
  ASSERT_TRUE(head.ok()) << head.status();
  const EmbedGolden golden = ReadEmbedGolden(dir, config->hidden);
  const std::pair<const char*, ScoreFunction> functions[] = {{"logits", ScoreFunction::kRaw},
                                                             {"sigmoid", ScoreFunction::kSigmoid},
                                                             {"softmax", ScoreFunction::kSoftmax}};
  for (const auto& [name, function] : functions) {
    SCOPED_TRACE(name);
    if (!CheckScoreFunction(function, head->num_labels()).ok()) continue;
    const SequenceVectors scores = head->Score(golden.states.view(), function, pool);
    std::vector<float> got;
    for (int64_t seq = 0; seq < scores.num_seqs(); ++seq) {
      const std::vector<float> of_seq = VectorOf(scores, seq);
      got.insert(got.end(), of_seq.begin(), of_seq.end());
    }
    const std::vector<float>& want = golden.floats.at(name);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ClassifierGoldenTest,
                         testing::Values("bert", "xlm_roberta", "modernbert_cls",
                                         "modernbert_mean"),
                         [](const auto& info) { return info.param; });

class VectorGoldenTest : public testing::TestWithParam<const char*> {
 protected:
  const std::string dir_ = EmbedGoldenDir(std::string("vectors/") + GetParam());
};

TEST_P(VectorGoldenTest, SettingsMatchSentenceTransformers) {
  const auto config = ReadEmbeddingConfig(ModelSource::OfDirectory(dir_));
  ASSERT_TRUE(config.ok()) << config.status();
  const std::map<Pooling, std::string> poolings = {
      {Pooling::kCls, "cls"}, {Pooling::kMean, "mean"}, {Pooling::kLast, "lasttoken"}};
  const std::map<HeadActivation, std::string> activations = {
      {HeadActivation::kTanh, "Tanh"},
      {HeadActivation::kGelu, "GELU"},
      {HeadActivation::kIdentity, "Identity"}};
  const std::map<Similarity, std::string> similarities = {{Similarity::kCosine, "cosine"},
                                                          {Similarity::kDot, "dot"},
                                                          {Similarity::kEuclidean, "euclidean"}};
  json got = {{"pooling", poolings.at(config->pooling)},
              {"hidden", config->hidden},
              {"include_prompt", config->include_prompt},
              {"dense", json::array()},
              {"normalize", config->normalize},
              {"max_seq_len", nullptr},
              {"prompts", config->prompts},
              {"default_prompt_name", nullptr},
              {"similarity", similarities.at(config->similarity)}};
  for (const DenseModule& module : config->dense) {
    got["dense"].push_back({{"in_features", module.shape.in_features},
                            {"out_features", module.shape.out_features},
                            {"bias", module.shape.has_bias},
                            {"activation", activations.at(module.shape.activation)}});
  }
  if (config->max_seq_len) got["max_seq_len"] = *config->max_seq_len;
  if (config->default_prompt_name) got["default_prompt_name"] = *config->default_prompt_name;
  const auto want = ReadJsonFile(dir_ + "/settings.json", /*max_bytes=*/1 << 16);
  ASSERT_TRUE(want.ok()) << want.status();
  EXPECT_EQ(got, *want);
}

TEST_P(VectorGoldenTest, VectorsMatchSentenceTransformers) {
  ThreadPool pool(2);
  const auto config = ReadEmbeddingConfig(ModelSource::OfDirectory(dir_));
  ASSERT_TRUE(config.ok()) << config.status();
  const auto pooler = Pooler::Load(*config, pool);
  ASSERT_TRUE(pooler.ok()) << pooler.status();
  const EmbedGolden golden = ReadEmbedGolden(dir_, config->hidden);
  const auto check = [&](const char* name, const VectorRequest& request) {
    const std::vector<VectorRequest> requests(golden.states.num_seqs(), request);
    const SequenceVectors vectors = pooler->Run(golden.states.view(), requests, pool);
    const std::span<const float> all(golden.floats.at(name));
    const size_t size = all.size() / requests.size();
    for (size_t seq = 0; seq < requests.size(); ++seq) {
      SCOPED_TRACE(testing::Message() << name << " " << seq);
      const std::vector<float> got = VectorOf(vectors, static_cast<int64_t>(seq));
      const std::span<const float> want = all.subspan(seq * size, size);
      ASSERT_EQ(got.size(), size);
      EXPECT_GE(Cosine(got, want), 0.99999);
      for (size_t i = 0; i < size; ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << i;
    }
  };
  constexpr int64_t kNumPromptTokens = 1;  // as in make_embed_golden.py
  check("vectors", {.num_prompt_tokens = kNumPromptTokens});
  check("vectors_3", {.dimensions = 3, .normalize = true, .num_prompt_tokens = kNumPromptTokens});
}

INSTANTIATE_TEST_SUITE_P(Models, VectorGoldenTest,
                         testing::Values("mean", "cls_dense", "last_raw", "legacy_mean",
                                         "legacy_cls", "without_prompt", "torch_dense"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace shortlist
