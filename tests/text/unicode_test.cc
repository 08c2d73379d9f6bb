#include "text/unicode.h"

#include <utf8proc.h>

#include <cstdlib>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text/test_util.h"
#include "text/tokenizer/charsmap.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// utf8proc's own normalisation of a whole string.
std::string Expected(const std::string& text, NormalForm form) {
  int options = UTF8PROC_STABLE;
  options |=
      form == NormalForm::kNfc || form == NormalForm::kNfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::kNfkc || form == NormalForm::kNfkd) options |= UTF8PROC_COMPAT;
  uint8_t* result = nullptr;
  const auto size = utf8proc_map(reinterpret_cast<const uint8_t*>(text.data()),
                                 static_cast<utf8proc_ssize_t>(text.size()), &result,
                                 static_cast<utf8proc_option_t>(options));
  const std::string normalized(reinterpret_cast<const char*>(result), static_cast<size_t>(size));
  std::free(result);
  return normalized;
}

TEST(UnicodeTest, NormalizesLikeLibrary) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (uint32_t count = random() % 12; count > 0; --count) {
      switch (random() % 6) {
        case 0:
          text += Utf8(0x300 + random() % 0x70);
          break;
        case 1:
          text += Utf8(0x1100 + random() % 0x100);  // Hangul jamo
          break;
        case 2:
          text += Utf8(0xAC00 + random() % 11172);
          break;
        case 3:
          text += Utf8('a' + random() % 26);
          break;
        default:
          text += Utf8(RandomCodePoint(random));
      }
    }
    for (const auto form :
         {NormalForm::kNfc, NormalForm::kNfd, NormalForm::kNfkc, NormalForm::kNfkd}) {
      ASSERT_EQ(Normalize(text, form), Expected(text, form)) << testing::PrintToString(text);
    }
  }
}

TEST(UnicodeTest, LongRunsOfMarksTakeLinearTime) {
  std::string text = "a";
  for (int i = 0; i < 500'000; ++i) text += i % 2 == 0 ? "\u0301" : "\u0316";
  EXPECT_EQ(Normalize(text, NormalForm::kNfc).size(), text.size() - 1);  // a and one mark are á
}

TEST(UnicodeTest, LowerCaseIsFullAndContextFree) {
  std::string text;
  for (const char32_t c : {U'A', U'\u0130', U'\u03A3', U'\u1E9E', U'\u01C5'}) {
    AppendLowerCase(c, text);
  }
  EXPECT_EQ(text, "ai\u0307\u03c3\u00df\u01c6");
}

TEST(UnicodeTest, GraphemesFollowStandard) {
  EXPECT_THAT(GraphemeEnds("ae\u0301\r\nb"), ElementsAre(1, 4, 6, 7));
  EXPECT_THAT(GraphemeEnds(""), ElementsAre());
}

TEST(UnicodeTest, ByteAlphabetRoundTrips) {
  std::string bytes, spelled;
  for (int byte = 0; byte < 256; ++byte) {
    bytes.push_back(static_cast<char>(byte));
    AppendChar(ByteAlphabet()[byte], spelled);
  }
  EXPECT_EQ(BytesOfAlphabet(spelled), bytes);
  EXPECT_EQ(BytesOfAlphabet("\u0120a"), " a");
  EXPECT_EQ(BytesOfAlphabet("a b"), "a b");
}

TEST(CharsmapTest, DamagedTablesAreRejectedOrHarmless) {
  EXPECT_THAT(std::string(Charsmap::Parse("abc").status().message()), HasSubstr("header"));
  EXPECT_THAT(std::string(Charsmap::Parse(std::string("\xFF\xFF\xFF\x7F", 4)).status().message()),
              HasSubstr("2147483647"));
  std::mt19937 random(/*seed=*/1);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = {'\x40', '\0', '\0', '\0'};  // 16 units
    for (int i = 0; i < 64; ++i)
      bytes.push_back(static_cast<char>(random() % 5 == 0 ? random() : 0));
    bytes += std::string("a\0\u00e9\0", 5);
    const auto map = Charsmap::Parse(bytes);
    ASSERT_TRUE(map.ok()) << map.status();
    map->Normalize("abc \u00e9\u3042\U0001F600", /*max_bytes=*/1000);
  }
}

}  // namespace
}  // namespace shortlist
