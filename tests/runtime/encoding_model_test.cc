#include "runtime/encoding_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "embed/classifier_head.h"
#include "model/checkpoint.h"
#include "tests/model/model_fixture.h"
#include "tests/runtime/tiny_encoder.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kHidden = 36;

void ExpectError(const absl::Status& status, absl::StatusCode code,
                 const std::vector<std::string>& parts) {
  EXPECT_EQ(status.code(), code) << status;
  for (const std::string& part : parts) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  }
}

class EncodingModelTest : public ::testing::Test {
 protected:
  EncodingModel& Open(TinyEncoder& tiny) {
    auto model = EncodingModel::Open({.model = tiny.Write()}, pool_);
    if (!model.ok()) ADD_FAILURE() << model.status();
    SHORTLIST_CHECK(model.ok());
    model_ = *std::move(model);
    return *model_;
  }

  EncodeInput Input(const std::string& text, const EncodingModel::Cut& cut = {},
                    std::optional<std::string_view> second = std::nullopt) {
    const auto input = model_->Prepare("", text, second, cut);
    EXPECT_TRUE(input.ok()) << input.status();
    return input.ok() ? *input : EncodeInput{};
  }

  std::vector<EncodeResult> Encode(const std::vector<EncodeInput>& inputs,
                                   const EncodeWish& wish = {}) {
    std::vector<EncodingLoop::Item> items;
    for (const EncodeInput& input : inputs) items.push_back({&input, &wish});
    return model_->Encode(items);
  }

  std::vector<float> Values(const EncodeInput& input, const EncodeWish& wish = {}) {
    const std::vector<EncodeResult> results = Encode({input}, wish);
    EXPECT_TRUE(results[0].status.ok()) << results[0].status;
    return results[0].values;
  }

  /// The encoder's own hidden states of one sequence.
  std::vector<float> Hidden(const EncodeInput& input) {
    const auto encoder = LoadEncoderOrDie(model_->source().path(), std::nullopt, pool_);
    std::vector<int32_t> ids;
    for (const TokenId id : input.ids) ids.push_back(Raw(id));
    return ToVector(
        encoder->Forward({ids, input.token_types, std::vector<int32_t>{0, Length(input)}}).value());
  }

  static int32_t Length(const EncodeInput& input) { return static_cast<int32_t>(input.ids.size()); }

  ThreadPool pool_{/*num_threads=*/2};
  std::unique_ptr<EncodingModel> model_;
};

double Norm(const std::vector<float>& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

void ExpectNear(const std::vector<float>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6) << i;
}

/// The mean of rows [first, end) of `hidden`.
std::vector<double> Mean(const std::vector<float>& hidden, int64_t first) {
  const int64_t num_tokens = std::ssize(hidden) / kHidden;
  std::vector<double> mean(kHidden);
  for (int64_t t = first; t < num_tokens; ++t) {
    for (int64_t i = 0; i < kHidden; ++i) {
      mean[i] += hidden[t * kHidden + i] / static_cast<double>(num_tokens - first);
    }
  }
  return mean;
}

TEST_F(EncodingModelTest, DecoderReturnsNormalisedLastState) {
  auto model = EncodingModel::Open({.model = SourcePath("models/demo/target")}, pool_);
  ASSERT_TRUE(model.ok()) << model.status();
  model_ = *std::move(model);
  const EncodeInput one = Input("# The `vector` class"), two = Input("Once upon a time");
  const auto decoder = LoadOrDie(model_->source().path(), std::nullopt, pool_);
  const int64_t hidden = model_->config().hidden;
  for (const EncodeInput& input : {one, two}) {
    const std::vector<float> states = RunChain(*decoder, input.ids);
    std::vector<float> last(states.end() - hidden, states.end());
    const double norm = Norm(last);
    std::vector<double> want(last.begin(), last.end());
    for (double& value : want) value /= norm;
    ExpectNear(Values(input), want);
  }
  // The same bits alone and in a batch.
  const std::vector<EncodeResult> both = Encode({two, one, two});
  EXPECT_EQ(both[0].values, Values(two));
  EXPECT_EQ(both[1].values, Values(one));
  EXPECT_EQ(both[2].values, Values(two));
}

TEST_F(EncodingModelTest, VectorIsPooledAndNormalised) {
  TinyEncoder tiny;
  Open(tiny);
  EXPECT_EQ(model_->result_size(), kHidden);
  EXPECT_EQ(model_->max_input_tokens(), 30);
  EXPECT_FALSE(model_->makes_scores());
  const EncodeInput input = Input("return the string of this token");
  EXPECT_THAT(input.token_types, ElementsAre());
  std::vector<float> cls = Hidden(input);
  cls.resize(kHidden);
  std::vector<double> want(cls.begin(), cls.end());
  for (double& value : want) value /= Norm(cls);
  ExpectNear(Values(input), want);
}

TEST_F(EncodingModelTest, ModulesSelectPooling) {
  TinyEncoder tiny;
  tiny.AddModules(/*normalize=*/false);
  tiny.AddFile("sentence_bert_config.json", {{"max_seq_length", 12}});
  Open(tiny);
  EXPECT_EQ(model_->max_input_tokens(), 12);
  const EncodeInput input = Input("return the string of this token");
  ExpectNear(Values(input), Mean(Hidden(input), /*first=*/0));
}

TEST_F(EncodingModelTest, TransformerFolderHoldsTokenizer) {
  namespace fs = std::filesystem;
  TinyEncoder tiny;
  tiny.AddModules(/*normalize=*/true);
  Open(tiny);
  const std::vector<float> want = Values(Input("the cat"));
  const fs::path root = tiny.Write(), inner = root / "0_Transformer";
  fs::create_directory(inner);
  for (const char* file : {"config.json", "model.safetensors", "tokenizer.json"}) {
    fs::rename(root / file, inner / file);
  }
  nlohmann::json modules = ReadJsonFile((root / "modules.json").string(), 1 << 16).value();
  modules[0]["path"] = "0_Transformer";
  tiny.AddFile("modules.json", modules);
  const auto model = EncodingModel::Open({.model = root.string()}, pool_);
  ASSERT_TRUE(model.ok()) << model.status();
  const EncodeInput input = (*model)->Prepare("", "the cat", std::nullopt, {}).value();
  const EncodeWish wish;
  const EncodingLoop::Item item{&input, &wish};
  EXPECT_EQ((*model)->Encode({&item, 1})[0].values, want);
}

TEST_F(EncodingModelTest, VectorBitsAreIndependentOfBatch) {
  TinyEncoder tiny;
  Open(tiny);
  const std::vector<EncodeInput> inputs = {Input("the"), Input("one string with more of it"),
                                           Input("a"), Input("you would not have this")};
  const std::vector<EncodeResult> together = Encode(inputs);
  for (size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(Values(inputs[i]), together[i].values);
}

TEST_F(EncodingModelTest, TruncateDimIsDefaultDimension) {
  TinyEncoder tiny;
  tiny.AddModules(/*normalize=*/true);
  tiny.AddFile("config_sentence_transformers.json", {{"truncate_dim", 5}});
  Open(tiny);
  EXPECT_EQ(model_->result_size(), 5);
  const EncodeInput input = Input("the cat");
  EXPECT_EQ(Values(input), Values(input, {.dimensions = 5}));
  EXPECT_EQ(Values(input, {.dimensions = 8}).size(), 8u);

  tiny.AddFile("config_sentence_transformers.json", {{"truncate_dim", kHidden + 1}});
  ExpectError(EncodingModel::Open({.model = tiny.Write()}, pool_).status(),
              absl::StatusCode::kInvalidArgument, {"truncate_dim = 37", "36"});
}

TEST_F(EncodingModelTest, DimensionsKeepFirstOnesAndAreBounded) {
  TinyEncoder tiny;
  Open(tiny);
  const EncodeInput input = Input("short list");
  const std::vector<float> whole = Values(input, {.normalizes = false});
  EXPECT_GT(std::abs(Norm(whole) - 1.0), 0.01);
  std::vector<float> five = Values(input, {.dimensions = 5, .normalizes = false});
  EXPECT_EQ(five, std::vector<float>(whole.begin(), whole.begin() + 5));
  EXPECT_NEAR(Norm(Values(input, {.dimensions = 5})), 1.0, 1e-6);
  for (const int64_t dimensions : {-1, 37}) {
    const EncodeResult result = Encode({input}, {.dimensions = dimensions})[0];
    ExpectError(result.status, absl::StatusCode::kInvalidArgument,
                {std::to_string(dimensions), "36"});
  }
}

TEST_F(EncodingModelTest, ClassifierScoresPairsByTokenType) {
  TinyEncoder tiny("bert_classification");
  Open(tiny);
  EXPECT_EQ(model_->embedding(), nullptr);
  EXPECT_EQ(model_->result_size(), 1);
  const EncodeInput pair = Input("the query", {}, "the text of it");
  ASSERT_EQ(pair.token_types.size(), pair.ids.size());
  EXPECT_EQ(pair.token_types.front(), 0);
  EXPECT_EQ(pair.token_types.back(), 1);

  const auto checkpoint_config = ReadClassifierConfig(model_->source());
  auto checkpoint = Checkpoint::Open(model_->source(), WeightPacking());
  const auto head = ClassifierHead::Load(*checkpoint_config, *checkpoint, pool_);
  const std::vector<float> hidden = Hidden(pair);
  const std::vector<int32_t> begin = {0, Length(pair)};
  const SequenceVectors want = head->Score(
      {.data = hidden.data(), .hidden = kHidden, .seq_begin = begin}, ScoreFunction::kRaw, pool_);
  const float logit = (*want.of_sequence(0))[0];
  EXPECT_EQ(Values(pair, {.scores = EncodeWish::Scores::kRaw}), std::vector<float>{logit});
  const double sigmoid = 1.0 / (1.0 + std::exp(-static_cast<double>(logit)));
  EXPECT_NEAR(Values(pair)[0], sigmoid, 1e-7);
  EXPECT_NEAR(Values(pair, {.scores = EncodeWish::Scores::kSigmoid})[0], sigmoid, 1e-7);
  ExpectError(Encode({pair}, {.scores = EncodeWish::Scores::kSoftmax})[0].status,
              absl::StatusCode::kInvalidArgument, {"softmax over one label"});

  // Types count, also in a batch with inputs without any.
  EncodeInput untyped = pair;
  untyped.token_types.clear();
  EXPECT_NE(Values(untyped), Values(pair));
  const std::vector<EncodeResult> both = Encode({untyped, pair});
  EXPECT_EQ(both[0].values, Values(untyped));
  EXPECT_EQ(both[1].values, Values(pair));
}

TEST_F(EncodingModelTest, SecondTextHasItsOwnMaximum) {
  TinyEncoder tiny;
  Open(tiny);
  const auto pair = [&](std::string_view first, std::string_view second, int64_t most) {
    return model_->Prepare("", first, second, {.max_second_tokens = most}).value();
  };
  const auto whole = [&](std::string_view first, std::string_view second) {
    return model_->Prepare("", first, second, {}).value();
  };
  // The first stays whole though it is the longer one.
  EXPECT_EQ(pair("a b c d e", "1 2 3 4", 2), whole("a b c d e", "1 2"));
  EXPECT_EQ(pair("a b", "1 2 3 4", 4), whole("a b", "1 2 3 4"));
  EXPECT_EQ(pair("a b", "1 2 3 4", 1000), whole("a b", "1 2 3 4"));
  // At most what the model takes, 30.
  const std::string first = "a b c d e f g h i j k l m n o p q r s t u v w x y z";
  EXPECT_EQ(pair(first, "1 2 3 4", 3), whole(first, "1"));
  ExpectError(model_->Prepare("", "a", "b", {.max_second_tokens = 0}).status(),
              absl::StatusCode::kInvalidArgument, {"0 below 1"});
}

TEST_F(EncodingModelTest, TruncationSideDefaultsToTokenizer) {
  TinyEncoder tiny;
  tiny.AddFile("tokenizer_config.json", {{"truncation_side", "left"}});
  Open(tiny);
  const std::string text = "a b c d 1 2 3";
  EXPECT_EQ(Input(text, {.truncates = true, .max_tokens = 5}).ids, Input("1 2 3").ids);
  const EncodingModel::Cut right = {
      .truncates = true, .side = Truncation::Side::kRight, .max_tokens = 5};
  EXPECT_EQ(Input(text, right).ids, Input("a b c").ids);

  tiny.AddFile("tokenizer_config.json", {{"truncation_side", "middle"}});
  ExpectError(EncodingModel::Open({.model = tiny.Write()}, pool_).status(),
              absl::StatusCode::kInvalidArgument, {"truncation_side = \"middle\""});
}

TEST_F(EncodingModelTest, TextsAreTruncatedOnEitherSideOrRejected) {
  TinyEncoder tiny;
  Open(tiny);
  std::string text = "a b c d e f g h i j k l m n o p q r s t u v w x y z 1 2";
  const std::vector<TokenId> whole = Input(text).ids;
  ASSERT_EQ(whole.size(), 30u);  // the most, with [CLS] and [SEP]
  text += " 3";
  ExpectError(model_->Prepare("", text, std::nullopt, {}).status(), absl::StatusCode::kOutOfRange,
              {"more than 30 tokens"});
  EXPECT_EQ(Input(text, {.truncates = true}).ids, whole);
  const std::vector<TokenId> right = Input(text, {.truncates = true, .max_tokens = 5}).ids;
  EXPECT_EQ(right, Input("a b c").ids);
  const EncodingModel::Cut left = {
      .truncates = true, .side = Truncation::Side::kLeft, .max_tokens = 5};
  EXPECT_EQ(Input(text, left).ids, Input("1 2 3").ids);
  EXPECT_EQ(Input(text, {.truncates = true, .max_tokens = 1000}).ids, whole);
  ExpectError(model_->Prepare("", "a b c", std::nullopt, {.max_tokens = 4}).status(),
              absl::StatusCode::kOutOfRange, {"more than 4 tokens"});
  for (const int64_t most : {0, -1}) {
    for (const bool truncates : {false, true}) {
      const EncodingModel::Cut cut = {.truncates = truncates, .max_tokens = most};
      ExpectError(model_->Prepare("", "a", std::nullopt, cut).status(),
                  absl::StatusCode::kInvalidArgument, {std::to_string(most), "[1, 30]"});
      ExpectError(model_->Prepare({TokenId{7}}, cut).status(), absl::StatusCode::kInvalidArgument,
                  {std::to_string(most), "[1, 30]"});
    }
  }
  // No room for what goes round a text.
  EXPECT_FALSE(model_->Prepare("", "a", std::nullopt, {.truncates = true, .max_tokens = 1}).ok());
}

TEST_F(EncodingModelTest, PairTruncationShortensLongerText) {
  TinyEncoder tiny("bert_classification");
  Open(tiny);
  const EncodeInput cut = Input("a b", {.truncates = true, .max_tokens = 8}, "c d e f g h");
  EXPECT_EQ(cut, Input("a b", {}, "c d e"));
}

TEST_F(EncodingModelTest, IdsAreUsedUnchanged) {
  TinyEncoder tiny;
  Open(tiny);
  const std::vector<TokenId> ids = Input("one string").ids;
  EXPECT_EQ(model_->Prepare(ids, {})->ids, ids);
  ExpectError(model_->Prepare({TokenId{1}, TokenId{600}}, {}).status(),
              absl::StatusCode::kInvalidArgument, {"id 600 at 1 not in [0, 600)"});
  ExpectError(model_->Prepare({TokenId{-1}}, {}).status(), absl::StatusCode::kInvalidArgument,
              {"id -1 at 0 not in [0, 600)"});
  ExpectError(model_->Prepare(std::vector<TokenId>(), {}).status(),
              absl::StatusCode::kInvalidArgument, {"no tokens"});
  std::vector<TokenId> many;
  for (int32_t id = 0; id < 31; ++id) many.push_back(TokenId{id});
  ExpectError(model_->Prepare(many, {}).status(), absl::StatusCode::kOutOfRange,
              {"31 tokens", "30"});
  EXPECT_EQ(model_->Prepare(many, {.truncates = true})->ids,
            std::vector<TokenId>(many.begin(), many.end() - 1));
  EXPECT_EQ(model_->Prepare(many, {.truncates = true, .side = Truncation::Side::kLeft})->ids,
            std::vector<TokenId>(many.begin() + 1, many.end()));
}

TEST_F(EncodingModelTest, InvalidTextIsRejectedWithByte) {
  TinyEncoder tiny;
  tiny.AddModules(/*normalize=*/true);
  tiny.AddFile("sentence_bert_config.json", {{"max_seq_length", 12}, {"do_lower_case", true}});
  Open(tiny);
  ExpectError(model_->Prepare("in: ", "a\xFF", std::nullopt, {}).status(),
              absl::StatusCode::kInvalidArgument, {"text", "byte 1"});
  ExpectError(model_->Prepare("i\xFF", "a", std::nullopt, {}).status(),
              absl::StatusCode::kInvalidArgument, {"instruction", "byte 1"});
  ExpectError(model_->Prepare("", "a", "ab\xFF", {}).status(), absl::StatusCode::kInvalidArgument,
              {"byte 2"});
  ExpectError(model_->Prepare("", std::string(Tokenizer::kMaxTextBytes + 1, 'a'), std::nullopt, {})
                  .status(),
              absl::StatusCode::kInvalidArgument, {"16777217"});
}

TEST_F(EncodingModelTest, EmptyTextHasOnlyFramingTokens) {
  TinyEncoder tiny;
  Open(tiny);
  const EncodeInput empty = Input("");
  EXPECT_EQ(empty.ids.size(), 2u);
  EXPECT_EQ(Values(empty).size(), 36u);
}

TEST_F(EncodingModelTest, ModelSettingLowercasesText) {
  TinyEncoder tiny("bert", "bert_cased");
  // A class of no model: tokenizer.json counts as it is.
  tiny.AddFile("tokenizer_config.json", {{"tokenizer_class", "PreTrainedTokenizerFast"}});
  Open(tiny);
  const std::vector<TokenId> lower = Input("return \xC3\xA4 \xCF\x83").ids;
  const std::string upper = "RETURN \xC3\x84 \xCE\xA3";
  EXPECT_NE(Input(upper).ids, lower);
  tiny.AddModules(/*normalize=*/true);
  tiny.AddFile("sentence_bert_config.json", {{"do_lower_case", true}});
  Open(tiny);
  EXPECT_EQ(Input(upper).ids, lower);
}

TEST_F(EncodingModelTest, CrossEncoderSettingLowercasesBothTexts) {
  TinyEncoder tiny("bert_classification", "bert_cased");
  tiny.AddFile("tokenizer_config.json", {{"tokenizer_class", "PreTrainedTokenizerFast"}});
  tiny.AddFile("modules.json",
               {{{"path", ""}, {"type", "sentence_transformers.models.Transformer"}}});
  tiny.AddFile("config_sentence_transformers.json", {{"model_type", "CrossEncoder"}});
  Open(tiny);
  const auto pair = [&](std::string_view query, std::string_view document) {
    return model_->Prepare("", query, document, {}).value().ids;
  };
  const std::vector<TokenId> lower = pair("return \xC3\xA4", "the \xCF\x83");
  EXPECT_NE(pair("return \xC3\xA4", "THE \xCE\xA3"), lower);
  tiny.AddFile("sentence_bert_config.json", {{"do_lower_case", true}});
  Open(tiny);
  EXPECT_EQ(pair("RETURN \xC3\x84", "THE \xCE\xA3"), lower);
  EXPECT_EQ(model_->Prepare("Return ", "\xC3\x84", "THE \xCE\xA3", {}).value().ids, lower);
}

TEST_F(EncodingModelTest, CrossEncoderOfOtherArchitectureIsRejected) {
  TinyEncoder tiny;
  tiny.AddFile("modules.json",
               {{{"path", ""}, {"type", "sentence_transformers.models.Transformer"}}});
  tiny.AddFile("config_sentence_transformers.json", {{"model_type", "CrossEncoder"}});
  const auto model = EncodingModel::Open({.model = tiny.Write()}, pool_);
  ExpectError(model.status(), absl::StatusCode::kUnimplemented, {"\"BertModel\""});
}

TEST_F(EncodingModelTest, ModelSettingExcludesPromptTokens) {
  TinyEncoder tiny;
  tiny.AddModules(/*normalize=*/false, /*include_prompt=*/false);
  Open(tiny);
  const auto input = model_->Prepare("the text: ", "one string", std::nullopt, {});
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->ids, Input("the text: one string").ids);
  EXPECT_EQ(input->num_prompt_tokens, std::ssize(Input("the text:").ids) - 1);
  ExpectNear(Values(*input), Mean(Hidden(*input), input->num_prompt_tokens));
  EXPECT_EQ(Input("one string").num_prompt_tokens, 0);
}

TEST_F(EncodingModelTest, NonFiniteValuesAreNeverReturned) {
  for (const char* golden : {"bert", "bert_classification"}) {
    TinyEncoder tiny(golden);
    tiny.SetTensor("encoder.layer.1.output.LayerNorm.weight", std::vector<float>(kHidden, 3e38f));
    Open(tiny);
    for (const EncodeResult& result : Encode({Input("one string"), Input("the text")})) {
      EXPECT_TRUE(absl::IsInternal(result.status)) << result.status;
      EXPECT_THAT(result.values, ElementsAre());
    }
  }
}

TEST_F(EncodingModelTest, MismatchIsRejectedAtOpen) {
  const TempDir empty;
  EXPECT_FALSE(EncodingModel::Open({.model = empty.path()}, pool_).ok());
  EXPECT_TRUE(absl::IsNotFound(EncodingModel::Open({.model = empty.Join("none")}, pool_).status()));
  TinyEncoder tiny;
  tiny.AddModules(/*normalize=*/true);
  tiny.AddFile("1_Pooling/config.json",
               {{"word_embedding_dimension", 35}, {"pooling_mode_mean_tokens", true}});
  ExpectError(EncodingModel::Open({.model = tiny.Write()}, pool_).status(),
              absl::StatusCode::kInvalidArgument, {"35", "36"});
  EXPECT_FALSE(EncodingModel::Open({.model = SourcePath("models/demo/draft")}, pool_).ok());
}

TEST_F(EncodingModelTest, MiniLmMatchesSentenceTransformers) {
  const auto dir = FindMiniLm();
  if (!dir) GTEST_SKIP() << "no all-MiniLM-L6-v2: set SHORTLIST_MINILM_DIR to its directory";
  auto model = EncodingModel::Open({.model = *dir}, pool_);
  ASSERT_TRUE(model.ok()) << model.status();
  model_ = *std::move(model);
  EXPECT_EQ(model_->result_size(), 384);
  EXPECT_EQ(model_->max_input_tokens(), 256);
  const std::vector<float> cat = Values(Input("A cat sits on the mat."));
  EXPECT_NEAR(Norm(cat), 1.0, 1e-6);
  // sentence-transformers 6.2.0, PyTorch's f32.
  const std::vector<float> first = {0.1265352f, -0.0328507f, -0.0290596f,
                                    0.0444070f, -0.0434453f, 0.0320969f};
  for (size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(cat[i], first[i], 2e-6) << i;
  const std::vector<float> katze = Values(Input("Eine Katze sitzt auf der Matte."));
  EXPECT_NEAR(std::inner_product(cat.begin(), cat.end(), katze.begin(), 0.0), 0.1333132, 2e-6);
}

}  // namespace
}  // namespace shortlist
