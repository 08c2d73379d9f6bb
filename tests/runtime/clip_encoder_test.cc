#include "runtime/clip_encoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/encoding_model.h"
#include "tests/model/clip_fixture.h"

namespace shortlist {
namespace {

using testing::HasSubstr;

using Values = std::array<std::array<float, 256>, 3>;

/// Values that all pictures share, as for one model.
const std::shared_ptr<const Values>& SharedValues() {
  static const auto shared = [] {
    auto values = std::make_shared<Values>();
    for (auto& channel : *values) {
      for (size_t v = 0; v < 256; ++v) channel[v] = static_cast<float>(v) / 128.0f - 1.0f;
    }
    return std::shared_ptr<const Values>(values);
  }();
  return shared;
}

/// Returns pixels that depend on the seed only.
EncodeInput Picture(const ClipConfig& config, uint32_t seed) {
  PicturePixels pixels{.rgb = {}, .values = SharedValues()};
  for (int64_t i = 0; i < config.picture_size * config.picture_size * 3; ++i) {
    seed = seed * 1664525 + 1013904223;
    pixels.rgb.push_back(static_cast<uint8_t>(seed >> 24));
  }
  EncodeInput input{.ids = std::vector<TokenId>(static_cast<size_t>(config.picture_tokens()))};
  input.picture = std::make_shared<const PicturePixels>(std::move(pixels));
  return input;
}

class ClipEncoderTest : public testing::Test {
 protected:
  ClipEncoderTest() : pool_(/*num_threads=*/2) {
    golden_.AddTokenizer();
    auto model = EncodingModel::Open({.model = golden_.Write()}, pool_);
    EXPECT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
  }

  std::vector<EncodeResult> Encode(const std::vector<EncodeInput>& inputs,
                                   const EncodeWish& wish = {}) {
    std::vector<EncodingLoop::Item> items;
    for (const EncodeInput& input : inputs) items.push_back({&input, &wish});
    return model_->Encode(items);
  }
  EncodeInput Text(const std::string& text) {
    auto input = model_->Prepare("", text, std::nullopt, {});
    EXPECT_TRUE(input.ok()) << input.status();
    return *std::move(input);
  }

  GoldenClip golden_{"quick_gelu"};
  ThreadPool pool_;
  std::unique_ptr<EncodingModel> model_;
};

TEST_F(ClipEncoderTest, TextsAreFramedLikeClip) {
  const EncodeInput input = Text("A Red BICYCLE");
  ASSERT_GE(input.ids.size(), 3u);
  EXPECT_EQ(input.ids, Text("a red  bicycle").ids);  // in small letters, blanks as one
  EXPECT_EQ(std::optional(Raw(input.ids.back())), model_->clip()->eos_token_id);
  const auto too_long = model_->Prepare("", std::string(200, 'x') + " y z", std::nullopt, {});
  EXPECT_TRUE(absl::IsOutOfRange(too_long.status())) << too_long.status();
  const auto cut =
      model_->Prepare("", std::string(200, 'x') + " y z", std::nullopt, {.truncates = true});
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_EQ(std::ssize(cut->ids), 21);
  EXPECT_EQ(cut->ids.back(), input.ids.back());
}

TEST_F(ClipEncoderTest, MixedItemsKeepBitsOfEach) {
  ASSERT_NE(model_->clip(), nullptr);
  const std::vector<EncodeInput> inputs = {Picture(*model_->clip(), 1), Text("a cat"),
                                           Picture(*model_->clip(), 2), Picture(*model_->clip(), 1),
                                           Text("the whole of it")};
  const auto together = Encode(inputs);
  ASSERT_EQ(together.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_TRUE(together[i].status.ok()) << together[i].status;
    EXPECT_EQ(together[i].values, Encode({inputs[i]})[0].values);
    double square = 0.0;
    for (const float value : together[i].values) square += value * value;
    EXPECT_NEAR(square, 1.0, 1e-5);
    EXPECT_EQ(std::ssize(together[i].values), model_->result_size());
  }
  EXPECT_EQ(together[0].values, together[3].values);
  EXPECT_NE(together[0].values, together[2].values);
}

TEST_F(ClipEncoderTest, DimensionsAndNormalisationFollowRequest) {
  const auto whole = Encode({Picture(*model_->clip(), 3)}, {.normalizes = false})[0].values;
  const auto front =
      Encode({Picture(*model_->clip(), 3)}, {.dimensions = 7, .normalizes = false})[0].values;
  ASSERT_EQ(front.size(), 7u);
  EXPECT_TRUE(std::equal(front.begin(), front.end(), whole.begin()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(Encode({Picture(*model_->clip(), 3)}, {.dimensions = 21})[0].status));
}

TEST_F(ClipEncoderTest, EqualPicturesAreEqualInputs) {
  EXPECT_EQ(Picture(*model_->clip(), 1), Picture(*model_->clip(), 1));
  EXPECT_FALSE(Picture(*model_->clip(), 1) == Picture(*model_->clip(), 2));
  EncodeInput zeros = Picture(*model_->clip(), 1);
  zeros.picture = nullptr;
  EXPECT_FALSE(zeros == Picture(*model_->clip(), 1));
}

TEST_F(ClipEncoderTest, AcceptsOnlyClip) {
  EXPECT_TRUE(ClipEncoder::Fits(model_->source()));
  EXPECT_FALSE(ClipEncoder::Fits(ModelSource::OfDirectory("/no/such/folder")));
  EXPECT_EQ(model_->config().architecture, "CLIPModel");
  EXPECT_EQ(model_->longest_input(), 21);
  EXPECT_FALSE(model_->makes_scores());
}

}  // namespace
}  // namespace shortlist
