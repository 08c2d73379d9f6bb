#include "text/reply/reply_parser.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "reply_cases.h"

namespace shortlist {
namespace {

ReplyParser::Options OptionsOf(ToolFormat format, ReplyStart start) {
  return {.format = FormatWithReasoning(format), .start = start, .tools = TestTools()};
}

class ReplyCaseTest : public testing::TestWithParam<ReplyCase> {};

TEST_P(ReplyCaseTest, PartsAreTheSameForAnyCuts) {
  const ReplyCase& reply = GetParam();
  const ReplyParser::Options options = OptionsOf(reply.format, reply.start);
  EXPECT_EQ(ParseReply(options, reply.text), reply.expected);

  std::vector<size_t> cuts(reply.text.size());
  std::iota(cuts.begin(), cuts.end(), 0);
  EXPECT_EQ(ParseReply(options, reply.text, cuts), reply.expected) << "byte by byte";

  const auto seed = static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed());
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 50; ++i) {
    cuts.resize(random() % 8);
    for (size_t& cut : cuts) cut = random() % (reply.text.size() + 1);
    std::sort(cuts.begin(), cuts.end());
    ASSERT_EQ(ParseReply(options, reply.text, cuts), reply.expected)
        << testing::PrintToString(cuts);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReplyCaseTest, testing::ValuesIn(ReplyCases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace shortlist
