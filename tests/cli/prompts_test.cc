#include "cli/prompts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using ::testing::HasSubstr;

TEST(PromptsTest, ReadsPromptAndFirstTurnAndSkipsBlankLines) {
  const TempDir dir;
  const std::string path = dir.Write("p.jsonl",
                                     "{\"prompt\": \"a\\u00e9\", \"other\": 1}\r\n"
                                     "  \n"
                                     "{\"question_id\": 81, \"category\": \"writing\", "
                                     "\"turns\": [\"b\", \"c\"]}\n"
                                     "{\"source\": \"stories\", \"prompt\": \"d\"}\n");
  const absl::StatusOr<std::vector<PromptRow>> prompts = ReadPrompts(path);
  ASSERT_TRUE(prompts.ok()) << prompts.status();
  ASSERT_EQ(prompts->size(), 3u);
  EXPECT_EQ((*prompts)[0].text, "a\xC3\xA9");
  EXPECT_EQ((*prompts)[0].origin, path + " line 1");
  EXPECT_EQ((*prompts)[1].text, "b");
  EXPECT_EQ((*prompts)[1].origin, path + " line 3");
  EXPECT_EQ((*prompts)[0].source, "");
  EXPECT_EQ((*prompts)[1].source, "writing");
  EXPECT_EQ((*prompts)[2].source, "stories");
}

TEST(PromptsTest, BadRowsAreRejectedWithFileAndLine) {
  const TempDir dir;
  for (const std::string row :
       {R"({"prompt": ""})", R"({"prompt": 7})", R"({"prompt": null})", R"({"turns": []})",
        R"({"turns": "x"})", R"({"turns": [7]})", R"({"turns": [""]})", R"({"text": "x"})",
        R"({"prompt": "x", "turns": ["y"]})", R"({"prompt": "x", "prompt": "y"})", R"(["x"])",
        R"({"prompt": "x")", R"("x")", R"({"prompt": "x", "source": 3})", "{\"prompt\": \"\xFF\"}",
        "{\"prompt\": \"\xED\xA0\x80\"}"}) {
    SCOPED_TRACE(row);
    const std::string path = dir.Write("p.jsonl", "{\"prompt\": \"fine\"}\n" + row + "\n");
    const absl::StatusOr<std::vector<PromptRow>> prompts = ReadPrompts(path);
    ASSERT_FALSE(prompts.ok());
    EXPECT_THAT(std::string(prompts.status().message()), HasSubstr(path + " line 2"));
  }
}

TEST(PromptsTest, DeepNestingIsRejected) {
  const TempDir dir;
  const std::string path = dir.Write("p.jsonl", "{\"prompt\": " + std::string(100'000, '['));
  EXPECT_EQ(ReadPrompts(path).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PromptsTest, MissingAndEmptyFilesAreRejected) {
  const TempDir dir;
  EXPECT_EQ(ReadPrompts(dir.Join("none")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadPrompts(dir.path()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(ReadPrompts(dir.Write("empty", "\n\n")).status().message()),
              HasSubstr("no prompt"));
}

}  // namespace
}  // namespace shortlist
