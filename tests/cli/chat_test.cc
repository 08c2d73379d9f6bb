#include "cli/chat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "tests/cli/cli_testing.h"
#include "tests/support/temp_dir.h"
#include "text/tokenizer.h"

namespace shortlist {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

const char kTemplate[] =
    "{{ bos_token }}{% for m in messages %}{% if m.content == 'no' %}{{ raise_exception('not no') "
    "}}{% endif %} [{{ m.role }}] {{ m.content }}\n{% endfor %} [assistant]";

class ChatTest : public testing::Test {
 protected:
  ChatTest() {
    std::filesystem::copy(SourcePath("models/demo/target"), model_);
    dir_.Write("m/chat_template.jinja", kTemplate);
  }

  Outcome Run(const Args& args, const std::string& input, bool is_interactive = false) {
    const absl::StatusOr<ChatFlags> flags = ParseChatFlags(Args{"--model", model_} + args);
    if (!flags.ok()) return {flags.status(), ""};
    std::istringstream in(input);
    std::ostringstream out;
    const absl::Status status = RunChat(*flags, is_interactive, in, out);
    return {status, out.str()};
  }

  /// Returns the text generated after `prompt`, and a line end.
  std::string Continuation(const std::string& prompt, const Args& args) {
    const Outcome outcome = RunGenerate(Args{"--model", model_, "--prompt", prompt} + args);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    return outcome.out;
  }

  const TempDir dir_;
  const std::string model_ = dir_.Join("m");
};

TEST_F(ChatTest, OverlongLineIsRejected) {
  const Outcome outcome = Run({}, std::string((16 << 20) + 1, 'x'));
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(outcome.status.message(), "a line longer than the 16777216 bytes admitted here");
}

TEST_F(ChatTest, ReplyContinuesRenderedConversation) {
  const Args limit = {"--max-new-tokens", "12"};
  const std::string first = "<s> [system] Be brief.\n [user] The vector class\n [assistant]";
  const std::string first_answer = Continuation(first, limit);
  const std::string answer = first_answer.substr(0, first_answer.size() - 1);
  const std::string second_answer =
      Continuation(first.substr(0, first.rfind(" [assistant]")) + " [assistant] " + answer +
                       "\n [user] and the map?\n [assistant]",
                   limit);
  const Args draft = {"--draft", SourcePath("models/demo/draft"), "--vocab", "ratio:0.1"};
  for (const Args& args : {Args{}, draft}) {
    const Outcome chat =
        Run(limit + args + Args{"--system", "Be brief."}, "The vector class\n\nand the map?\r\n");
    ASSERT_TRUE(chat.status.ok()) << chat.status;
    EXPECT_EQ(chat.out, first_answer + second_answer);
  }
}

TEST_F(ChatTest, ReasoningIsNotPartOfOutput) {
  dir_.Write("m/chat_template.jinja",
             "{{ bos_token }}{% for m in messages %} [{{ m.role }}] "
             "{{ m.content.split('</think>')[-1] }}{% if m.reasoning_content %} ({{ "
             "m.reasoning_content }}){% endif %}{{ '\\n' }}{% endfor %} [assistant]<think>");
  const Args limit = {"--max-new-tokens", "12"};
  testing::internal::CaptureStderr();
  const Outcome chat = Run(limit, "The map\nMore\n");
  const std::string reasoning = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(chat.status.ok()) << chat.status;
  EXPECT_EQ(chat.out, "\n\n");
  const std::string first = "<s> [user] The map\n [assistant]";
  std::string thought = Continuation(first + "<think>", limit);
  absl::StripAsciiWhitespace(&thought);
  EXPECT_TRUE(reasoning.starts_with(thought + "\n")) << reasoning;
}

TEST_F(ChatTest, GrammarAppliesAfterReasoning) {
  dir_.Write("m/chat_template.jinja",
             "{{ bos_token }}{% for m in messages %} [{{ m.role }}] {{ m.content }}\n{% endfor %} "
             "[assistant]<think>{# </think> #}");
  testing::internal::CaptureStderr();
  const Outcome chat = Run(
      {"--regex", "[a-c]{3,5}", "--max-new-tokens", "200", "--temperature", "0.9"}, "The map\n");
  const std::string reasoning = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(chat.status.ok()) << chat.status;
  // The demo model does not know the mark that ends reasoning. It is cut within, or answers.
  EXPECT_THAT(chat.out, MatchesRegex("([a-c]{0,5})?\n"));
  EXPECT_GT(reasoning.size(), 6u);
}

TEST_F(ChatTest, CommandsStartNewConversations) {
  const Args limit = {"--max-new-tokens", "8"};
  const std::string plain = Continuation("<s> [user] The map\n [assistant]", limit);
  const std::string brief =
      Continuation("<s> [system] Be brief.\n [user] The map\n [assistant]", limit);
  const Outcome chat =
      Run(limit, "The map\n/reset\nThe map\n/system Be brief.\nThe map\n/system\nThe map\n");
  ASSERT_TRUE(chat.status.ok()) << chat.status;
  EXPECT_EQ(chat.out, plain + plain + brief + plain);
}

TEST_F(ChatTest, ShowsRenderedPrompt) {
  const Outcome shown = Run({"--show-prompt"}, "Hi</s>\nHello!\nBye\n");
  ASSERT_TRUE(shown.status.ok()) << shown.status;
  const std::vector<std::string> lines = Lines(shown.out);
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_EQ(lines[0], "<s> [user] Hi</s>");
  EXPECT_EQ(lines[1], " [assistant]");
  EXPECT_EQ(lines[3], lines[0]);
  EXPECT_EQ(lines[4], " [assistant] Hello!");
  EXPECT_EQ(lines[5], " [user] Bye");
  std::istringstream ids(lines[2]);
  const std::vector<int> raw{std::istream_iterator<int>(ids), {}};
  EXPECT_EQ(raw.front(), 1);
  EXPECT_EQ(std::count(raw.begin(), raw.end(), 2), 0);  // typed input is text
}

TEST_F(ChatTest, WithoutTemplateDefaultIsUsedAndNamed) {
  std::filesystem::remove(dir_.Join("m/chat_template.jinja"));
  testing::internal::CaptureStderr();
  const Outcome shown = Run({"--show-prompt"}, "Hi\n");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("zero_shot is taken"));
  EXPECT_THAT(shown.out, HasSubstr("### Human: Hi\n### Assistant:\n1 "));
  testing::internal::CaptureStderr();
  const Outcome named = Run({"--show-prompt", "--conv-template", "chatml"}, "Hi\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(named.out, HasSubstr("<|im_start|>user\nHi<|im_end|>"));
}

TEST_F(ChatTest, ErrorEndsPipedChatButNotInteractiveOne) {
  const Args args = {"--max-new-tokens", "4"};
  for (const auto& [line, words] : std::vector<std::pair<std::string, std::string>>{
           {"/frobnicate", "no command /frobnicate; there are /reset"},
           {"/reset now", "no command /reset now"},
           {"no", "not no"},
           {"a\xFFz", "UTF-8"},
           {std::string(3000, '1'), "the context has room for 1024"}}) {
    SCOPED_TRACE(line.substr(0, 20));
    const Outcome piped = Run(args, line + "\nThe map\n");
    EXPECT_EQ(piped.status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(piped.status.message()), HasSubstr(words));
    EXPECT_EQ(piped.out, "");
    const Outcome typed = Run(args, line + "\nThe map\n", /*is_interactive=*/true);
    EXPECT_TRUE(typed.status.ok()) << typed.status;
    EXPECT_EQ(typed.out, "> > " + Continuation("<s> [user] The map\n [assistant]", args) + "> \n");
  }
  EXPECT_EQ(Run({"--conv-template", "none"}, "").status.code(), absl::StatusCode::kNotFound);
}

/// Sends SIGINT when an answer begins.
class InterruptingBuffer : public std::stringbuf {
 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    if (count > 0 && !std::exchange(interrupted_, true)) std::raise(SIGINT);
    return std::stringbuf::xsputn(text, count);
  }

 private:
  bool interrupted_ = false;
};

TEST_F(ChatTest, InterruptEndsReplyButNotChat) {
  const absl::StatusOr<ChatFlags> flags =
      ParseChatFlags({"--model", model_, "--max-new-tokens", "64"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  std::istringstream in("The vector class\n/reset\nThe vector class\n");
  InterruptingBuffer buffer;
  std::ostream out(&buffer);
  ASSERT_TRUE(RunChat(*flags, /*is_interactive=*/false, in, out).ok());
  const std::string whole =
      Continuation("<s> [user] The vector class\n [assistant]", {"--max-new-tokens", "64"});
  ASSERT_GT(buffer.str().size(), whole.size());
  const std::string cut = buffer.str().substr(0, buffer.str().size() - whole.size());
  EXPECT_EQ(buffer.str().substr(cut.size()), whole);
  EXPECT_LT(cut.size(), whole.size() / 2);
  EXPECT_TRUE(whole.starts_with(cut.substr(0, cut.size() - 1)));
}

}  // namespace
}  // namespace shortlist
