#include "serve/tokenizer_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "nlohmann/json.hpp"
#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class TokenizerInfoTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(dir_); }

  absl::StatusOr<json> Info(const std::string& config, std::optional<ChatTemplate> own = {}) {
    std::filesystem::create_directories(dir_);
    if (!config.empty()) std::ofstream(dir_ / "tokenizer_config.json") << config;
    const PromptEncoder encoder(DemoTokenizer(), std::move(own), **FindConversation("zero_shot"));
    const absl::StatusOr<std::string> info = TokenizerInfo(
        ModelSource::OfDirectory(dir_.string()),
        {.tokenizer = &DemoTokenizer(), .prompt_encoder = &encoder, .context_length = 1024});
    if (!info.ok()) return info.status();
    return json::parse(*info);
  }

  const std::filesystem::path dir_ =
      std::filesystem::path(testing::TempDir()) / ("tokenizer_info." + std::to_string(::getpid()));
};

TEST_F(TokenizerInfoTest, ReportsConfigTokensInAnyForm) {
  const auto info = Info(R"({"tokenizer_class": "X", "bos_token": {"content": "<b>"},
                            "eos_token": "<e>", "pad_token": null})");
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(*info, (json{{"tokenizer_class", "X"},
                         {"bos_token", "<b>"},
                         {"eos_token", "<e>"},
                         {"unk_token", nullptr},
                         {"pad_token", nullptr},
                         {"chat_template", nullptr},
                         {"chat_stops", (*FindConversation("zero_shot"))->stop_str},
                         {"chat_stop_token_ids", json::array()},
                         {"model_max_length", 1024}}));
}

TEST_F(TokenizerInfoTest, WithoutConfigUsesTokenizerTokens) {
  const auto info = Info("");
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ((*info)["bos_token"], "<s>");
  EXPECT_EQ((*info)["eos_token"], "</s>");
}

TEST_F(TokenizerInfoTest, ReportsActiveChatTemplate) {
  const std::string source = "{% for m in messages %}[{{ m.content }}]{% endfor %}";
  const auto info = Info("{}", *ChatTemplate::Create({{"default", source}}, {}));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ((*info)["chat_template"], source);
  EXPECT_EQ((*info)["chat_stops"], json::array());
}

TEST_F(TokenizerInfoTest, NonObjectConfigIsNamed) {
  for (const char* config : {"[]", "{", "1"}) {
    EXPECT_THAT(Info(config).status().ToString(), HasSubstr("tokenizer_config.json")) << config;
  }
}

}  // namespace
}  // namespace shortlist
