#include "cli/help/help_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "tests/cli/cli_testing.h"

namespace shortlist {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Every command, those without commands below it last.
void Flatten(const CommandSpec& command, std::vector<const CommandSpec*>& all) {
  all.push_back(&command);
  for (const CommandSpec& below : command.commands) Flatten(below, all);
}

TEST(HelpTextTest, NoLineExceedsTerminalWidth) {
  const CommandLine line;
  const CommandSpec program = DescribeCommand(line.app());
  std::vector<const CommandSpec*> all;
  Flatten(program, all);
  ASSERT_GT(all.size(), 20u);
  for (const int width : {60, 80, 120}) {
    for (const CommandSpec* command : all) {
      for (const std::string& text : Lines(HelpText(*command, width))) {
        EXPECT_LE(text.size(), static_cast<size_t>(width)) << command->path << ": " << text;
      }
    }
  }
}

TEST(HelpTextTest, FlagsAreGroupedByTopic) {
  const CommandSpec command{
      .name = "run",
      .path = "p run",
      .description = "Runs",
      .flags = {{.names = {"-h", "--help"}, .description = "Show this", .topic = "Options"},
                {.names = {"--a"},
                 .is_required = true,
                 .value = "N",
                 .description = "One two three four",
                 .default_value = "7",
                 .topic = "Numbers"},
                {.names = {"--b"},
                 .value = "on|off",
                 .description = "Other",
                 .topic = "Options",
                 .excludes = {"--a"}},
                {.positional = "FILE",
                 .is_required = true,
                 .description = "Read",
                 .topic = "Arguments"}}};
  EXPECT_EQ(HelpText(command, 48),
            "Runs\n\n"
            "Usage: p run --a N [FLAGS] FILE\n"
            "\nArguments:\n"
            "  FILE          Read (required)\n"
            "\nNumbers:\n"
            "  --a N         One two three four (required;\n"
            "                default: 7)\n"
            "\nOptions:\n"
            "  -h, --help    Show this\n"
            "  --b on|off    Other (not with --a)\n");
}

TEST(HelpTextTest, LongNameGetsItsOwnLineAndWraps) {
  const CommandSpec command{.path = "p",
                            .description = "D",
                            .flags = {{.names = {"--vocab"},
                                       .value = "full|empty|ratio:R|FILE[:top=N|:ratio=R|:auto]",
                                       .description = "Text",
                                       .topic = "Options"}}};
  EXPECT_THAT(HelpText(command, 42), HasSubstr("  --vocab full|empty|ratio:R|FILE[:top=N|\n"
                                               "  :ratio=R|:auto]\n"
                                               "              Text\n"));
}

TEST(HelpTextTest, ServeFlagsAreGroupedAndForeignOnesHidden) {
  const CommandLine line;
  const std::string help = HelpText(DescribeCommand(*line.app().get_subcommand("serve")), 80);
  for (const char* topic : {"\nModels:\n", "\nRows that a draft step scores:\n", "\nDrafting:\n",
                            "\nKeys:\n", "\nScheduling and memory:\n"}) {
    EXPECT_THAT(help, HasSubstr(topic));
  }
  EXPECT_THAT(help, Not(HasSubstr("--tensor-parallel-size")));
}

TEST(HelpTextTest, DraftHelpNamesTokenizerRequirement) {
  ASSERT_EQ(setenv("COLUMNS", "200", /*overwrite=*/1), 0);
  const ProcessOutcome help = RunBinary({"chat", "--help"});
  unsetenv("COLUMNS");
  EXPECT_THAT(help.out, HasSubstr("a smaller model with the target's"));
}

TEST(HelpTextTest, ColumnsSetsWidthWithoutTerminal) {
  const ProcessOutcome help = RunBinary({"generate", "--help"});  // COLUMNS is not set: 80
  EXPECT_EQ(help.exit_code, 0);
  ASSERT_EQ(setenv("COLUMNS", "50", /*overwrite=*/1), 0);
  const ProcessOutcome narrow = RunBinary({"generate", "--help"});
  ASSERT_EQ(setenv("COLUMNS", "wide", /*overwrite=*/1), 0);
  const ProcessOutcome senseless = RunBinary({"generate", "--help"});
  unsetenv("COLUMNS");
  EXPECT_EQ(senseless.out, help.out);
  for (const std::string& text : Lines(narrow.out)) EXPECT_LE(text.size(), 50u) << text;
}

}  // namespace
}  // namespace shortlist
