#include "text/reply/reply_format.h"

#include <string>

#include "gtest/gtest.h"
#include "reply_cases.h"

namespace shortlist {
namespace {

TEST(ReplyFormatTest, NamesAreInverse) {
  for (int i = 0; i <= static_cast<int>(ToolFormat::kOlmo3); ++i) {
    const auto format = static_cast<ToolFormat>(i);
    ToolFormat parsed = ToolFormat::kNone;
    EXPECT_TRUE(ParseToolFormat(ToolFormatName(format), parsed));
    EXPECT_EQ(parsed, format);
  }
  ToolFormat format = ToolFormat::kGlm;
  EXPECT_FALSE(ParseToolFormat("Hermes", format));
  EXPECT_EQ(format, ToolFormat::kGlm);
}

}  // namespace
}  // namespace shortlist
