#include "serve/fastchat/frame.h"

#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "serve/fastchat/conversation.h"
#include "tests/serve/fastchat/prompt.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

ChatTemplate Compile(const std::string& source) {
  auto made =
      ChatTemplate::Create({{"default", source}}, {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

/// A golden template of tests/reference.
ChatTemplate Golden(const std::string& name) {
  std::ifstream file("tests/reference/golden/chat/" + name + ".jinja");
  return Compile({std::istreambuf_iterator<char>(file), {}});
}

/// Turns of a user and an assistant by turns.
json Chat(bool has_system, int num_turns) {
  json messages = json::array();
  if (has_system) messages.push_back(json{{"role", "system"}, {"content", "Be {brief}."}});
  for (int i = 0; i < num_turns; ++i) {
    messages.push_back(json{{"role", i % 2 == 0 ? "user" : "assistant"},
                            {"content", "Turn " + std::to_string(i)}});
  }
  return messages;
}

/// Compares the prompt of FastChat's API server and worker with that of the template.
void ExpectSamePrompts(const FastchatFrame& frame, const ChatTemplate& own, bool takes_system) {
  const json conv = FastchatConversation(frame.conversation);
  EXPECT_LE(conv["sep_style"], 7);
  for (const int num_turns : {1, 3, 5, 7}) {
    for (const bool has_system : {false, true}) {
      if (has_system && !takes_system) continue;
      const json messages = Chat(has_system, num_turns);
      const auto wanted = own.Render({.messages = nlohmann::ordered_json::parse(messages.dump())});
      ASSERT_TRUE(wanted.ok()) << wanted.status();
      const std::string text = frame.Unmark(FastchatPrompt(conv, messages));
      EXPECT_EQ(text, wanted->text);
    }
  }
}

constexpr char kLlama2[] = R"({% if messages[0]['role'] == 'system' %}
{%- set rest = messages[1:] %}{% set system = messages[0]['content'] %}
{%- else %}{% set rest = messages %}{% set system = false %}{% endif %}
{%- for message in rest %}
{%- if loop.index0 == 0 and system != false %}
{%- set content = '<<SYS>>\n' + system + '\n<</SYS>>\n\n' + message['content'] %}
{%- else %}{% set content = message['content'] %}{% endif %}
{%- if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content + ' [/INST]' }}
{%- else %}{{ ' ' + content + ' ' + eos_token }}{% endif %}{% endfor %})";

constexpr char kVicuna[] = R"({% if messages[0]['role'] == 'system' %}
{%- set rest = messages[1:] %}{% set system = messages[0]['content'] %}
{%- else %}{% set rest = messages %}{% set system = 'A chat.' %}{% endif %}
{{- system }}{% for message in rest %}
{%- if message['role'] == 'user' %}{{ ' USER: ' + message['content'] }}
{%- else %}{{ ' ASSISTANT: ' + message['content'] + '</s>' }}{% endif %}{% endfor %}
{%- if add_generation_prompt %}{{ ' ASSISTANT:' }}{% endif %})";

TEST(FastchatFrameTest, MatchesCheckpointTemplates) {
  const struct {
    const char* what;
    ChatTemplate own;
    bool takes_system = true;
  } cases[] = {
      {"chatml", Golden("chatml")},      {"llama3", Golden("llama3")},
      {"gemma", Golden("gemma"), false}, {"qwen3", Golden("qwen3")},
      {"deepseek", Golden("deepseek")},  {"phi", Golden("phi")},
      {"llama 2", Compile(kLlama2)},     {"vicuna", Compile(kVicuna)},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    const auto frame = DeriveFastchatFrame(c.own);
    ASSERT_TRUE(frame.has_value());
    ExpectSamePrompts(*frame, c.own, c.takes_system);
  }
}

TEST(FastchatFrameTest, DefaultSystemMessageIsKept) {
  const auto frame = DeriveFastchatFrame(Golden("chatml"));
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->conversation.system_message, "You are a helpful assistant.");
  EXPECT_EQ(frame->marked_system, "");
}

TEST(FastchatFrameTest, ChatWithoutSystemMessageHasMark) {
  const auto frame = DeriveFastchatFrame(Golden("phi"));
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->marked_system, "<|system|>\n[no system message]<|end|>\n");
  EXPECT_EQ(frame->Unmark(frame->marked_system + "<|user|>\nHi"), "<|user|>\nHi");
  // An empty system message and a mark at any other place are kept.
  for (const char* kept : {"<|system|>\n<|end|>\n<|user|>\nHi", "<|user|>\n[no system message]"}) {
    EXPECT_EQ(frame->Unmark(kept), kept);
  }
}

TEST(FastchatFrameTest, GenerationPromptMayDifferFromHistory) {
  const auto frame = DeriveFastchatFrame(Golden("deepseek"));
  ASSERT_TRUE(frame.has_value());
  const std::string answer = "<｜Assistant｜>";
  EXPECT_EQ(frame->Unmark("Hi" + answer + "[answer]Yes." + answer + "[answer]"),
            "Hi" + answer + "Yes." + answer + "<think>\n");
}

TEST(FastchatFrameTest, UnsupportedTemplateIsNotDerived) {
  const std::pair<const char*, const char*> cases[] = {
      {"the system message stands in the last turn", nullptr},
      {"the number of the turn",
       "{% for m in messages %}[{{ loop.index }}] {{ m.content }}\n{% endfor %}"},
      {"it ends where the second question does",
       "{% for m in messages[:3] %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|>"},
      {"braces round the system message",
       "{% for m in messages %}{{ '{' + m.role + '}' + m.content }}{% endfor %}{assistant}"},
      {"the system message counts for nothing",
       "{% for m in messages if m.role != 'system' %}<{{ m.role }}>{{ m.content }}{% endfor %}"
       "<assistant>"},
      {"it refuses everything", "{{ raise_exception('no') }}"},
      {"it is empty", ""},
  };
  for (const auto& [what, source] : cases) {
    const ChatTemplate own = source == nullptr ? Golden("mistral") : Compile(source);
    EXPECT_FALSE(DeriveFastchatFrame(own).has_value()) << what;
  }
}

TEST(ChooseFastchatFrameTest, PrefersNamedThenCheckpointThenModelName) {
  const ChatTemplate phi = Golden("phi"), mistral = Golden("mistral");
  const auto choose = [](const char* named, const ChatTemplate* own, const char* model) {
    return ChooseFastchatFrame(named, own, model);
  };
  EXPECT_EQ(choose("alpaca", &phi, "vicuna")->conversation.name, "alpaca");
  EXPECT_EQ(choose("", &phi, "vicuna")->origin, "the checkpoint's chat template");
  EXPECT_EQ(choose("", &mistral, "mistralai/Mistral-7B-v0.3")->origin,
            "mistral, by the model's name");
  EXPECT_EQ(choose("", nullptr, "lmsys/vicuna-7b-v1.5")->conversation.name, "vicuna_v1.1");
  EXPECT_THAT(choose("", nullptr, "my/model").status().message(), HasSubstr("--conv-template"));
  EXPECT_THAT(choose("", &mistral, "my/model").status().message(), HasSubstr("my/model"));
  EXPECT_EQ(choose("none-such", &phi, "vicuna").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace shortlist
