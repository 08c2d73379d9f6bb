#ifndef SHORTLIST_TESTS_SERVE_OPENAI_TOOL_CALLS_FIXTURE_H_
#define SHORTLIST_TESTS_SERVE_OPENAI_TOOL_CALLS_FIXTURE_H_

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/serve/serve_fixture.h"

namespace shortlist {

/// The marks of Qwen 3, in a few lines.
inline constexpr char kQwenTemplate[] =
    "{% if tools %}{{ tools | tojson }} <tool_call>{\"name\": , \"arguments\": }</tool_call>\n"
    "{% endif %}{% for m in messages %}{% if m.tool_calls %}{% for c in m.tool_calls %}"
    "<tool_call>{{ c.function.arguments | tojson }}</tool_call>{% endfor %}{% else %}{{ m.role }}: "
    "{{ m.content.split('</think>')[-1] }}\n{% endif %}{% endfor %}{% if add_generation_prompt %}"
    "assistant:{% if enable_thinking is defined and enable_thinking %}<think>\n"
    "{% elif enable_thinking is defined %}<think>\n\n</think>\n\n{% endif %}{% endif %}";

inline constexpr char kTwoQwenCalls[] =
    "I look.\n<tool_call>\n{\"name\": \"tide\", \"arguments\": {\"port\": "
    "\"Brest\"}}\n</tool_call>\n"
    "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2}}\n</tool_call>";

inline nlohmann::json ToolOfPort(const std::string& name) {
  return {
      {"type", "function"},
      {"function",
       {{"name", name},
        {"parameters", {{"type", "object"}, {"properties", {{"port", {{"type", "string"}}}}}}}}}};
}

/// A server whose engine says what it is told, with a chat template of a family of models.
class ToolCallsTest : public ServeTest {
 protected:
  void StartWith(const char* source = kQwenTemplate, GrammarCompiler* grammars = &DemoGrammars()) {
    encoder_with_template_.emplace(DemoTokenizer(),
                                   *ChatTemplate::Create({{"default", source}}, {}),
                                   **FindConversation("zero_shot"));
    Start([&](Server::Options& options) {
      options.generator.prompt_encoder = &*encoder_with_template_;
      options.service.reply_format = FindReplyFormat(source);
      options.generator.grammars = grammars;
    });
  }

  static nlohmann::json Chat() {
    return {{"messages", {{{"role", "user"}, {"content", "Tide?"}}}},
            {"tools", {ToolOfPort("tide"), ToolOfPort("add")}},
            {"max_tokens", 400}};
  }

  nlohmann::json Choice(const nlohmann::json& body) {
    const HttpReply reply = Connect().Post("/v1/chat/completions", body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.status == 200 ? reply.Json()["choices"][0] : nlohmann::json();
  }

  /// The "data" of all events but [DONE].
  std::vector<nlohmann::json> Events(const char* path, nlohmann::json body) {
    body["stream"] = true;
    const HttpReply reply = Connect().Post(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    std::vector<nlohmann::json> events;
    size_t at = 0;
    while ((at = reply.body.find("data: ", at)) != std::string::npos) {
      at += 6;
      const std::string line = reply.body.substr(at, reply.body.find('\n', at) - at);
      if (line != "[DONE]") events.push_back(nlohmann::json::parse(line));
    }
    return events;
  }

  std::optional<PromptEncoder> encoder_with_template_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SERVE_OPENAI_TOOL_CALLS_FIXTURE_H_
