#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "runtime/encoding_model.h"
#include "tests/runtime/tiny_decoder.h"

namespace shortlist {
namespace {

using testing::HasSubstr;

/// A tiny yes/no reranker, compared with the results of transformers.
class RerankerTest : public testing::TestWithParam<std::string> {
 protected:
  RerankerTest() : tiny_("rerankers/" + GetParam()) {
    tiny_.AddFile("tokenizer.json", tiny_.golden()["tokenizer"]);
    // Without a version this says transformers 4, which takes tokenizer.json as it is.
    tiny_.AddFile("tokenizer_config.json", {{"bos_token", tiny_.golden()["bos_token"]},
                                            {"clean_up_tokenization_spaces", false}});
    if (GetParam() == "qwen3") {
      tiny_.AddFile("chat_template.json", {{"chat_template", kRerankerTemplate}});
    }
    // The other kind goes by its name.
    const std::string dir = tiny_.Write();
    const std::string link = dir + "/bge-reranker-v2-gemma";
    if (GetParam() == "gemma") {
      SHORTLIST_CHECK(symlink(dir.c_str(), link.c_str()) == 0);
    }
    auto model = EncodingModel::Open({.model = GetParam() == "gemma" ? link : dir}, pool_);
    if (!model.ok()) ADD_FAILURE() << model.status();
    SHORTLIST_CHECK(model.ok());
    model_ = *std::move(model);
  }

  static constexpr EncodingModel::Cut kCuts{.truncates = true};

  absl::StatusOr<EncodeInput> Input(const nlohmann::json& pair, const EncodingModel::Cut& cut) {
    return model_->Prepare(pair["instruction"].get<std::string>(), pair["query"].get<std::string>(),
                           pair["document"].get<std::string>(), cut);
  }

  std::vector<EncodeResult> Encode(const std::vector<EncodeInput>& inputs, const EncodeWish& wish) {
    std::vector<EncodingLoop::Item> items;
    for (const EncodeInput& input : inputs) items.push_back({&input, &wish});
    return model_->Encode(items);
  }

  const nlohmann::json& pairs() const { return tiny_.golden()["pairs"]; }

  TinyDecoder tiny_;
  ThreadPool pool_{2};
  std::unique_ptr<EncodingModel> model_;
};

TEST_P(RerankerTest, IdsAndScoresMatchTransformers) {
  std::vector<EncodeInput> inputs;
  for (const nlohmann::json& pair : pairs()) {
    SCOPED_TRACE(pair.dump());
    const auto input = Input(pair, kCuts);
    ASSERT_TRUE(input.ok()) << input.status();
    std::vector<int32_t> ids;
    for (const TokenId id : input->ids) ids.push_back(Raw(id));
    EXPECT_EQ(ids, pair["ids"].get<std::vector<int32_t>>());
    inputs.push_back(*input);
  }
  const std::vector<EncodeResult> scores = Encode(inputs, {});
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_TRUE(scores[i].status.ok()) << scores[i].status;
    ASSERT_EQ(scores[i].values.size(), 1u);
    EXPECT_NEAR(scores[i].values[0], pairs()[i]["score"].get<double>(), 1e-4);
    // Alone, and when prefixes are known.
    EXPECT_EQ(Encode({inputs[i]}, {})[0].values, scores[i].values);
  }
  ASSERT_NE(model_->prefixes(), nullptr);
  EXPECT_LT(model_->prefixes()->num_computed, model_->prefixes()->num_tokens / 2);
}

TEST_P(RerankerTest, ReportsItsProperties) {
  EXPECT_TRUE(model_->makes_scores());
  EXPECT_TRUE(model_->instructs_pairs());
  EXPECT_EQ(model_->result_size(), 1);
  EXPECT_EQ(model_->embedding(), nullptr);
  EXPECT_EQ(model_->labels(), std::vector<std::string>{"yes"});
}

TEST_P(RerankerTest, ScoreIsSigmoidOfRawScore) {
  const EncodeInput input = Input(pairs()[0], kCuts).value();
  const float raw = Encode({input}, {.scores = EncodeWish::Scores::kRaw})[0].values[0];
  const float score = Encode({input}, {.scores = EncodeWish::Scores::kSigmoid})[0].values[0];
  EXPECT_NEAR(score, 1.0 / (1.0 + std::exp(-raw)), 1e-6);
  const EncodeResult softmax = Encode({input}, {.scores = EncodeWish::Scores::kSoftmax})[0];
  if (GetParam() == "gemma") {  // there is no other answer
    EXPECT_EQ(softmax.status.code(), absl::StatusCode::kInvalidArgument);
  } else {
    EXPECT_EQ(softmax.values, std::vector<float>{score});
  }
}

TEST_P(RerankerTest, RejectsOverlongInput) {
  nlohmann::json pair = pairs()[0];
  const int64_t longest = tiny_.golden()["max_length"];
  EXPECT_EQ(model_->max_input_tokens(), longest);
  pair["document"] = std::string(4 * longest, 'x') + " " + std::string(4 * longest, 'y');
  EXPECT_EQ(Input(pair, {}).status().message(),
            "the pair has more than " + std::to_string(longest) + " tokens");
  EXPECT_EQ(std::ssize(Input(pair, kCuts)->ids), longest);
  EXPECT_THAT(std::string(Input(pair, {.truncates = true, .max_tokens = 9}).status().message()),
              HasSubstr("leaves none of 9 to the document"));
  EXPECT_THAT(std::string(model_->Prepare("", "alone", std::nullopt, {}).status().message()),
              HasSubstr("not a pair"));
  EXPECT_EQ(model_->Prepare("", "query", "\xff", {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(model_->Prepare({TokenId{5}}, {}).status().message()),
              HasSubstr("judges pairs"));
}

TEST_P(RerankerTest, TruncatesDocumentOnly) {
  nlohmann::json pair = pairs()[0];
  pair["document"] = "The giant panda is a bear of China";
  const EncodeInput whole = Input(pair, {}).value();
  const int64_t cut_len = std::ssize(whole.ids) - 3;
  const EncodeInput right = Input(pair, {.truncates = true, .max_tokens = cut_len}).value();
  const EncodeInput left =
      Input(pair, {.truncates = true, .side = Truncation::Side::kLeft, .max_tokens = cut_len})
          .value();
  ASSERT_EQ(std::ssize(right.ids), cut_len);
  ASSERT_EQ(std::ssize(left.ids), cut_len);
  // Both have the first and the last tokens of the whole.
  for (const EncodeInput* cut : {&right, &left}) {
    EXPECT_EQ(cut->ids.front(), whole.ids.front());
    EXPECT_EQ(cut->ids.back(), whole.ids.back());
  }
  EXPECT_NE(left.ids, right.ids);
}

INSTANTIATE_TEST_SUITE_P(Kinds, RerankerTest, testing::Values("qwen3", "gemma"));

TEST(RerankerOpenTest, DefaultPromptIsInstruction) {
  TinyDecoder tiny("rerankers/qwen3");
  tiny.AddFile("tokenizer.json", tiny.golden()["tokenizer"]);
  tiny.AddFile("chat_template.json", {{"chat_template", kRerankerTemplate}});
  tiny.AddFile("config_sentence_transformers.json", {{"model_type", "CrossEncoder"},
                                                     {"prompts", {{"own", "Judge the passage"}}},
                                                     {"default_prompt_name", "own"}});
  // Without it sentence-transformers does not read the file above.
  tiny.AddFile("modules.json",
               {{{"path", ""}, {"type", "sentence_transformers.models.Transformer"}}});
  tiny.AddFile("tokenizer_config.json", {{"model_max_length", 200}});
  ThreadPool pool(1);
  const auto model = EncodingModel::Open({.model = tiny.Write()}, pool);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->max_input_tokens(), 200);
  EXPECT_EQ((*model)->Prepare("", "q", "d", {})->ids,
            (*model)->Prepare("Judge the passage", "q", "d", {})->ids);
  EXPECT_NE((*model)->Prepare("", "q", "d", {})->ids, (*model)->Prepare("x", "q", "d", {})->ids);
}

TEST(RerankerOpenTest, SavedFunctionMakesScore) {
  const auto open = [](TinyDecoder& tiny, const char* function, ThreadPool& pool) {
    tiny.AddFile("tokenizer.json", tiny.golden()["tokenizer"]);
    tiny.AddFile("chat_template.json", {{"chat_template", kRerankerTemplate}});
    tiny.AddFile("modules.json",
                 {{{"path", ""}, {"type", "sentence_transformers.models.Transformer"}}});
    tiny.AddFile("config_sentence_transformers.json",
                 {{"model_type", "CrossEncoder"},
                  {"activation_fn", std::string("torch.nn.modules.") + function}});
    return EncodingModel::Open({.model = tiny.Write()}, pool);
  };
  ThreadPool pool(1);
  const auto score = [](EncodingModel& model, EncodeWish::Scores scores) {
    const EncodeInput input = model.Prepare("", "q", "d", {}).value();
    const EncodeWish wish{.scores = scores};
    const EncodingLoop::Item item{&input, &wish};
    return model.Encode({&item, 1})[0].values.at(0);
  };
  using enum EncodeWish::Scores;
  TinyDecoder identity("rerankers/qwen3"), sigmoid("rerankers/qwen3"), tanh("rerankers/qwen3");
  const auto raw = open(identity, "linear.Identity", pool);
  ASSERT_TRUE(raw.ok()) << raw.status();
  EXPECT_EQ(score(**raw, kModels), score(**raw, kRaw));
  EXPECT_NE(score(**raw, kModels), score(**raw, kSigmoid));
  const auto squashed = open(sigmoid, "activation.Sigmoid", pool);
  ASSERT_TRUE(squashed.ok()) << squashed.status();
  EXPECT_EQ(score(**squashed, kModels), score(**squashed, kSigmoid));
  EXPECT_THAT(std::string(open(tanh, "activation.Tanh", pool).status().message()),
              HasSubstr("activation_fn = \"torch.nn.modules.activation.Tanh\" is not supported"));
}

TEST(RerankerOpenTest, LowercaseSettingIsRejected) {
  TinyDecoder tiny("rerankers/qwen3");
  tiny.AddFile("tokenizer.json", tiny.golden()["tokenizer"]);
  tiny.AddFile("chat_template.json", {{"chat_template", kRerankerTemplate}});
  tiny.AddFile("modules.json",
               {{{"path", ""}, {"type", "sentence_transformers.models.Transformer"}}});
  tiny.AddFile("config_sentence_transformers.json", {{"model_type", "CrossEncoder"}});
  tiny.AddFile("sentence_bert_config.json", {{"do_lower_case", true}});
  ThreadPool pool(1);
  const auto model = EncodingModel::Open({.model = tiny.Write()}, pool);
  EXPECT_THAT(std::string(model.status().message()), HasSubstr("do_lower_case"));
}

TEST(RerankerOpenTest, AnswersMustBeOneToken) {
  TinyDecoder tiny("rerankers/qwen3");
  nlohmann::json tokenizer = tiny.golden()["tokenizer"];
  tokenizer["model"]["merges"] = nlohmann::json::array();
  tiny.AddFile("tokenizer.json", tokenizer);
  tiny.AddFile("chat_template.json", {{"chat_template", kRerankerTemplate}});
  ThreadPool pool(1);
  const auto model = EncodingModel::Open({.model = tiny.Write()}, pool);
  EXPECT_THAT(std::string(model.status().message()),
              HasSubstr("\"yes\" is 3 tokens of this tokenizer, not one"));
}

}  // namespace
}  // namespace shortlist
