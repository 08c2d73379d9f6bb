#include "text/chat/prompt_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "nlohmann/json.hpp"
#include "text/chat/conversation.h"
#include "text/sentencepiece/tokenizer.h"
#include "text/tokenizer/json_tokenizer.h"

namespace shortlist {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;

/// The demo pair's; opened once.
const Tokenizer& DemoTokenizer() {
  static const std::unique_ptr<Tokenizer> tokenizer =
      *OpenTokenizer(ModelSource::OfDirectory("models/demo/target"));
  return *tokenizer;
}

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

TEST(PromptEncoderTest, BosIsAddedOnce) {
  const PromptEncoder encoder(DemoTokenizer(), std::nullopt, ZeroShot());
  const std::vector<TokenId> plain = Encode(encoder, "Hello there");
  EXPECT_EQ(plain.front(), TokenId{1});
  const std::vector<TokenId> spelled = Encode(encoder, "<s>Hello there");
  EXPECT_EQ(std::count(spelled.begin(), spelled.end(), TokenId{1}), 1);
  EXPECT_EQ(DemoTokenizer().Decode(spelled), "Hello there");
  EXPECT_EQ(Encode(encoder, "<s> Hello there"), plain);
  EXPECT_EQ(encoder.Encode("Hello there", {.add_special_tokens = false})->front(), plain[1]);
}

TEST(PromptEncoderTest, ControlTokensInTextAreTextOnRequest) {
  const PromptEncoder encoder(DemoTokenizer(), std::nullopt, ZeroShot());
  const auto ids = encoder.Encode("a</s>b", {.parse_special = false});
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(*ids, *DemoTokenizer().Encode("a</s>b"));
  EXPECT_EQ(Encode(encoder, "a</s>b")[2], TokenId{2});
}

/// The tokenizer of a family of golden/chat_ids.json.
std::unique_ptr<Tokenizer> OpenFamily(const json& family) {
  absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer;
  if (family.contains("tokenizer")) {
    const std::string name = family["tokenizer"];
    json document = json::parse(
        *ReadFile("tests/reference/golden/tokenizers/" + name + ".json", 1 << 20))["tokenizer"];
    document["added_tokens"] = family["added_tokens"];
    tokenizer = ParseJsonTokenizer(document, json::object());
  } else {
    auto model = LoadSentencePieceModel(*ReadFile("models/demo/target/tokenizer.model", 1 << 24));
    EXPECT_TRUE(model.ok()) << model.status();
    tokenizer = MakeSentencePieceTokenizer(*std::move(model), family["config"]);
  }
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return tokenizer.ok() ? *std::move(tokenizer) : nullptr;
}

TEST(PromptEncoderTest, ChatIdsMatchTransformers) {
  for (const json& family :
       json::parse(*ReadFile("tests/reference/golden/chat_ids.json", 1 << 20))) {
    SCOPED_TRACE(family["name"]);
    const std::unique_ptr<Tokenizer> tokenizer = OpenFamily(family);
    ASSERT_NE(tokenizer, nullptr);
    auto chat_template =
        ChatTemplate::Create({{"default", family["template"]}},
                             {{"bos_token", family["bos"]}, {"eos_token", family["eos"]}});
    ASSERT_TRUE(chat_template.ok()) << chat_template.status();
    const PromptEncoder encoder(*tokenizer, *std::move(chat_template), ZeroShot());
    for (const json& row : family["cases"]) {
      SCOPED_TRACE(row["contents"].dump());
      Chat chat;
      chat.messages = ordered_json::array();
      for (const json& content : row["contents"]) {
        const char* role = chat.messages.size() % 2 == 0 ? "user" : "assistant";
        chat.messages.push_back({{"role", role}, {"content", content}});
      }
      json ids = json::array();
      for (const TokenId id : Encode(encoder, chat)) ids.push_back(Raw(id));
      EXPECT_EQ(ids, row["ids"]);
    }
  }
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

TEST(PromptEncoderTest, WithoutTemplateNamedConversationIsUsed) {
  const PromptEncoder encoder(DemoTokenizer(), std::nullopt, ZeroShot());
  const std::vector<TokenId> ids = Encode(encoder, UserSays("How are you?"));
  EXPECT_EQ(ids.front(), TokenId{1});
  EXPECT_THAT(DemoTokenizer().Decode(ids), HasSubstr("### Human: How are you?\n### Assistant:"));
  EXPECT_EQ(encoder.ChatStops(), std::vector<std::string>{"###"});
}

TEST(PromptEncoderTest, NamedConversationAlwaysOpensTheReply) {
  const PromptEncoder encoder(DemoTokenizer(), std::nullopt, ZeroShot());
  Chat chat = UserSays("Hi");
  chat.add_generation_prompt = false;
  EXPECT_THAT(std::string(encoder.Encode(chat, {}).status().message()),
              HasSubstr("add_generation_prompt: the model has no chat template"));
  chat.messages.push_back({{"role", "assistant"}, {"content", "Yo"}});
  chat.continue_final_message = true;
  EXPECT_TRUE(encoder.Encode(chat, {}).ok());
}

TEST(PromptEncoderTest, DeveloperBecomesSystemIfTemplateLacksIt) {
  Chat from_developer = UserSays("Hi");
  from_developer.messages.insert(from_developer.messages.begin(),
                                 ordered_json{{"role", "developer"}, {"content", "Be brief."}});
  Chat from_system = from_developer;
  from_system.messages[0]["role"] = "system";
  const auto encoder_of = [](const std::string& source) {
    auto chat_template = ChatTemplate::Create({{"default", source}}, {});
    EXPECT_TRUE(chat_template.ok()) << chat_template.status();
    return PromptEncoder(DemoTokenizer(), *std::move(chat_template), ZeroShot());
  };
  const PromptEncoder plain =
      encoder_of("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}");
  EXPECT_EQ(Encode(plain, from_developer), Encode(plain, from_system));
  const PromptEncoder fallback(DemoTokenizer(), std::nullopt, ZeroShot());
  EXPECT_EQ(Encode(fallback, from_developer), Encode(fallback, from_system));
  const PromptEncoder knowing = encoder_of(
      "{% for m in messages %}{% if m.role == 'developer' %}dev {% endif %}{{ m.content }}\n"
      "{% endfor %}");
  EXPECT_THAT(DemoTokenizer().Decode(Encode(knowing, from_developer)), HasSubstr("dev Be brief."));
}

TEST(PromptEncoderTest, IdsWithoutModelRowAreRejected) {
  const PromptEncoder encoder(DemoTokenizer(), std::nullopt, ZeroShot(), /*num_rows=*/100);
  EXPECT_EQ(encoder.Encode(std::vector<TokenId>{TokenId{99}}, {}).value(),
            std::vector<TokenId>{TokenId{99}});
  const auto refused = encoder.Encode(std::vector<TokenId>{TokenId{99}, TokenId{1000}}, {});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()),
              AllOf(HasSubstr("token id 1000 \""), HasSubstr("at position 1 not in [0, 100)")));
  EXPECT_FALSE(encoder.Encode("Hello there", {}).ok());
}

TEST(PromptEncoderTest, RejectsInvalidPrompt) {
  const PromptEncoder encoder(DemoTokenizer(), std::nullopt, ZeroShot());
  EXPECT_FALSE(encoder.Encode(std::vector<TokenId>(), {}).ok());
  EXPECT_FALSE(encoder.Encode(std::vector<TokenId>{TokenId{16384}}, {}).ok());
  EXPECT_FALSE(encoder.Encode(std::string("\xff"), {}).ok());
  EXPECT_FALSE(encoder.Encode("", {.add_special_tokens = false}).ok());
  EXPECT_FALSE(encoder.Encode(Chat(), {}).ok());
}

TEST(PromptEncoderTest, FallbackStopTokensCountIfTokenizerHasThem) {
  Conversation stops = ZeroShot();
  stops.stop_token_ids = {2, -1, 128'009};
  const PromptEncoder encoder(DemoTokenizer(), std::nullopt, stops);
  EXPECT_EQ(encoder.ChatStopTokenIds(), std::vector<TokenId>{TokenId{2}});
  auto own = ChatTemplate::Create({{"default", "{{ messages[0].content }}"}}, {});
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_TRUE(PromptEncoder(DemoTokenizer(), *own, stops).ChatStopTokenIds().empty());
}

}  // namespace
}  // namespace shortlist
