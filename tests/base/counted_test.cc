#include "base/counted.h"

#include <gtest/gtest.h>

namespace shortlist {
namespace {

TEST(CountedTest, OneIsSingularOthersPlural) {
  EXPECT_EQ(Counted(1, "text"), "1 text");
  EXPECT_EQ(Counted(0, "text"), "0 texts");
  EXPECT_EQ(Counted(2, "text"), "2 texts");
  EXPECT_EQ(Counted(-1, "text"), "-1 texts");
  EXPECT_EQ(Counted(1, "row is", "rows are"), "1 row is");
  EXPECT_EQ(Counted(3, "row is", "rows are"), "3 rows are");
}

}  // namespace
}  // namespace shortlist
