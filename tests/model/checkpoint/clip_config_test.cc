#include "model/checkpoint/clip_config.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

json Config(json fields) {
  json object = {{"architectures", {"CLIPModel"}}};
  object.update(fields);
  return object;
}

TEST(ClipConfigTest, OlderFieldsOfATowerCount) {
  const auto config = ParseClipConfig(
      Config({{"text_config", {{"hidden_act", "gelu"}, {"num_hidden_layers", 3}}},
              {"text_config_dict", {{"hidden_act", "quick_gelu"}}},
              {"vision_config", {{"hidden_act", "gelu"}, {"num_hidden_layers", 3}}}}),
      "config.json");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->text.activation, Activation::kGeluQuick);
  EXPECT_EQ(config->text.num_layers, 12);  // the default, as in transformers
  EXPECT_EQ(config->vision.activation, Activation::kGeluErf);
  EXPECT_EQ(config->vision.num_layers, 3);
}

TEST(ClipConfigTest, ErrorsNameTheFieldThatCounts) {
  const auto error = [](json fields) {
    return std::string(ParseClipConfig(Config(fields), "config.json").status().message());
  };
  EXPECT_THAT(error({{"vision_config_dict", 3}}),
              testing::HasSubstr("vision_config_dict = 3 is not an object"));
  EXPECT_THAT(error({{"text_config_dict", {{"num_hidden_layers", 0}}}}),
              testing::HasSubstr("text_config_dict: num_hidden_layers"));
}

}  // namespace
}  // namespace shortlist
