#include "runtime/causal_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "kernels/matrix.h"
#include "tests/model/model_fixture.h"
#include "tests/runtime/tiny_decoder.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_hybrid.h"

namespace shortlist {
namespace {

using Tokens = std::vector<TokenId>;

/// `width` numbers of each text.
std::vector<std::vector<float>> Rows(const Matrix& states) {
  const std::vector<float> all = ToVector(states);
  const int64_t width = states.cols();
  std::vector<std::vector<float>> rows;
  for (int64_t i = 0; i < states.rows(); ++i) {
    rows.emplace_back(all.begin() + i * width, all.begin() + (i + 1) * width);
  }
  return rows;
}

std::vector<std::vector<float>> LastStates(CausalEncoder& encoder,
                                           const std::vector<Tokens>& texts) {
  const std::vector<CausalEncoder::Text> views(texts.begin(), texts.end());
  const auto states = encoder.States(views, CausalEncoder::Wanted::kLast);
  EXPECT_TRUE(states.ok()) << states.status();
  return states.ok() ? Rows(*states) : std::vector<std::vector<float>>();
}

class CausalEncoderTest : public testing::TestWithParam<const char*> {
 protected:
  /// As computed alone, nothing shared.
  std::vector<float> Alone(const Tokens& text) {
    const std::vector<float> states = RunChain(*decoder_, text);
    return {states.end() - decoder_->config().hidden, states.end()};
  }

  TinyDecoder tiny_{GetParam()};
  ThreadPool pool_{2};
  const std::unique_ptr<Decoder> decoder_ = LoadOrDie(tiny_.Write(), std::nullopt, pool_);
};

TEST_P(CausalEncoderTest, StateIsIndependentOfOtherTexts) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto draw = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  const int64_t longest = decoder_->config().context_len;
  const int64_t vocab_size = decoder_->config().vocab_size;
  for (const CausalEncoder::Options options : {CausalEncoder::Options{}, {0, 5}, {30, 16}}) {
    CausalEncoder encoder(*decoder_, options);
    std::vector<Tokens> known;
    for (int call = 0; call < 12; ++call) {
      std::vector<Tokens> texts;
      for (int64_t i = draw(1, 8); i > 0; --i) {
        Tokens text;
        if (!known.empty() && draw(0, 3) > 0) {
          text = known[draw(0, std::ssize(known) - 1)];
          text.resize(draw(1, std::ssize(text)));
        }
        for (const TokenId id :
             RandomTokens(draw(text.empty() ? 1 : 0, 20), vocab_size, random())) {
          if (std::ssize(text) < longest) text.push_back(id);
        }
        texts.push_back(text);
        known.push_back(text);
      }
      const auto states = LastStates(encoder, texts);
      ASSERT_EQ(states.size(), texts.size());
      for (size_t i = 0; i < texts.size(); ++i) {
        ASSERT_EQ(states[i], Alone(texts[i])) << "call " << call << ", text " << i;
      }
    }
  }
}

TEST_P(CausalEncoderTest, AllStatesAreIndependentOfOtherTexts) {
  const int64_t longest = decoder_->config().context_len;
  std::vector<Tokens> texts;
  std::vector<float> expected;
  for (int64_t i = 0; i < 12; ++i) {
    texts.push_back(RandomTokens(1 + 7 * i % longest, decoder_->config().vocab_size, i / 2));
    const std::vector<float> alone = RunChain(*decoder_, texts.back());
    expected.insert(expected.end(), alone.begin(), alone.end());
  }
  const std::vector<CausalEncoder::Text> views(texts.begin(), texts.end());
  for (const CausalEncoder::Options options : {CausalEncoder::Options{}, {0, 5}, {30, 16}}) {
    CausalEncoder encoder(*decoder_, options);
    LastStates(encoder, texts);  // its entries in the tree are evicted
    const auto states = encoder.States(views, CausalEncoder::Wanted::kAll);
    ASSERT_TRUE(states.ok()) << states.status();
    EXPECT_EQ(ToVector(*states), expected);
  }
}

TEST_P(CausalEncoderTest, UnfinishedBatchMayBeAbandoned) {
  CausalEncoder encoder(*decoder_, {.kept_tokens = 100, .pass_tokens = 8});
  for (int num_passes = 0; num_passes < 6; ++num_passes) {
    const Tokens text = RandomTokens(40, decoder_->config().vocab_size, num_passes);
    const std::vector<CausalEncoder::Text> views = {text};
    ASSERT_TRUE(encoder.Begin(views, CausalEncoder::Wanted::kLast).ok());
    for (int i = 0; i < std::min(num_passes, 5); ++i) {
      const auto states = encoder.Advance();
      ASSERT_TRUE(states.ok()) << states.status();
      EXPECT_EQ(states->has_value(), i == 4);
    }
    // A partially computed prefix is not used as a complete one.
    EXPECT_EQ(LastStates(encoder, {text})[0], Alone(text)) << num_passes;
  }
}

TEST_P(CausalEncoderTest, PrefixIsComputedOnce) {
  CausalEncoder encoder(*decoder_, {.kept_tokens = 100});
  const int64_t vocab_size = decoder_->config().vocab_size;
  const Tokens prefix = RandomTokens(30, vocab_size, 1);
  std::vector<Tokens> texts(4, prefix);
  for (size_t i = 0; i < texts.size(); ++i) {
    texts[i].push_back(TokenId{static_cast<int32_t>(i)});
    texts[i].push_back(TokenId{7});
  }
  LastStates(encoder, texts);
  EXPECT_EQ(encoder.stats().num_tokens, 4 * 32);
  EXPECT_EQ(encoder.stats().num_computed, 30 + 4 * 2);
  // Later as well; a text that is known costs its last token.
  LastStates(encoder, {texts[2], texts[2]});
  EXPECT_EQ(encoder.stats().num_computed, 38 + 2);
}

TEST_P(CausalEncoderTest, UncachedTextIsRecomputed) {
  CausalEncoder encoder(*decoder_, {.kept_tokens = 0});
  const Tokens text = RandomTokens(20, decoder_->config().vocab_size, 1);
  const auto first = LastStates(encoder, {text});
  EXPECT_EQ(LastStates(encoder, {text}), first);
  EXPECT_EQ(encoder.stats().num_computed, 40);
}

TEST_P(CausalEncoderTest, RejectsLengthsAndIdsWithBound) {
  CausalEncoder encoder(*decoder_);
  const int64_t longest = decoder_->config().context_len;
  const int64_t vocab_size = decoder_->config().vocab_size;
  const auto message = [&](const std::vector<Tokens>& texts) {
    const std::vector<CausalEncoder::Text> views(texts.begin(), texts.end());
    return std::string(encoder.States(views, CausalEncoder::Wanted::kLast).status().message());
  };
  EXPECT_EQ(message({Tokens(longest, TokenId{1})}), "");
  EXPECT_EQ(message({{TokenId{1}}, Tokens(longest + 1, TokenId{1})}),
            "text 1 has " + std::to_string(longest + 1) + " tokens, not in [1, " +
                std::to_string(longest) + "]");
  EXPECT_EQ(message({{}}), "text 0 has 0 tokens, not in [1, " + std::to_string(longest) + "]");
  for (const int64_t id : {int64_t{-1}, vocab_size}) {
    EXPECT_EQ(message({{TokenId{1}, TokenId{static_cast<int32_t>(id)}}}),
              "token id " + std::to_string(id) + " of text 0 not in [0, " +
                  std::to_string(vocab_size) + ")");
  }
  EXPECT_EQ(message({}), "");
}

/// Texts with equal beginnings share no keys and values then.
TEST(RecurrentCausalEncoderTest, StatesAreIndependentOfOtherTexts) {
  TempDir dir;
  ASSERT_TRUE(WriteTinyHybrid(dir.path(), /*seed=*/12).ok());
  ThreadPool pool(2);
  const auto decoder = LoadOrDie(dir.path(), std::nullopt, pool);
  const int64_t width = decoder->config().hidden;
  const Tokens whole = RandomTokens(60, decoder->config().vocab_size, /*seed=*/13);
  std::vector<Tokens> texts;
  for (const int64_t len : {40, 60, 1, 40, 17}) {
    texts.emplace_back(whole.begin(), whole.begin() + len);
  }
  for (const CausalEncoder::Options options : {CausalEncoder::Options{}, {0, 5}, {30, 16}}) {
    CausalEncoder encoder(*decoder, options);
    for (int call = 0; call < 2; ++call) {
      const auto states = LastStates(encoder, texts);
      for (size_t i = 0; i < texts.size(); ++i) {
        const std::vector<float> alone = RunChain(*decoder, texts[i]);
        EXPECT_EQ(states[i], std::vector<float>(alone.end() - width, alone.end())) << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CausalEncoderTest,
                         testing::Values("decoders/llama_default", "decoders/mistral_default",
                                         "decoders/qwen3_default", "decoders/gemma"));

}  // namespace
}  // namespace shortlist
