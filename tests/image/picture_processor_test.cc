#include "image/picture_processor.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/decode.h"
#include "nlohmann/json.hpp"
#include "tests/image/golden_pictures.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

absl::StatusOr<PictureProcessor> Parsed(const json& object) {
  return PictureProcessor::Parse(object, "preprocessor_config.json");
}

std::string ErrorOf(const json& object) { return std::string(Parsed(object).status().message()); }

json Square(int edge) { return {{"size", {{"shortest_edge", edge}}}, {"crop_size", edge}}; }

TEST(PictureProcessorTest, PixelsMatchPil) {
  const auto bicubic = Parsed(Square(24));
  const auto bilinear = Parsed({{"size", {{"height", 18}, {"width", 11}}},
                                {"crop_size", {{"height", 18}, {"width", 11}}},
                                {"resample", 2}});
  ASSERT_TRUE(bicubic.ok() && bilinear.ok()) << bicubic.status() << bilinear.status();
  for (const GoldenPicture& golden : GoldenPictures()) {
    SCOPED_TRACE(golden.name);
    const Picture picture = {.width = golden.width, .height = golden.height, .rgb = golden.rgb};
    EXPECT_EQ(bicubic->Apply(picture), golden.bicubic);
    EXPECT_EQ(bilinear->Apply(picture), golden.bilinear);
  }
}

TEST(PictureProcessorTest, VeryWidePictureNeedsNoExtraMemory) {
  // Resized as a whole it would have 224 x 224 million pixels.
  const Picture row = {
      .width = 1'000'000, .height = 1, .rgb = std::vector<uint8_t>(3'000'000, 100)};
  const Picture column = {.width = 1, .height = 1'000'000, .rgb = row.rgb};
  const auto processor = Parsed(Square(224));
  ASSERT_TRUE(processor.ok());
  const std::vector<uint8_t> even(224 * 224 * 3, 100);
  EXPECT_EQ(processor->Apply(row), even);
  EXPECT_EQ(processor->Apply(column), even);
}

TEST(PictureProcessorTest, ValuesAreScaledAndNormalised) {
  const auto processor = Parsed(json::object());
  ASSERT_TRUE(processor.ok());
  EXPECT_EQ(processor->width(), 224);
  EXPECT_EQ(processor->height(), 224);
  const auto& values = *processor->values();
  EXPECT_FLOAT_EQ(values[0][0], -0.48145466f / 0.26862954f);
  EXPECT_FLOAT_EQ(values[1][255], (1.0f - 0.4578275f) / 0.26130258f);
  EXPECT_FLOAT_EQ(values[2][128], (128.0f / 255.0f - 0.40821073f) / 0.27577711f);
  const auto plain =
      Parsed({{"rescale_factor", 0.5}, {"image_mean", {1, 2, 3}}, {"image_std", {1, 2, 4}}});
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ((*plain->values())[2][10], (5.0f - 3.0f) / 4.0f);
}

TEST(PictureProcessorTest, ReadsOldAndNewExports) {
  EXPECT_TRUE(Parsed({{"crop_size", 224},
                      {"do_center_crop", true},
                      {"do_normalize", true},
                      {"do_resize", true},
                      {"feature_extractor_type", "CLIPFeatureExtractor"},
                      {"image_mean", {0.48145466, 0.4578275, 0.40821073}},
                      {"image_std", {0.26862954, 0.26130258, 0.27577711}},
                      {"resample", 3},
                      {"size", 224}})
                  .ok());
  const auto newer = Parsed({{"crop_size", {{"height", 336}, {"width", 336}}},
                             {"do_convert_rgb", true},
                             {"image_processor_type", "CLIPImageProcessor"},
                             {"rescale_factor", 0.00392156862745098},
                             {"size", {{"shortest_edge", 336}}}});
  ASSERT_TRUE(newer.ok()) << newer.status();
  EXPECT_EQ(newer->width(), 336);
}

TEST(PictureProcessorTest, NumberAsSizeMayMeanSquare) {
  Picture picture{.width = 8, .height = 4, .rgb = std::vector<uint8_t>(8 * 4 * 3)};
  std::iota(picture.rgb.begin(), picture.rgb.end(), uint8_t{0});
  const auto apply = [&](const json& size, const json& square) {
    return Parsed({{"size", size}, {"crop_size", 4}, {"default_to_square", square}})
        ->Apply(picture);
  };
  const json box = {{"height", 4}, {"width", 4}};
  EXPECT_EQ(apply(4, true), apply(box, true));
  EXPECT_EQ(apply(4, false), apply({{"shortest_edge", 4}}, true));
  EXPECT_EQ(apply(4, nullptr), apply(4, false));
  EXPECT_NE(apply(4, true), apply(4, false));
  EXPECT_THAT(ErrorOf({{"size", 224}, {"default_to_square", 1}}),
              HasSubstr("default_to_square = 1 not true or false"));
}

TEST(PictureProcessorTest, NewerFileIsPreferred) {
  const TempDir dir;
  dir.Write("preprocessor_config.json", Square(32).dump());
  dir.Write("processor_config.json", R"({"processor_class": "CLIPProcessor"})");
  const auto width = [&] {
    return PictureProcessor::Read(ModelSource::OfDirectory(dir.path()))->width();
  };
  EXPECT_EQ(width(), 32);
  dir.Write("processor_config.json", json{{"image_processor", Square(48)}}.dump());
  EXPECT_EQ(width(), 48);
}

TEST(PictureProcessorTest, UnsupportedSettingsAreRejectedByName) {
  EXPECT_THAT(ErrorOf({{"resample", 1}}), HasSubstr("resample = 1 is not supported"));
  EXPECT_THAT(ErrorOf({{"use_square_size", true}}),
              HasSubstr("use_square_size = true is not supported"));
  EXPECT_THAT(ErrorOf({{"do_resize", false}}), HasSubstr("do_resize = false is not supported"));
  EXPECT_THAT(ErrorOf({{"do_center_crop", false}, {"image_processor_type", "CLIPImageProcessor"}}),
              HasSubstr("do_center_crop = false"));
  EXPECT_THAT(ErrorOf({{"image_processor_type", "ViTImageProcessor"}}),
              HasSubstr("image_processor_type = \"ViTImageProcessor\" is not supported"));
  EXPECT_THAT(ErrorOf({{"size", {{"longest_edge", 3}}}}), HasSubstr("size = {\"longest_edge\":3}"));
  EXPECT_THAT(ErrorOf({{"size", 0}}), HasSubstr("size = 0 not in [1, 4096]"));
  EXPECT_THAT(ErrorOf({{"size", 1e9}}), HasSubstr("size = 1000000000.0 not in [1, 4096]"));
  EXPECT_THAT(ErrorOf({{"size", 100}}), HasSubstr("crop_size 224 x 224 is larger than size 100"));
  EXPECT_THAT(ErrorOf({{"image_std", {1, 0, 1}}}), HasSubstr("image_std = 0 not in"));
  EXPECT_THAT(ErrorOf({{"image_mean", {1, "x", 1}}}), HasSubstr("image_mean = \"x\" not in"));
  EXPECT_THAT(ErrorOf({{"image_mean", 3}}), HasSubstr("not a list of 3 numbers"));
  EXPECT_THAT(ErrorOf({{"rescale_factor", -1}}), HasSubstr("rescale_factor = -1 not in"));
  EXPECT_THAT(ErrorOf(json::array()), HasSubstr("not a JSON object"));
  EXPECT_EQ(PictureProcessor::Read(ModelSource::OfDirectory("/no/such/folder")).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace shortlist
