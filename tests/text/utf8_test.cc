#include "base/utf8.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"
#include "tests/text/test_util.h"

namespace shortlist {
namespace {

/// Code points that `bytes`, completed by any continuation bytes, can stand for; first > last when
/// none. By arithmetic over the ranges of code points, not by the table of byte ranges.
struct Range {
  int64_t first = 1, last = 0;
  size_t size = 0;  // of a complete sequence
};

Range Completions(std::string_view bytes) {
  const uint8_t lead = static_cast<uint8_t>(bytes[0]);
  Range range;
  int64_t smallest = 0;
  if (lead < 0x80) {
    range.size = 1, range.first = range.last = lead;
  } else if ((lead & 0xE0) == 0xC0) {
    range.size = 2, smallest = 0x80, range.first = range.last = lead & 0x1F;
  } else if ((lead & 0xF0) == 0xE0) {
    range.size = 3, smallest = 0x800, range.first = range.last = lead & 0x0F;
  } else if ((lead & 0xF8) == 0xF0) {
    range.size = 4, smallest = 0x10000, range.first = range.last = lead & 0x07;
  } else {
    return {};
  }
  if (bytes.size() > range.size) return {};
  for (size_t i = 1; i < range.size; ++i) {
    int64_t low = 0, high = 0x3F;
    if (i < bytes.size()) {
      const uint8_t byte = static_cast<uint8_t>(bytes[i]);
      if ((byte & 0xC0) != 0x80) return {};
      low = high = byte & 0x3F;
    }
    range.first = range.first << 6 | low;
    range.last = range.last << 6 | high;
  }
  range.first = std::max(range.first, smallest);
  range.last = std::min<int64_t>(range.last, 0x10FFFF);
  if (range.first >= 0xD800 && range.last <= 0xDFFF) return {};
  return range;
}

bool IsPrefix(std::string_view bytes) {
  const Range range = Completions(bytes);
  return range.first <= range.last;
}
bool IsWellFormed(std::string_view bytes) {
  return IsPrefix(bytes) && Completions(bytes).size == bytes.size();
}

struct Decoded {
  std::string text;
  size_t num_held_back = 0;
  std::optional<size_t> first_invalid;
};

Decoded Oracle(std::string_view bytes) {
  Decoded result;
  for (size_t at = 0; at < bytes.size();) {
    size_t size = std::min<size_t>(4, bytes.size() - at);
    while (size > 0 && !IsPrefix(bytes.substr(at, size))) --size;
    if (size > 0 && IsWellFormed(bytes.substr(at, size))) {
      result.text.append(bytes.substr(at, size));
    } else {
      if (!result.first_invalid.has_value()) result.first_invalid = at;
      if (size > 0 && at + size == bytes.size()) {
        result.num_held_back = size;
        break;
      }
      result.text.append("\xEF\xBF\xBD");
    }
    at += std::max<size_t>(size, 1);
  }
  return result;
}

void ExpectLikeOracle(std::string_view bytes) {
  const Decoded expected = Oracle(bytes);
  std::string text;
  const size_t num_held_back = AppendUtf8(bytes, text);
  ASSERT_EQ(text, expected.text) << testing::PrintToString(std::string(bytes));
  ASSERT_EQ(num_held_back, expected.num_held_back);
  ASSERT_EQ(FindInvalidUtf8(bytes), expected.first_invalid);
}

TEST(Utf8Test, ReplacesAsUnicodeRecommends) {
  // Table 3-8 of the standard (3-11 in version 16).
  std::string text;
  EXPECT_EQ(AppendUtf8("a\xF1\x80\x80\xE1\x80\xC2"
                       "b\x80"
                       "c\x80\xBF"
                       "d",
                       text),
            0u);
  EXPECT_EQ(text, "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
}

TEST(Utf8Test, ReplacesEachByteOnRequest) {
  std::string text;
  EXPECT_EQ(AppendUtf8("a\xF1\x80\x80\xE1\x80\xC2"
                       "b\xF0\x9F",
                       text, Replacement::kPerByte),
            2u);
  EXPECT_EQ(text, "a\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDb");
  AppendReplaced(2, text, Replacement::kPerByte);
  AppendReplaced(2, text, Replacement::kPerSubpart);
  AppendReplaced(0, text, Replacement::kPerSubpart);
  EXPECT_EQ(text, "a\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDb\uFFFD\uFFFD\uFFFD");
}

TEST(Utf8Test, RejectsOverlongSurrogateAndTooLargeForms) {
  for (const std::string_view bytes :
       {"\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xED\xBF\xBF",
        "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFE",
        "\xFF", "\x80", "\xC3", "\xF0\x9F\x98"}) {
    EXPECT_EQ(FindInvalidUtf8("ok" + std::string(bytes)), 2u) << testing::PrintToString(bytes);
  }
  EXPECT_EQ(FindInvalidUtf8(std::string_view("\0\x7F\xC2\x80\xF4\x8F\xBF\xBF", 8)), std::nullopt);
  EXPECT_EQ(FindInvalidUtf8(""), std::nullopt);
}

TEST(Utf8Test, EveryCodePointIsWellFormed) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    const bool is_surrogate = c >= 0xD800 && c <= 0xDFFF;
    ASSERT_EQ(FindInvalidUtf8(Utf8(c)).has_value(), is_surrogate) << static_cast<uint32_t>(c);
  }
}

TEST(Utf8Test, MatchesOracleOnShortAndRandomBytes) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      ExpectLikeOracle(std::string{static_cast<char>(a), static_cast<char>(b)});
    }
  }
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  // Bytes at which the rules change.
  const std::string edges =
      "a\x7F\x80\x8F\x90\x9F\xA0\xBF\xC0\xC1\xC2\xDF\xE0\xE1\xEC\xED\xEE\xEF\xF0\xF1\xF3\xF4\xF5"
      "\xFF";
  for (int round = 0; round < 100000; ++round) {
    std::string bytes;
    for (uint32_t size = random() % 10; size > 0; --size) {
      bytes.push_back(random() % 2 ? edges[random() % edges.size()] : static_cast<char>(random()));
    }
    ExpectLikeOracle(bytes);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace shortlist
