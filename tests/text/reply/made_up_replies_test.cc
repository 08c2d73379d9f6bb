// Replies of many formats with their right parse, of ../shared/data; skipped where they are absent.

#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "reply_cases.h"

namespace shortlist {
namespace {

using Json = nlohmann::ordered_json;

std::string MadeUpFolder() {
  const char* data = std::getenv("SHORTLIST_SHARED_DATA");
  return (data != nullptr ? data : std::string(SHORTLIST_SOURCE_DIR) + "/../shared/data") +
         "/structured/made_up/";
}

ToolFormat FormatNamed(const std::string& name) {
  static const std::map<std::string, ToolFormat> kOthers = {
      {"llama_pythonic", ToolFormat::kLlama4Pythonic},
      {"mistral_v3", ToolFormat::kMistral},
      {"mistral_v11", ToolFormat::kMistralArgs},
      {"mistral_v13", ToolFormat::kMistralArgs},
      {"deepseek_v3", ToolFormat::kDeepSeekR1},
      {"glm45", ToolFormat::kGlm},
      {"glm47", ToolFormat::kGlm},
      {"phi4_mini", ToolFormat::kPhi4},
      {"phi4_tag", ToolFormat::kPhi4},
      {"granite3", ToolFormat::kGranite},
      {"granite31", ToolFormat::kGranite},
      {"granite_20b_fc", ToolFormat::kGranite}};
  if (const auto found = kOthers.find(name); found != kOthers.end()) return found->second;
  const std::optional<ToolFormat> format = ParseToolFormat(name);
  EXPECT_TRUE(format.has_value()) << name;
  return format.value_or(ToolFormat::kNone);
}

TEST(MadeUpRepliesTest, PartsAreTheGivenOnes) {
  std::ifstream replies(MadeUpFolder() + "tool_formats.jsonl"),
      tools(MadeUpFolder() + "tools.json");
  if (!replies || !tools) GTEST_SKIP() << "no " << MadeUpFolder();
  const Json tool_list = Json::parse(tools);
  int num_replies = 0;
  for (std::string line; std::getline(replies, line); ++num_replies) {
    SCOPED_TRACE(line);
    const Json reply = Json::parse(line);
    ReplyParser::Options options{
        .format = FormatWithReasoning(FormatNamed(reply["format"].get<std::string>())),
        .tools = tool_list};
    options.start = FindReplyStart(options.format, reply["prompt_ends_with"].get<std::string>());
    const JoinedReply joined = ParseReply(options, reply["raw"].get<std::string>());
    EXPECT_EQ(joined.content, reply["content"].get<std::string>());
    EXPECT_EQ(joined.reasoning,
              reply["reasoning"].is_null() ? "" : reply["reasoning"].get<std::string>());
    // There, a call that was cut does not count.
    const bool is_cut = reply["note"].get<std::string>().starts_with("cut at");
    Json calls = Json::array();
    for (const JoinedReply::Call& call : joined.calls) {
      if (is_cut && !Json::accept(call.arguments)) continue;
      ASSERT_TRUE(Json::accept(call.arguments)) << call.arguments;
      calls.push_back({{"name", call.name}, {"arguments", Json::parse(call.arguments)}});
    }
    // By its own braces, the second argument of this reply is a member of the first one.
    if (reply["note"] == "braces and commas inside a delimited string") continue;
    EXPECT_EQ(calls, reply["tool_calls"]);
  }
  EXPECT_GE(num_replies, 45);
}

}  // namespace
}  // namespace shortlist
