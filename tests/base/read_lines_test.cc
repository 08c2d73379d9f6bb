#include "base/read_lines.h"

#include <gtest/gtest.h>

#include <sstream>
#include <streambuf>

namespace shortlist {
namespace {

/// Never ends, and has no line break.
class EndlessBuffer : public std::streambuf {
 public:
  int64_t num_read = 0;

 private:
  int_type underflow() override { return 'x'; }
  int_type uflow() override {
    ++num_read;
    return 'x';
  }
};

TEST(ReadLineTest, ReadsLinesLikeGetline) {
  for (const char* const text : {"", "\n", "a", "a\n", "a\nb", "a\n\nb\r\n", "\n\n"}) {
    std::istringstream in(text), same(text);
    std::string line, expected;
    while (std::getline(same, expected)) {
      const auto is_there = ReadLine(in, 10, line);
      ASSERT_TRUE(is_there.ok() && *is_there) << text;
      EXPECT_EQ(line, expected);
    }
    const auto is_there = ReadLine(in, 10, line);
    EXPECT_TRUE(is_there.ok() && !*is_there) << text;
  }
}

TEST(ReadLineTest, BoundIsNamed) {
  std::istringstream in("123456\n1234567\n");
  std::string line;
  ASSERT_TRUE(ReadLine(in, 6, line).ok());
  EXPECT_EQ(ReadLine(in, 6, line).status().message(),
            "a line longer than the 6 bytes admitted here");
}

TEST(ReadLineTest, EndlessLineIsNotBuffered) {
  EndlessBuffer endless;
  std::istream in(&endless);
  std::string line;
  EXPECT_FALSE(ReadLine(in, 1000, line).ok());
  EXPECT_EQ(endless.num_read, 1001);
  EXPECT_LE(line.size(), 1000u);
}

TEST(ReadLinesTest, ReadsAllOrNamesLineAndBound) {
  const LineBounds bounds{.max_line_bytes = 5, .max_bytes = 12};
  const auto read = [&](const std::string& text) {
    std::istringstream in(text);
    return ReadLines(in, "standard input", bounds);
  };
  EXPECT_EQ(*read(""), "");
  EXPECT_EQ(*read("a\nbb\n"), "a\nbb\n");
  EXPECT_EQ(*read("12345\n12345"), "12345\n12345\n");
  EXPECT_EQ(read("a\n123456\n").status().message(),
            "standard input line 2: a line longer than the 5 bytes admitted here");
  EXPECT_EQ(read("12345\n12345\n\n").status().message(),
            "standard input line 3: more than the 12 bytes admitted here");
}

}  // namespace
}  // namespace shortlist
