#include "text/tokenizer/literal_ranges.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Normalizer Parse(const char* spec) {
  auto normalizer = ParseNormalizer(nlohmann::json::parse(spec));
  EXPECT_TRUE(normalizer.ok()) << normalizer.status();
  return *std::move(normalizer);
}

/// The normalised text, with brackets round what became of `ranges`.
std::string Show(const Normalizer& normalizer, const std::string& text,
                 std::vector<ByteRange> ranges) {
  NormalizedText normalized{.text = text};
  EXPECT_TRUE(Apply(normalizer, normalized).ok());
  EncodeBudget budget(text.size(), /*max_ids=*/1, /*max_tokens=*/1);
  const absl::Status status = MoveRanges(normalizer, text, budget, normalized, ranges);
  EXPECT_TRUE(status.ok()) << status;
  std::string shown = normalized.text;
  for (size_t i = ranges.size(); i-- > 0;) {
    shown.insert(ranges[i].end, "]");
    shown.insert(ranges[i].begin, "[");
  }
  return shown;
}

TEST(LiteralRangesTest, StayWithinPart) {
  const std::vector<ByteRange> ranges = {{0, 3}, {5, 9}, {20, 30}};
  EXPECT_THAT(RangesWithin({2, 22}, ranges),
              ElementsAre(ByteRange{0, 1}, ByteRange{3, 7}, ByteRange{18, 20}));
  EXPECT_THAT(RangesWithin({3, 5}, ranges), IsEmpty());
  EXPECT_THAT(RangesWithin({30, 40}, ranges), IsEmpty());
}

TEST(LiteralRangesTest, MoveWithTheirText) {
  const Normalizer llama = Parse(R"({"type": "Sequence", "normalizers": [
      {"type": "Prepend", "prepend": "_"},
      {"type": "Replace", "pattern": {"String": " "}, "content": "__"}]})");
  EXPECT_EQ(Show(llama, "a b c d", {{2, 3}, {4, 7}}), "_a__[b]__[c__d]");
  EXPECT_EQ(Show(llama, "a b c", {{0, 2}}), "[_a__]b__c");
  EXPECT_EQ(Show(llama, "a b", {{0, 3}}), "[_a__b]");
  EXPECT_EQ(Show(Parse("null"), "abc", {{1, 2}}), "a[b]c");
  EXPECT_EQ(Show(Parse(R"({"type": "NFKC"})"), "½ ﬁ", {{3, 6}}),
            "1\xE2\x81\x84"
            "2 [fi]");
}

TEST(LiteralRangesTest, StripSeesEndsOfText) {
  const Normalizer strip = Parse(R"({"type": "Strip"})");
  EXPECT_EQ(Show(strip, "  a b  ", {{0, 3}, {4, 7}}), "[a] [b]");
}

TEST(LiteralRangesTest, LiteralRangesAreNormalisedSeparately) {
  const Normalizer merge =
      Parse(R"({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})");
  EXPECT_EQ(Show(merge, "a   b  c", {{2, 8}}), "a [ b c]");
}

TEST(LiteralRangesTest, WithoutMarkAllIsOneRange) {
  const Normalizer bert = Parse(R"({"type": "BertNormalizer"})");  // drops private characters
  EXPECT_EQ(Show(bert, "A b", {{2, 3}}), "[a b]");
  std::string all_marks = "a";
  for (int i = 0x80; i < 0xC0; ++i) all_marks += "\xEF\xA3" + std::string(1, static_cast<char>(i));
  EXPECT_EQ(Show(Parse("null"), all_marks, {{0, 1}}), "[" + all_marks + "]");
  EXPECT_EQ(Show(Parse("null"), "ab\xEF\xA3\x80", {{0, 1}}), "[a]b\xEF\xA3\x80");
}

}  // namespace
}  // namespace shortlist
