#include "text/chat/special_tokens.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/text/test_util.h"

namespace shortlist {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;
using Tokens = std::map<std::string, std::string>;

absl::StatusOr<Tokens> ReadOf(const json& config, const json& map,
                              const json& tokenizer = nullptr) {
  const std::filesystem::path dir = FreshDir();
  std::ofstream(dir / "tokenizer_config.json") << config;
  if (!map.is_null()) std::ofstream(dir / "special_tokens_map.json") << map;
  if (!tokenizer.is_null()) std::ofstream(dir / "tokenizer.json") << tokenizer;
  auto tokens = ReadTemplateTokens(ModelSource::OfDirectory(dir.string()));
  std::filesystem::remove_all(dir);
  return tokens;
}

TEST(TemplateTokensTest, MatchTransformers) {
  const auto path = std::filesystem::path(SHORTLIST_SOURCE_DIR) /
                    "tests/reference/golden/chat/special_tokens.json";
  const json golden = json::parse(ReadAll(path.string()));
  int num_classes = 0;
  for (const json& expected : golden["cases"]) {
    if (expected["tokens"].is_null()) continue;
    if (expected.contains("tokenizer")) ++num_classes;
    const auto tokens =
        ReadOf(expected["config"], expected["map"], expected.value("tokenizer", json()));
    ASSERT_TRUE(tokens.ok()) << tokens.status() << expected;
    EXPECT_EQ(*tokens, expected["tokens"].get<Tokens>()) << expected;
  }
  EXPECT_GT(num_classes, 10);
}

TEST(TemplateTokensTest, RejectsInvalidToken) {
  const auto refusal = [](const char* config) {
    return std::string(ReadOf(json::parse(config), nullptr).status().message());
  };
  EXPECT_THAT(refusal(R"({"bos_token": 7})"), HasSubstr("bos_token is not a text"));
  EXPECT_THAT(refusal(R"({"extra_special_tokens": {"a_token": 7}})"),
              HasSubstr("tokenizer_config.json: a_token is not a text"));
  EXPECT_THAT(refusal(R"({"extra_special_tokens": {"tools": "<t>"}})"),
              HasSubstr("the name of the token tools is taken"));
  EXPECT_THAT(refusal("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal(R"({"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": "yes"})"),
              HasSubstr("tokenizer_config.json: "));
  // A folder with tokenizer.model alone.
  EXPECT_THAT(*ReadOf(json::parse(R"({"tokenizer_class": "LlamaTokenizer"})"), nullptr),
              Contains(Pair("bos_token", "<s>")));
}

}  // namespace
}  // namespace shortlist
