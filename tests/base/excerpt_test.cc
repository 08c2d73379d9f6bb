#include "base/excerpt.h"

#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

TEST(ExcerptTest, CutsLongTextsAtCodePoint) {
  EXPECT_EQ(Excerpt(""), "");
  EXPECT_EQ(Excerpt(std::string(200, 'a')), std::string(200, 'a'));
  EXPECT_EQ(Excerpt(std::string(201, 'a')), std::string(197, 'a') + "...");
  std::string text(196, 'a');
  for (int i = 0; i < 10; ++i) text += "\u3042";
  EXPECT_EQ(Excerpt(text), std::string(196, 'a') + "...");
}

TEST(ExcerptTest, EscapesControlCharacters) {
  using namespace std::string_view_literals;
  EXPECT_EQ(Excerpt("PK\x03\x04\0\x7f z\n"sv), "PK???? z?");
}

TEST(ExcerptTest, BrokenJsonIsNotQuotedWhole) {
  const auto document = ParseJson("{\"" + std::string(100'000, 'a') + "\n\"}", "request body");
  ASSERT_EQ(document.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_LT(document.status().message().size(), 300u);
}

}  // namespace
}  // namespace shortlist
