#include "serve/stop_matcher.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>

namespace shortlist {
namespace {

TEST(StopMatcherTest, HoldsBackPossibleStop) {
  StopMatcher matcher({"###"});
  EXPECT_EQ(matcher.Append("a#"), "a");
  EXPECT_EQ(matcher.Append("#b"), "##b");
  EXPECT_EQ(matcher.Append("###c"), "");
  EXPECT_TRUE(matcher.matched());
  EXPECT_EQ(matcher.match(), "###");
  EXPECT_EQ(matcher.Append("more"), "");
}

TEST(StopMatcherTest, PassedTextMayBeginButNotEndStop) {
  StopMatcher matcher({"abcd", "bc"});
  EXPECT_EQ(matcher.Pass("bcab"), "bc");
  EXPECT_EQ(matcher.Pass("c"), "");
  EXPECT_EQ(matcher.Append("d"), "");
  EXPECT_EQ(matcher.match(), "abcd");
  StopMatcher other({"abcd", "bc"});
  EXPECT_EQ(other.Pass("abc"), "");
  EXPECT_EQ(other.Append("bcd"), "abc");
  EXPECT_EQ(other.match(), "bc");
}

TEST(StopMatcherTest, ReturnsHeldTextAtEnd) {
  StopMatcher matcher({"stop"});
  EXPECT_EQ(matcher.Append("sto"), "");
  EXPECT_EQ(matcher.Finish(), "sto");
  EXPECT_FALSE(matcher.matched());
}

/// Returns the text before the stop that ends first, after `num_passed` bytes. Tries every prefix
/// of the text.
std::pair<std::string, std::string> Oracle(const std::string& text,
                                           const std::vector<std::string>& stops,
                                           size_t num_passed) {
  for (size_t end = num_passed + 1; end <= text.size(); ++end) {
    std::string longest;
    for (const std::string& stop : stops) {
      if (text.substr(0, end).ends_with(stop) && stop.size() > longest.size()) longest = stop;
    }
    if (!longest.empty()) return {text.substr(0, end - longest.size()), longest};
  }
  return {text, ""};
}

TEST(StopMatcherTest, ResultIsIndependentOfPieces) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto word = [&random](size_t max_len) {
    std::string text;
    for (size_t n = random() % max_len; n > 0; --n) text += static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::string> stops;
    for (size_t n = random() % 4; n > 0; --n) stops.push_back(word(5) + "a");
    const std::string text = word(24);
    StopMatcher matcher(stops);
    std::string returned;
    const size_t least_passed = i % 2 == 0 ? 0 : random() % 12;
    size_t num_passed = 0;
    for (size_t begin = 0; begin < text.size();) {
      const std::string piece = text.substr(begin, 1 + random() % 4);
      const bool passes = begin < least_passed;
      returned += passes ? matcher.Pass(piece) : matcher.Append(piece);
      begin += piece.size();
      if (passes) num_passed = begin;
      const auto [before, stop] = Oracle(text.substr(0, begin), stops, num_passed);
      ASSERT_TRUE(before.starts_with(returned)) << text;  // never a byte of the stop
    }
    if (!matcher.matched()) returned += matcher.Finish();
    const auto [before, stop] = Oracle(text, stops, num_passed);
    ASSERT_EQ(returned, before) << text;
    ASSERT_EQ(matcher.match(), stop) << text;
  }
}

}  // namespace
}  // namespace shortlist
