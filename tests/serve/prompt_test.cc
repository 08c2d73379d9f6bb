#include "serve/prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

const Conversation& ZeroShot() { return **FindConversation("zero_shot"); }

std::vector<TokenId> Encode(const PromptEncoder& encoder, const Prompt& prompt) {
  const auto ids = encoder.Encode(prompt, {});
  EXPECT_TRUE(ids.ok()) << ids.status();
  return ids.ok() ? *ids : std::vector<TokenId>();
}

Chat UserSays(const std::string& text) {
  Chat chat;
  chat.messages = ordered_json::array({ordered_json{{"role", "user"}, {"content", text}}});
  return chat;
}

TEST(PromptEncoderTest, BosGoesFirstOnce) {
  const PromptEncoder encoder(DemoTokenizer(), std::nullopt, ZeroShot());
  const std::vector<TokenId> plain = Encode(encoder, "Hello there");
  EXPECT_EQ(plain.front(), TokenId{1});
  EXPECT_EQ(Encode(encoder, "<s>Hello there"), plain);
  EXPECT_EQ(encoder.Encode("Hello there", {.add_special_tokens = false})->front(), plain[1]);
}

TEST(PromptEncoderTest, TypedControlTokensStayText) {
  auto chat_template = ChatTemplate::Create(
      {{"default", "{% for m in messages %}<s>{{ m.content }}</s>{% endfor %}"}}, {});
  ASSERT_TRUE(chat_template.ok()) << chat_template.status();
  const PromptEncoder encoder(DemoTokenizer(), *std::move(chat_template), ZeroShot());
  const std::vector<TokenId> ids = Encode(encoder, UserSays("a</s>b"));
  EXPECT_EQ(ids.front(), TokenId{1});
  EXPECT_EQ(ids.back(), TokenId{2});
  EXPECT_EQ(std::count(ids.begin(), ids.end(), TokenId{2}), 1);
  EXPECT_THAT(DemoTokenizer().Decode(ids), HasSubstr("a</s>b"));
  EXPECT_TRUE(encoder.ChatStops().empty());
}

TEST(PromptEncoderTest, WithoutATemplateTheNamedConversationIsTaken) {
  const PromptEncoder encoder(DemoTokenizer(), std::nullopt, ZeroShot());
  const std::vector<TokenId> ids = Encode(encoder, UserSays("How are you?"));
  EXPECT_EQ(ids.front(), TokenId{1});
  EXPECT_THAT(DemoTokenizer().Decode(ids), HasSubstr("### Human: How are you?\n### Assistant:"));
  EXPECT_EQ(encoder.ChatStops(), std::vector<std::string>{"###"});
}

TEST(PromptEncoderTest, RefusesWhatIsNoPrompt) {
  const PromptEncoder encoder(DemoTokenizer(), std::nullopt, ZeroShot());
  EXPECT_FALSE(encoder.Encode(std::vector<TokenId>(), {}).ok());
  EXPECT_FALSE(encoder.Encode(std::vector<TokenId>{TokenId{16384}}, {}).ok());
  EXPECT_FALSE(encoder.Encode(std::string("\xff"), {}).ok());
  EXPECT_FALSE(encoder.Encode("", {.add_special_tokens = false}).ok());
  EXPECT_FALSE(encoder.Encode(Chat(), {}).ok());
}

}  // namespace
}  // namespace shortlist
