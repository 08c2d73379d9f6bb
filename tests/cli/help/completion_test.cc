// The scripts, run by the shells themselves.

#include "cli/help/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/command_line.h"
#include "cli/help/man_page.h"
#include "tests/cli/cli_testing.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Output and exit status of a shell command.
std::pair<int, std::string> Shell(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {-1, ""};
  std::string out;
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof(buffer), pipe)) out.append(buffer, n);
  return {pclose(pipe), out};
}

class CompletionTest : public testing::Test {
 protected:
  void SetUp() override { dir_.Write("script", BashCompletion(DescribeCommand(line_.app()))); }

  /// Returns the completions of bash for the last word.
  std::vector<std::string> Offered(const std::string& words) {
    const auto [status, out] =
        Shell(absl::StrCat("cd ", dir_.Join(""),
                           " && bash --norc -c 'source ./script; "
                           "COMP_WORDS=(shortlist ",
                           words,
                           "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _shortlist; "
                           "printf \"%s\\n\" \"${COMPREPLY[@]}\"'"));
    EXPECT_EQ(status, 0) << out;
    std::vector<std::string> lines = Lines(out);
    std::erase(lines, "");
    return lines;
  }

  const TempDir dir_;
  const CommandLine line_;
};

TEST_F(CompletionTest, BashOffersCommandsFlagsValuesAndFiles) {
  EXPECT_THAT(Offered("gen"), ElementsAre("generate"));
  EXPECT_THAT(Offered("vocab cov"), ElementsAre("coverage"));
  EXPECT_THAT(Offered("vocab \"\""), Contains("sketch"));
  EXPECT_THAT(Offered("generate --dynamic-r"), ElementsAre("--dynamic-rows"));
  EXPECT_THAT(Offered("vocab build --add"), ElementsAre("--add-counts"));
  EXPECT_THAT(Offered("serve --schedule-policy f"), ElementsAre("fcfs"));
  EXPECT_THAT(Offered("generate --quantize \"\""), ElementsAre("int4", "int8"));
  EXPECT_THAT(Offered("completion z"), ElementsAre("zsh"));
  dir_.Write("a list.vocab.json", "");
  EXPECT_THAT(Offered("generate --vocab a"), ElementsAre("a list.vocab.json"));
  EXPECT_THAT(Offered("vocab show a"), ElementsAre("a list.vocab.json"));
  EXPECT_THAT(Offered("generate --temperature \"\""), IsEmpty());
}

TEST_F(CompletionTest, BashDoesNotOfferFlagsOfOtherCommands) {
  EXPECT_THAT(Offered("generate --"), Not(Contains("--admin-key")));
  EXPECT_THAT(Offered("serve --"), Not(Contains("--tensor-parallel-size")));
  EXPECT_THAT(Offered("serve --"), Contains("--admin-key"));
}

TEST_F(CompletionTest, ZshScriptParsesAndNamesEveryCommand) {
  const std::string script = ZshCompletion(DescribeCommand(line_.app()));
  EXPECT_THAT(script, HasSubstr("#compdef shortlist\n"));
  EXPECT_THAT(script, HasSubstr("_shortlist_vocab_coverage() {"));
  EXPECT_THAT(script, HasSubstr("'--suffix-drafts["));
  EXPECT_THAT(script, HasSubstr(":off|on:(off on)'"));
  if (Shell("command -v zsh").first != 0) GTEST_SKIP() << "no zsh here";
  dir_.Write("_shortlist", script);
  EXPECT_EQ(Shell(absl::StrCat("zsh -n ", dir_.Join("_shortlist"), " 2>&1")).second, "");
}

TEST_F(CompletionTest, ManualPageHasEveryFlagAndNoWarning) {
  const CommandSpec program = DescribeCommand(line_.app());
  dir_.Write("shortlist.1", ManPage(program, "1.2.3"));
  const std::string page = ManPage(program, "1.2.3");
  EXPECT_THAT(page, HasSubstr("\"shortlist 1.2.3\""));
  for (const CommandSpec& command : program.commands) {
    for (const FlagSpec& flag : command.flags) {
      for (const std::string& name : flag.names) {
        std::string escaped;
        for (const char c : name) escaped += c == '-' ? "\\-" : std::string(1, c);
        EXPECT_THAT(page, HasSubstr(escaped)) << command.path;
      }
    }
  }
  if (Shell("command -v groff").first != 0) GTEST_SKIP() << "no groff here";
  const auto [status, out] =
      Shell(absl::StrCat("groff -man -Tascii -ww -z ", dir_.Join("shortlist.1"), " 2>&1"));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(out, "");
}

TEST(CompletionCommandTest, WritesItsFlags) {
  for (const char* shell : {"bash", "zsh"}) {
    const ProcessOutcome outcome = RunBinary({"completion", shell});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("--dynamic-rows"));
  }
  EXPECT_EQ(RunBinary({"completion"}).exit_code, 2);
  EXPECT_THAT(RunBinary({"completion", "fish"}).err, HasSubstr("There are bash, zsh"));
  EXPECT_THAT(RunBinary({"man-page"}).out, HasSubstr(".TH SHORTLIST 1"));
}

}  // namespace
}  // namespace shortlist
