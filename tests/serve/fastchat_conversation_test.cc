#include "serve/fastchat_conversation.h"

#include <cctype>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using Json = nlohmann::json;

/// What FastChat's Conversation.get_prompt makes of `conv` and the turns of `messages`, an array of
/// {"role", "content"}: the styles whose numbers are the same in all its releases.
std::string FastchatPrompt(Json conv, const Json& messages) {
  std::vector<std::pair<std::string, std::string>> turns;
  for (const Json& example : conv["messages"]) turns.emplace_back(example[0], example[1]);
  for (const Json& message : messages) {
    if (message["role"] == "system") {
      conv["system_message"] = message["content"];
    } else {
      turns.emplace_back(conv["roles"][message["role"] == "assistant"], message["content"]);
    }
  }
  turns.emplace_back(conv["roles"][1], "");

  const std::string system_message = conv["system_message"];
  const std::string system = absl::StrReplaceAll(std::string(conv["system_template"]),
                                                 {{"{system_message}", system_message}});
  const int style = conv["sep_style"];
  const std::string seps[] = {conv["sep"], conv["sep2"].is_null() ? conv["sep"] : conv["sep2"]};
  const bool is_two = style == 2 || style == 5 || style == 7;
  const std::string before = style == 1 || style == 2 ? ": "
                             : style == 6             ? "\n"
                             : style == 7             ? " "
                                                      : "";
  const std::string open = style == 1 || style == 2 ? ":" : style == 6 ? "\n" : "";

  std::string prompt = system;
  if (style == 1 || style == 2 || (style == 6 && !system.empty())) prompt += seps[0];
  if (style == 7 && system_message.empty()) prompt = "[INST] ";
  for (size_t i = 0; i < turns.size(); ++i) {
    const auto& [role, text] = turns[i];
    if (style == 7 && i == 0 && !text.empty()) {
      absl::StrAppend(&prompt, text, " ");
    } else if (text.empty()) {
      absl::StrAppend(&prompt, role, open);
    } else {
      absl::StrAppend(&prompt, role, before, text, seps[is_two ? i % 2 : 0]);
    }
  }
  return prompt;
}

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

TEST_P(FastchatConversationTest, SpeaksInStylesWithStableNumbers) {
  const Json conv = FastchatConversation(conversation());
  EXPECT_GE(conv["sep_style"], 1);
  EXPECT_LE(conv["sep_style"], 7);
  EXPECT_EQ(conv["name"], name());
  ASSERT_TRUE(conv["stop_str"].is_array());
  ASSERT_TRUE(conv["stop_token_ids"].is_array());
  EXPECT_EQ(conv["offset"], conv["messages"].size());
}

TEST_P(FastchatConversationTest, PromptsAreThoseOfRender) {
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

TEST(FindConversationLikeTest, RecognisesCheckpointsTemplates) {
  const struct {
    const char *file, *bos, *name;
  } kCases[] = {
      {"chatml", "", "chatml"},
      {"llama3", "<|begin_of_text|>", nullptr},
      {"gemma", "<bos>", "gemma"},
      {"qwen3", "", "chatml"},
      {"deepseek", "<｜begin▁of▁sentence｜>", nullptr},
      {"phi", "", nullptr},
  };
  for (const auto& c : kCases) {
    std::ifstream file(std::string("tests/reference/golden/chat/") + c.file + ".jinja");
    const std::string source{std::istreambuf_iterator<char>(file), {}};
    const auto chat_template = ChatTemplate::Create(
        {{"default", source}}, {{"bos_token", c.bos}, {"eos_token", "<｜end▁of▁sentence｜>"}});
    ASSERT_TRUE(chat_template.ok()) << chat_template.status();
    const Conversation* const found = FindConversationLike(*chat_template, c.bos);
    EXPECT_EQ(found == nullptr ? "none" : found->name, c.name == nullptr ? "none" : c.name)
        << c.file;
  }
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
