#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "runtime/encoding_model.h"
#include "tests/model/model_fixture.h"
#include "tests/runtime/tiny_decoder.h"

namespace shortlist {
namespace {

using testing::HasSubstr;

/// Next tokens of a generating model, compared with the logits of transformers.
class NextTokensTest : public testing::TestWithParam<const char*> {
 protected:
  NextTokensTest() {
    // The tokenizer of another model, as one is required.
    TinyDecoder reranker("rerankers/qwen3");
    reranker.AddFile("tokenizer.json", reranker.golden()["tokenizer"]);
    tokenizer_ = OpenTokenizer(ModelSource::OfDirectory(reranker.Write())).value();
    model_ =
        EncodingModel::Over(*decoder_, *tokenizer_, ModelSource(), /*max_input_tokens=*/8192, pool_)
            .value();
    // After the prompt, and after so many tokens more.
    const auto prompt = tiny_.golden()["prompt_ids"].get<std::vector<int32_t>>();
    const auto greedy = tiny_.golden()["greedy_ids"].get<std::vector<int32_t>>();
    const auto every = tiny_.golden()["logits_every"].get<size_t>();
    for (const nlohmann::json& row : tiny_.golden()["logits"]) {
      const size_t more = logits_.size() * every;
      EncodeInput& input = inputs_.emplace_back();
      for (const int32_t id : prompt) input.ids.push_back(TokenId{id});
      for (size_t i = 0; i < more; ++i) input.ids.push_back(TokenId{greedy[i]});
      logits_.push_back(row.get<std::vector<double>>());
    }
  }

  std::vector<EncodeResult> Encode(const std::vector<EncodeInput>& inputs, const EncodeWish& wish) {
    std::vector<EncodingLoop::Item> items;
    for (const EncodeInput& input : inputs) items.push_back({&input, &wish});
    return model_->Encode(items);
  }

  TinyDecoder tiny_{GetParam()};
  ThreadPool pool_{2};
  const std::unique_ptr<Decoder> decoder_ = LoadOrDie(tiny_.Write(), std::nullopt, pool_);
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<EncodingModel> model_;
  std::vector<EncodeInput> inputs_;
  std::vector<std::vector<double>> logits_;  // of the token after each input
};

const std::vector<TokenId> kAsked = {TokenId{3}, TokenId{17}, TokenId{3}, TokenId{40}};

TEST_P(NextTokensTest, ProbabilitiesMatchTransformers) {
  const EncodeWish of_all{.next_tokens = kAsked};
  const EncodeWish of_asked{.scores = EncodeWish::Scores::kSoftmax, .next_tokens = kAsked};
  const std::vector<EncodeResult> among_all = Encode(inputs_, of_all);
  const std::vector<EncodeResult> among_asked = Encode(inputs_, of_asked);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    double all = 0.0, asked = 0.0;
    for (const double logit : logits_[i]) all += std::exp(logit);
    for (const TokenId token : kAsked) asked += std::exp(logits_[i][Raw(token)]);
    ASSERT_TRUE(among_all[i].status.ok()) << among_all[i].status;
    ASSERT_EQ(among_all[i].values.size(), kAsked.size());
    ASSERT_EQ(among_asked[i].values.size(), kAsked.size());
    for (size_t k = 0; k < kAsked.size(); ++k) {
      const double weight = std::exp(logits_[i][Raw(kAsked[k])]);
      EXPECT_NEAR(among_all[i].values[k], weight / all, 1e-4 * weight / all);
      EXPECT_NEAR(among_asked[i].values[k], weight / asked, 1e-4 * weight / asked);
    }
  }
}

TEST_P(NextTokensTest, BitsAreIndependentOfVectorsInBatch) {
  const EncodeWish next{.next_tokens = kAsked};
  const EncodeWish vector;
  const std::vector<EncodeResult> together = Encode(inputs_, next);
  std::vector<EncodingLoop::Item> mixed;
  for (const EncodeInput& input : inputs_) {
    mixed.push_back({&input, &vector});
    mixed.push_back({&input, &next});
  }
  const std::vector<EncodeResult> with_vectors = model_->Encode(mixed);
  const std::vector<EncodeResult> vectors = Encode(inputs_, vector);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    EXPECT_EQ(Encode({inputs_[i]}, next)[0].values, together[i].values);
    EXPECT_EQ(with_vectors[2 * i].values, vectors[i].values);
    EXPECT_EQ(with_vectors[2 * i + 1].values, together[i].values);
  }
}

TEST_P(NextTokensTest, TokenWithoutRowFailsItsInputOnly) {
  const auto vocab_size = static_cast<int32_t>(decoder_->config().vocab_size);
  const EncodeWish bad{.next_tokens = {TokenId{vocab_size}}};
  const EncodeWish good{.next_tokens = kAsked};
  const std::vector<EncodingLoop::Item> items = {{&inputs_[0], &bad}, {&inputs_[0], &good}};
  const std::vector<EncodeResult> results = model_->Encode(items);
  EXPECT_THAT(std::string(results[0].status.message()), HasSubstr(std::to_string(vocab_size)));
  EXPECT_EQ(results[1].values.size(), kAsked.size());
}

TEST_P(NextTokensTest, ControlTokensInPromptAreTokens) {
  const auto prompt = model_->PreparePrompt("<|im_end|>!", {});
  ASSERT_TRUE(prompt.ok()) << prompt.status();
  EXPECT_EQ(prompt->ids, (std::vector<TokenId>{TokenId{3}, TokenId{4}}));
  EXPECT_THAT(std::string(model_->PreparePrompt("!!!", {.max_tokens = 2}).status().message()),
              HasSubstr("more than 2 tokens"));
}

INSTANTIATE_TEST_SUITE_P(Decoders, NextTokensTest,
                         testing::Values("decoders/llama_default", "decoders/qwen3_tied"),
                         [](const auto& test) {
                           const std::string path = test.param;
                           return path.substr(path.find('/') + 1);
                         });

}  // namespace
}  // namespace shortlist
