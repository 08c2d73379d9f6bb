// ReplyParser on texts that no model should write.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "reply_cases.h"
#include "text/reply/reply_format.h"
#include "text/reply/reply_parser.h"

namespace shortlist {
namespace {

size_t JoinedSize(const JoinedReply& reply) {
  size_t size = reply.content.size() + reply.reasoning.size();
  for (const auto& call : reply.calls) {
    size += call.name.size() + call.arguments.size() + call.id.size();
  }
  return size;
}

class ReplyRobustnessTest : public testing::TestWithParam<ToolFormat> {
 protected:
  ReplyRobustnessTest()
      : seed_(static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed())),
        random_(seed_) {}

  int Draw(size_t bound) { return static_cast<int>(random_() % bound); }

  ReplyParser::Options Options() {
    return {.format = FormatWithReasoning(GetParam()),
            .start = static_cast<ReplyStart>(Draw(3)),
            .tools = TestTools(),
            .is_single = Draw(4) == 0,
            .reasoning_is_content = Draw(4) == 0,
            .is_call_array = GetParam() == ToolFormat::kNone && Draw(2) == 0};
  }

  // The same parts for any cuts, and not much more text than there was.
  void Check(const ReplyParser::Options& options, const std::string& text) {
    SCOPED_TRACE(testing::Message() << "seed " << seed_ << ", " << testing::PrintToString(text));
    const JoinedReply whole = ParseReply(options, text);
    std::vector<size_t> cuts(Draw(6));
    for (size_t& cut : cuts) cut = Draw(text.size() + 1);
    std::sort(cuts.begin(), cuts.end());
    ASSERT_EQ(ParseReply(options, text, cuts), whole) << testing::PrintToString(cuts);
    // A control character becomes six bytes, a call without arguments gets two.
    ASSERT_LE(JoinedSize(whole), 6 * text.size() + 64);
  }

  const unsigned seed_;
  std::mt19937 random_;
};

TEST_P(ReplyRobustnessTest, RandomMarksAndTexts) {
  std::vector<std::string> pieces = ReplyMarks(FormatWithReasoning(GetParam()));
  for (const char* piece : {"{",
                            "}",
                            "[",
                            "]",
                            "(",
                            ")",
                            "\"",
                            "'",
                            "\\",
                            ",",
                            ":",
                            ";",
                            "=",
                            "\n",
                            " ",
                            "a",
                            "name",
                            "\"name\": \"any\"",
                            "\"arguments\": {",
                            "\"parameters\": ",
                            "null",
                            "any",
                            "call:any{",
                            "weather(",
                            "city=",
                            ">",
                            "1.5",
                            "é",
                            "\xF0",
                            "\x01",
                            "```json\n",
                            "```json\n{\"name\": \"any\", \"arguments\": {",
                            "to=functions.any",
                            "functions.any:0",
                            "analysis",
                            "final",
                            "commentary",
                            " string=\"true\""}) {
    pieces.push_back(piece);
  }
  for (int i = 0; i < 1500; ++i) {
    std::string text;
    for (int n = Draw(30); n > 0; --n) text += pieces[Draw(pieces.size())];
    ASSERT_NO_FATAL_FAILURE(Check(Options(), text));
  }
}

TEST_P(ReplyRobustnessTest, MutatedReplies) {
  std::vector<const ReplyCase*> cases;
  for (const ReplyCase& reply : ReplyCases()) {
    if (reply.format == GetParam()) cases.push_back(&reply);
  }
  for (int i = 0; i < 1000 && !cases.empty(); ++i) {
    std::string text = cases[Draw(cases.size())]->text;
    const std::string other = cases[Draw(cases.size())]->text;
    for (int n = Draw(4); n >= 0 && !text.empty(); --n) {
      const size_t at = Draw(text.size());
      switch (Draw(4)) {
        case 0:
          text.erase(at, 1 + Draw(4));
          break;
        case 1:
          text[at] = static_cast<char>(Draw(256));
          break;
        case 2:
          text.resize(at);
          break;
        default:
          text.insert(at, other, 0, Draw(other.size() + 1));
      }
    }
    ASSERT_NO_FATAL_FAILURE(Check(Options(), text));
  }
}

TEST_P(ReplyRobustnessTest, TextWithoutMarksIsContent) {
  static constexpr char kLetters[] = "abc <>|/\n\t \\.,:;!?`*_-=+%#é";
  for (int i = 0; i < 500; ++i) {
    std::string text;
    for (int n = Draw(80); n > 0; --n) text += kLetters[Draw(sizeof kLetters - 1)];
    ReplyParser::Options options = Options();
    options.start = Draw(2) == 0 ? ReplyStart::kAnswer : ReplyStart::kMayReason;
    EXPECT_EQ(ParseReply(options, text).content, text) << "seed " << seed_;
  }
}

TEST_P(ReplyRobustnessTest, LongRepetitionsTakeLinearTime) {
  std::vector<std::string> pieces = ReplyMarks(FormatWithReasoning(GetParam()));
  const size_t num_marks = pieces.size();
  for (size_t i = 0; i < num_marks; ++i) {
    pieces.push_back(pieces[i] + "{\"a\":[");
    pieces.push_back(pieces[i].substr(0, pieces[i].size() - 1));
  }
  for (const char* piece : {"[", "{\"a\":", "1", "<", "\n", "[any(k=", "call:any{k:"}) {
    pieces.push_back(piece);
  }
  // Time in the square of this size would exceed the limit of a test.
  constexpr size_t kBytes = 60'000;
  for (const std::string& piece : pieces) {
    std::string text;
    while (text.size() < kBytes) text += piece;
    const ReplyParser::Options options{.format = FormatWithReasoning(GetParam()),
                                       .start = ReplyStart::kMayReason,
                                       .tools = TestTools()};
    EXPECT_LE(JoinedSize(ParseReply(options, text)), 6 * text.size() + 64) << piece;
  }
}

std::vector<ToolFormat> AllFormats() {
  std::vector<ToolFormat> formats;
  for (int i = 0; i <= static_cast<int>(ToolFormat::kOlmo3); ++i) {
    formats.push_back(static_cast<ToolFormat>(i));
  }
  return formats;
}

INSTANTIATE_TEST_SUITE_P(All, ReplyRobustnessTest, testing::ValuesIn(AllFormats()),
                         [](const auto& info) { return std::string(ToolFormatName(info.param)); });

}  // namespace
}  // namespace shortlist
