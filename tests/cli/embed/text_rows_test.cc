#include "cli/embed/text_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TextRowsTest : public ::testing::Test {
 protected:
  absl::StatusOr<TextRows> Read(const std::string& input,
                                BlankLines blank_lines = BlankLines::kRefused) {
    std::istringstream in(input);
    return ReadTextRows(flags_, blank_lines, in);
  }

  std::vector<std::string> Texts(const std::string& input,
                                 BlankLines blank_lines = BlankLines::kRefused) {
    const auto rows = Read(input, blank_lines);
    EXPECT_TRUE(rows.ok()) << rows.status();
    std::vector<std::string> texts;
    for (size_t i = 0; rows.ok() && i < rows->rows.size(); ++i) {
      texts.push_back(std::to_string(rows->rows[i].line) + ":" + rows->rows[i].text);
    }
    return texts;
  }

  void ExpectRefused(const std::string& input, const std::string& words) {
    const absl::Status status = Read(input).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }

  TextInputFlags flags_;
  const TempDir dir_;
};

TEST_F(TextRowsTest, EachLineIsOneText) {
  EXPECT_THAT(Texts("one\r\n two \n{\"text\": 3}"),
              ElementsAre("1:one", "2: two ", "3:{\"text\": 3}"));
  EXPECT_THAT(Texts("one\n"), ElementsAre("1:one"));
}

TEST_F(TextRowsTest, BlankLinesAreRejectedOrSkipped) {
  ExpectRefused("one\n\ntwo\n", "standard input line 2: the text is empty");
  ExpectRefused("one\n \t\r\n", "standard input line 2: the text is empty");
  EXPECT_THAT(Texts("\none\n\n \r\ntwo\n\n", BlankLines::kSkipped), ElementsAre("2:one", "5:two"));
  for (const char* const none : {"", "\n", " \n\n"}) {
    EXPECT_FALSE(Read(none).ok());
    EXPECT_THAT(std::string(Read(none, BlankLines::kSkipped).status().message()),
                HasSubstr("standard input: holds no text"));
  }
}

TEST_F(TextRowsTest, JsonLineIsStringOrObject) {
  flags_.jsonl = true;
  EXPECT_THAT(Texts("\"a\\nb\"\n\n{\"text\": \"c\", \"id\": 7}\n"), ElementsAre("1:a\nb", "3:c"));
  ExpectRefused("\"a\"\n{", "standard input line 2: not valid JSON");
  ExpectRefused("3", "line 1: neither a JSON string nor an object");
  ExpectRefused("{\"body\": \"a\"}", "line 1: has no \"text\"");
  ExpectRefused("{\"text\": null}", "line 1: \"text\" is not a string");
  EXPECT_THAT(Texts("\"\"\n{\"text\": \"\"}"), ElementsAre("1:", "2:"));
  ExpectRefused("{\"text\": \"\\ud800\"}", "line 1: not valid JSON");
  ExpectRefused(std::string(100, '[') + std::string(100, ']'), "line 1: ");
  flags_.text_key = "body";
  EXPECT_THAT(Texts("{\"body\": \"a\", \"text\": \"b\"}"), ElementsAre("1:a"));
}

TEST_F(TextRowsTest, InvalidUtf8IsRejectedWithLineAndByte) {
  ExpectRefused("good\nb\xFF", "standard input line 2: not valid UTF-8 at byte 1");
  flags_.jsonl = true;
  ExpectRefused("\"\xC0\x80\"", "standard input line 1: not valid UTF-8 at byte 1");
}

TEST_F(TextRowsTest, FileExtensionSelectsFormat) {
  flags_.path = dir_.Write("a.jsonl", "\"x\"\n");
  EXPECT_THAT(Texts(""), ElementsAre("1:x"));
  flags_.path = dir_.Write("a.txt", "\"x\"\n\n");
  EXPECT_THAT(Texts("", BlankLines::kSkipped), ElementsAre("1:\"x\""));
  ExpectRefused("", flags_.path + " line 2: the text is empty");
  flags_.path = dir_.Join("none");
  EXPECT_TRUE(absl::IsNotFound(Read("").status()));
  flags_.path = dir_.path();
  ExpectRefused("", dir_.path());
}

}  // namespace
}  // namespace shortlist
