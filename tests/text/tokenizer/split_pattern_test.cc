#include "text/tokenizer/split_pattern.h"

#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/text/test_util.h"
#include "text/tokenizer/regex.h"
#include "text/unicode.h"

namespace shortlist {
namespace {

const char* const kExpressions[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

/// False for the few code points that are newer than PCRE2's tables.
bool BothKnow(char32_t c) {
  static const Regex letter = *Regex::Compile(R"(\p{L})"), number = *Regex::Compile(R"(\p{N})"),
                     space = *Regex::Compile(R"(\s)");
  const std::string text = Utf8(c);
  const uint8_t flags = CharTable::Get().flags(c);
  return (*letter.Find(text, 0)).has_value() == ((flags & kLetter) != 0) &&
         (*number.Find(text, 0)).has_value() == ((flags & kNumber) != 0) &&
         (*space.Find(text, 0)).has_value() == ((flags & kWhiteSpace) != 0);
}

std::string RandomText(std::mt19937& random) {
  static const std::vector<std::string> kParts = {
      "'s", "'S",     "'re",    "'LL",    "'\u017F", "'",      " ",      "  ",     "\n",     "\r\n",
      "\t", "\u00a0", "1",      "234",    "\u0663",  "a",      "the",    "\u00e9", "\u0301", ".",
      "(",  "!?",     "\u3000", "\u5b57", "\u180e",  "\u2028", "\u0085", "\u200d", "_"};
  std::string text;
  for (uint32_t count = random() % 30; count > 0; --count) {
    const char32_t c = RandomCodePoint(random);
    text += random() % 8 == 0 && BothKnow(c) ? Utf8(c) : kParts[random() % kParts.size()];
  }
  return text;
}

TEST(SplitPatternTest, SplitsLikeExpression) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const char* expression : kExpressions) {
    SCOPED_TRACE(expression);
    const auto pattern = FindSplitPattern(expression);
    ASSERT_TRUE(pattern.has_value());
    const auto regex = Regex::Compile(expression);
    ASSERT_TRUE(regex.ok());
    for (int round = 0; round < 20'000; ++round) {
      const std::string text = RandomText(random);
      for (size_t from = 0; from < text.size();) {
        const auto match = regex->Find(text, from);
        ASSERT_TRUE(match.ok() && match->has_value() && (*match)->begin == from);
        ASSERT_EQ(PieceEnd(*pattern, text, from), (*match)->end)
            << testing::PrintToString(text) << " from " << from;
        from = (*match)->end;
      }
    }
  }
}

TEST(SplitPatternTest, TablesAgreeOnAllButNewCodePoints) {
  int num_unlike = 0;
  for (char32_t c = 0; c < 0x110000; c += c < 0x3000 ? 1 : 7) {
    if (c >= 0xD800 && c < 0xE000) continue;
    if (BothKnow(c)) continue;
    ++num_unlike;
    EXPECT_GT(c, 0x800u) << "an old code point";
  }
  EXPECT_LT(num_unlike, 2000);
}

TEST(SplitPatternTest, OtherExpressionsAreUnknown) {
  EXPECT_FALSE(FindSplitPattern("").has_value());
  EXPECT_FALSE(FindSplitPattern(R"(\s+)").has_value());
}

}  // namespace
}  // namespace shortlist
