#include "cli/table.h"

#include <gtest/gtest.h>

namespace shortlist {
namespace {

TEST(TableTest, AlignsFirstColumnLeftAndOthersRight) {
  EXPECT_EQ(FormatTable({"name", "x"}, {{"a", "1.5"}, {"longer", "22"}}),
            "name      x\n"
            "------  ---\n"
            "a       1.5\n"
            "longer   22\n");
}

TEST(TableTest, HeaderWithoutRows) { EXPECT_EQ(FormatTable({"a", "bc"}, {}), "a  bc\n-  --\n"); }

TEST(TableTest, FixedRoundsToGivenDecimals) {
  EXPECT_EQ(FormatFixed(1.005e3, 1), "1005.0");
  EXPECT_EQ(FormatFixed(-0.25, 3), "-0.250");
  EXPECT_EQ(FormatFixed(2.0, 0), "2");
}

}  // namespace
}  // namespace shortlist
