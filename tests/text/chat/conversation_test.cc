#include "text/chat/conversation.h"

#include <filesystem>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/text/test_util.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;

const char* const kTurns = R"([{"role": "system", "content": "Be brief."},
                               {"role": "user", "content": " Hi "},
                               {"role": "assistant", "content": "Hello"},
                               {"role": "user", "content": "2+2?"}])";

RenderedChat RenderNamed(const std::string& name, const std::string& messages) {
  return FindConversation(name).value()->Render(ordered_json::parse(messages)).value();
}

TEST(ConversationTest, RendersLikeFastChat) {
  const auto path = std::filesystem::path(SHORTLIST_SOURCE_DIR) /
                    "tests/reference/golden/chat/conversations.json";
  std::set<std::string> names;
  for (const auto& expected : ordered_json::parse(ReadAll(path.string()))) {
    const auto name = expected["name"].get<std::string>();
    names.insert(name);
    EXPECT_EQ(RenderNamed(name, expected["messages"].dump()).text,
              expected["text"].get<std::string>())
        << name;
  }
  // llama-3, gemma and chatml are not in the release that the golden file comes from.
  EXPECT_EQ(names.size() + 3, Conversations().size());
}

TEST(ConversationTest, RendersNewerTemplates) {
  EXPECT_EQ(RenderNamed("llama-3", kTurns).text,
            "<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\nHello<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\n2+2?<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
  EXPECT_EQ(RenderNamed("gemma", R"([{"role": "user", "content": "Hi"}])").text,
            "<start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n");
  EXPECT_EQ(RenderNamed("chatml", R"([{"role": "user", "content": "Hi"}])").text,
            "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nHi"
            "<|im_end|>\n<|im_start|>assistant\n");
}

TEST(ConversationTest, MarksContent) {
  const RenderedChat chat =
      RenderNamed("vicuna_v1.1", R"([{"role": "user", "content": [{"type": "text", "text": "a</s>"},
                                                      {"type": "text", "text": "b"}]}])");
  EXPECT_THAT(chat.text, HasSubstr(" USER: a</s>\nb ASSISTANT:"));
  const size_t at = chat.text.find("a</s>");
  EXPECT_EQ(chat.content, (std::vector<ByteRange>{{at, at + 5}, {at + 6, at + 7}}));
}

TEST(ConversationTest, RejectsInvalidChat) {
  const auto refusal = [](const std::string& messages) {
    const auto rendered = FindConversation("raw").value()->Render(ordered_json::parse(messages));
    return std::string(rendered.status().message());
  };
  EXPECT_THAT(refusal("[]"), HasSubstr("at least one message"));
  EXPECT_THAT(refusal("null"), HasSubstr("at least one message"));
  EXPECT_THAT(refusal(R"([{"role": "user", "content": ""}, 1])"), HasSubstr("messages[1]: not an"));
  EXPECT_THAT(refusal(R"([{"role": 1, "content": ""}])"), HasSubstr("messages[0]: not an object"));
  EXPECT_THAT(refusal(R"([{"role": "tool", "content": ""}])"), HasSubstr("role \"tool\" is none"));
  EXPECT_THAT(refusal(R"([{"role": "user"}])"), HasSubstr("no \"content\""));
  EXPECT_THAT(refusal(R"([{"role": "user", "content": 5}])"), HasSubstr("neither"));
  EXPECT_THAT(refusal(R"([{"role": "user", "content": [{"type": "image_url"}]}])"),
              HasSubstr("not a text"));
  ordered_json invalid = ordered_json::parse(R"([{"role": "user", "content": ""}])");
  invalid[0]["content"] = "\xC3";
  EXPECT_THAT(FindConversation("raw").value()->Render(invalid).status().message(),
              HasSubstr("UTF-8 at byte 0"));
}

TEST(ConversationTest, UnknownNameListsKnownOnes) {
  EXPECT_THAT(FindConversation("nope").status().message(),
              ::testing::AllOf(HasSubstr("'nope'"), HasSubstr("vicuna_v1.1, koala_v1")));
}

}  // namespace
}  // namespace shortlist
