// Calls in a block of Markdown, without the marks of the model's format.

#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "reply_cases.h"

namespace shortlist {
namespace {

const char kWeather[] = R"({"name": "weather", "arguments": {"city": "Oslo", "days": [2]}})";
const JoinedReply::Call kWeatherCall = {"weather", R"({"city": "Oslo", "days": [2]})", ""};

ReplyParser::Options OptionsOf(ToolFormat format = ToolFormat::kHermes) {
  return {
      .format = FormatWithReasoning(format), .start = ReplyStart::kMayReason, .tools = TestTools()};
}

std::string Block(std::string_view text, std::string_view word = "json") {
  return "```" + std::string(word) + "\n" + std::string(text) + "\n```";
}

// The same parts whole, byte by byte, and for a cut at each byte.
void ExpectParts(const ReplyParser::Options& options, const std::string& text,
                 const JoinedReply& expected) {
  SCOPED_TRACE(text);
  EXPECT_EQ(ParseReply(options, text), expected);
  std::vector<size_t> all;
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    all.push_back(cut);
    EXPECT_EQ(ParseReply(options, text, {cut}), expected) << "cut at " << cut;
  }
  EXPECT_EQ(ParseReply(options, text, all), expected) << "byte by byte";
}

TEST(FencedCallsTest, BlockOfCallsAloneIsCalls) {
  const std::string weather = kWeather;
  for (const ToolFormat format : {ToolFormat::kHermes, ToolFormat::kLlama3Json,
                                  ToolFormat::kMistral, ToolFormat::kPhi4, ToolFormat::kGranite}) {
    ExpectParts(OptionsOf(format), Block(weather), {"", "", {kWeatherCall}});
  }
  for (const std::string& text :
       {Block(weather, ""), "\n " + Block(weather) + "\n\n", "```json" + weather + "```",
        "``` \n" + weather + "```", Block("[" + weather + "]"),
        Block(R"({"arguments": {"city": "Oslo", "days": [2]}, "name": "weather"})")}) {
    ExpectParts(OptionsOf(), text, {"", "", {kWeatherCall}});
  }
  ExpectParts(OptionsOf(), Block("[\n" + weather + " ,\n{\"name\":\"any\",\"arguments\":{}}\n]"),
              {"", "", {kWeatherCall, {"any", "{}", ""}}});
}

TEST(FencedCallsTest, ReasoningMayComeBefore) {
  ExpectParts(OptionsOf(), "<think>\nHm.\n</think>\n\n" + Block(kWeather) + "\n",
              {"", "Hm.", {kWeatherCall}});
  const std::string inside = "<think>\n" + Block(kWeather) + "\n</think>\nNo.";
  ExpectParts(OptionsOf(), inside, {"No.", Block(kWeather), {}});
}

TEST(FencedCallsTest, OtherTextIsContent) {
  const std::string weather = kWeather;
  for (const std::string& text : {"So:\n" + Block(weather),
                                  Block(weather) + "\nDone.",
                                  Block(weather) + Block(weather),
                                  Block(weather).substr(0, weather.size() + 10),
                                  Block(weather, "python"),
                                  Block(weather, "jsonc"),
                                  Block(weather + "\n" + weather),
                                  Block("[]"),
                                  Block(""),
                                  Block("[" + weather + ",]"),
                                  Block("[[" + weather + "]]"),
                                  "`" + weather + "`",
                                  "````json\n" + weather + "\n````",
                                  Block(weather) + "`",
                                  Block(R"({"name": "other", "arguments": {}})"),
                                  Block(R"({"name": "weath", "arguments": {}})"),
                                  Block(R"({"name": "any", "parameters": {}})"),
                                  Block(R"({"name": "any"})"),
                                  Block(R"({"name": "any", "arguments": "{}"})"),
                                  Block(R"({"name": "any", "arguments": null})"),
                                  Block(R"({"name": "any", "arguments": {}, "id": "1"})"),
                                  Block(R"({"arguments": {}, "name": "any", "arguments": {}})"),
                                  Block(R"({"name": "any", "arguments": {"a": }})")}) {
    ExpectParts(OptionsOf(), text, {text, "", {}});
  }
}

TEST(FencedCallsTest, OtherFormatsAndRepliesWithoutToolsKeepBlocks) {
  ExpectParts(OptionsOf(ToolFormat::kQwen3Coder), Block(kWeather), {Block(kWeather), "", {}});
  ReplyParser::Options options = OptionsOf();
  options.tools = nullptr;
  ExpectParts(options, Block(kWeather), {Block(kWeather), "", {}});
}

TEST(FencedCallsTest, MarksOfTheFormatCount) {
  const std::string call = "<tool_call>{\"name\": \"any\"}</tool_call>";
  ExpectParts(OptionsOf(), call + "\n" + Block(kWeather),
              {Block(kWeather), "", {{"any", "{}", ""}}});
  ExpectParts(OptionsOf(), Block(call), {"```json\n\n```", "", {{"any", "{}", ""}}});
}

TEST(FencedCallsTest, SingleDropsFurtherCalls) {
  ReplyParser::Options options = OptionsOf();
  options.is_single = true;
  ExpectParts(options, Block("[" + std::string(kWeather) + "," + kWeather + "]"),
              {"", "", {kWeatherCall}});
}

// Number of bytes of `text` after which the first part comes.
size_t NumHeld(const std::string& text) {
  ReplyParser parser(OptionsOf());
  std::vector<ReplyPart> parts;
  size_t num_bytes = 0;
  while (num_bytes < text.size() && parts.empty()) parser.Append({&text[num_bytes++], 1}, parts);
  return num_bytes;
}

TEST(FencedCallsTest, TextIsHeldOnlyWhileItMayBecomeCalls) {
  for (const std::string held :
       {"```p", "```jsonc", "``a", "```json\n1", "```\n{\"c", "```\n{\"name\": \"x",
        "```\n{\"name\": \"any\", \"arguments\": n", "```\n{\"name\": \"any\", \"i",
        "```\n{\"name\": \"any\", \"arguments\": {},"}) {
    const std::string text = held + "ity and more";
    const size_t num_held = NumHeld(text);
    EXPECT_LE(num_held, held.size() + 1) << held;
  }
  const std::string block = Block(kWeather);
  EXPECT_EQ(NumHeld(block), block.size());
  EXPECT_EQ(NumHeld(block + "\n.."), block.size() + 2);
}

}  // namespace
}  // namespace shortlist
