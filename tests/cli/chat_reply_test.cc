#include "cli/chat_reply.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>

namespace shortlist {
namespace {

const ReplyFormat kThink = {.reasoning_begin = "<think>", .reasoning_end = "</think>"};

struct Written {
  std::string out, error, answer, reasoning;
};

/// Writes `text` byte by byte.
Written Write(const ReplyFormat& format, std::string_view prompt_end, std::string_view text) {
  std::ostringstream out;
  testing::internal::CaptureStderr();
  ChatReply reply(format, prompt_end, out);
  for (const char c : text) EXPECT_TRUE(reply.Append({&c, 1}));
  reply.Finish();
  return {out.str(), testing::internal::GetCapturedStderr(), reply.answer(), reply.reasoning()};
}

TEST(ChatReplyTest, ReasoningIsWrittenToStderr) {
  const Written begun = Write(kThink, "assistant\n", "<think>\nSo.\n</think>\n\nYes <b>.");
  EXPECT_EQ(begun.out, "Yes <b>.\n");
  EXPECT_EQ(begun.error, "So.\n");
  EXPECT_EQ(begun.answer, "Yes <b>.");
  EXPECT_EQ(begun.reasoning, "So.");
  const Written opened = Write(kThink, "assistant\n<think>\n", "So.</think>Yes");
  EXPECT_EQ(opened.out, "Yes\n");
  EXPECT_EQ(opened.error, "So.\n");
}

TEST(ChatReplyTest, CutReasoningHasNoAnswer) {
  const Written cut = Write(kThink, "assistant\n", "<think>So </thi");
  EXPECT_EQ(cut.out, "\n");
  EXPECT_EQ(cut.error, "So </thi\n");
}

TEST(ChatReplyTest, WithoutReasoningTextStaysAsItIs) {
  const Written plain = Write({}, "assistant\n", " <think>a</think> b \n");
  EXPECT_EQ(plain.out, " <think>a</think> b \n\n");
  EXPECT_EQ(plain.error, "");
}

TEST(ChatReplyTest, ReportsStreamThatCannotBeWritten) {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  EXPECT_FALSE(ChatReply({}, "", out).Append("a"));
}

}  // namespace
}  // namespace shortlist
