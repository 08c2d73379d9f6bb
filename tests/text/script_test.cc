#include "text/script.h"

#include <iterator>
#include <string_view>
#include <utility>

#include "gtest/gtest.h"
#include "text/script_ranges.h"

namespace shortlist {
namespace {

TEST(ScriptTest, LettersHaveTheirScripts) {
  const std::pair<char32_t, std::string_view> cases[] = {{U'a', "Latin"},
                                                         {U'é', "Latin"},
                                                         {U'ß', "Latin"},
                                                         {U'Ω', "Greek"},
                                                         {U'ж', "Cyrillic"},
                                                         {U'ա', "Armenian"},
                                                         {U'א', "Hebrew"},
                                                         {U'ع', "Arabic"},
                                                         {U'अ', "Devanagari"},
                                                         {U'ক', "Bengali"},
                                                         {U'த', "Tamil"},
                                                         {U'ก', "Thai"},
                                                         {U'ა', "Georgian"},
                                                         {U'한', "Hangul"},
                                                         {U'ひ', "Hiragana"},
                                                         {U'カ', "Katakana"},
                                                         {U'ー', "Katakana"},
                                                         {U'漢', "Han"},
                                                         {U'𠀀', "Han"},
                                                         {U'አ', "Ethiopic"},
                                                         {U'ᚠ', "Other"},
                                                         {U'\u0301', ""},
                                                         {U'\u0610', "Arabic"},
                                                         {U'5', ""},
                                                         {U'?', ""},
                                                         {U' ', ""},
                                                         {U'😀', ""},
                                                         {char32_t{0x10FFFF}, ""}};
  for (const auto& [c, script] : cases) {
    EXPECT_EQ(ScriptOf(c), script) << static_cast<uint32_t>(c);
  }
}

TEST(ScriptTest, RangesAscend) {
  for (size_t i = 0; i < std::size(kScriptRanges); ++i) {
    EXPECT_LE(kScriptRanges[i].first, kScriptRanges[i].last);
    if (i == 0) continue;
    EXPECT_LT(kScriptRanges[i - 1].last, kScriptRanges[i].first);
  }
}

TEST(ScriptTest, CodePointsHaveTheirCategories) {
  const std::pair<char32_t, std::string_view> cases[] = {{U'a', "letters"},
                                                         {U'漢', "letters"},
                                                         {U'\u0301', "marks"},
                                                         {U'7', "numbers"},
                                                         {U'½', "numbers"},
                                                         {U'{', "punctuation"},
                                                         {U'+', "symbols"},
                                                         {U'😀', "symbols"},
                                                         {U' ', "spaces"},
                                                         {U'\n', "spaces"},
                                                         {U'\u2028', "spaces"},
                                                         {U'\0', "control"},
                                                         {U'\u200b', "control"},
                                                         {char32_t{0xE000}, "control"},
                                                         {char32_t{0x10FFFF}, "control"}};
  for (const auto& [c, category] : cases) {
    EXPECT_EQ(CategoryOf(c), category) << static_cast<uint32_t>(c);
  }
}

}  // namespace
}  // namespace shortlist
