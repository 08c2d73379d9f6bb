#include "serve/fastchat/conversation.h"

#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/serve/fastchat/prompt.h"

namespace shortlist {
namespace {

using Json = nlohmann::json;

Json Message(const char* role, const char* content) {
  return {{"role", role}, {"content", content}};
}

std::string Render(const Conversation& conversation, const Json& messages) {
  auto chat = conversation.Render(nlohmann::ordered_json::parse(messages.dump()));
  EXPECT_TRUE(chat.ok()) << chat.status();
  return chat.ok() ? chat->text : "";
}

class FastchatConversationTest : public ::testing::TestWithParam<size_t> {
 protected:
  const Conversation& conversation() const { return Conversations()[GetParam()]; }
  const std::string& name() const { return conversation().name; }
};

TEST_P(FastchatConversationTest, StyleNumbersAreStable) {
  const Json conv = FastchatConversation(conversation());
  EXPECT_GE(conv["sep_style"], 1);
  EXPECT_LE(conv["sep_style"], 7);
  EXPECT_EQ(conv["name"], name());
  ASSERT_TRUE(conv["stop_str"].is_array());
  ASSERT_TRUE(conv["stop_token_ids"].is_array());
  EXPECT_EQ(conv["offset"], conv["messages"].size());
}

TEST_P(FastchatConversationTest, PromptsMatchRender) {
  const Json conv = FastchatConversation(conversation());
  const Json user = Message("user", "What is a slot?");
  const Json assistant = Message("assistant", "A place.");
  const Json system = Message("system", "Be brief.");

  const bool frames_empty_system = name() == "llama-3" || name() == "falcon-chat";
  if (!frames_empty_system) {
    EXPECT_EQ(FastchatPrompt(conv, Json::array({user})),
              Render(conversation(), Json::array({user})));
  }
  if (name() != "openchat_3.5") {
    EXPECT_EQ(FastchatPrompt(conv, Json::array({system, user})),
              Render(conversation(), Json::array({system, user})));
  }
  const bool drops_space =
      name() == "falcon-chat" || name() == "openchat_3.5" || name() == "deepseek-chat";
  const Json first = name() == "openchat_3.5" ? user : system;
  const Json longer = Json::array({first, user, assistant, user});
  std::string expected = Render(conversation(), longer);
  if (drops_space) expected = absl::StrReplaceAll(expected, {{": A place.", ":A place."}});
  EXPECT_EQ(FastchatPrompt(conv, longer), expected);
}

INSTANTIATE_TEST_SUITE_P(All, FastchatConversationTest,
                         ::testing::Range(size_t{0}, Conversations().size()), [](const auto& info) {
                           std::string name = Conversations()[info.param].name;
                           for (char& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace shortlist
