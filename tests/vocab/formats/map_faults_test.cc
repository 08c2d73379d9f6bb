#include "vocab/formats/map_faults.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int64_t> MaskWith(const std::vector<int64_t>& ids, int64_t vocab_size = 20) {
  std::vector<int64_t> mask(vocab_size);
  for (const int64_t id : ids) mask[id] = 1;
  return mask;
}

std::vector<std::string> Codes(const StoredMap& map, int64_t vocab_size = 20) {
  std::vector<std::string> codes;
  for (const MapFault& fault : DiagnoseMap(map, vocab_size).faults) codes.push_back(fault.code);
  return codes;
}

TEST(MapFaultsTest, OffsetsAreAddedToRows) {
  for (const auto& mask :
       {std::optional<std::vector<int64_t>>(), std::optional(MaskWith({1, 2, 5}))}) {
    const MapDiagnosis diagnosis = DiagnoseMap({.d2t = {1, 1, 3}, .t2d = mask}, 20);
    EXPECT_FALSE(diagnosis.is_absolute);
    EXPECT_THAT(diagnosis.ids, ElementsAre(1, 2, 5));
    EXPECT_THAT(diagnosis.faults, IsEmpty());
  }
  // Offsets that may be ids, which t2d decides.
  EXPECT_THAT(Codes({.d2t = {5, 9, 12}, .t2d = MaskWith({5, 10, 14})}), IsEmpty());
  EXPECT_THAT(Codes({.d2t = {5, 9, 12}}), ElementsAre("d2t-absolute"));
  // Rows in any order.
  EXPECT_THAT(DiagnoseMap({.d2t = {7, 2, -2}}, 20).ids, ElementsAre(7, 3, 0));
}

TEST(MapFaultsTest, AbsoluteIdsAreReadAsSuch) {
  const MapDiagnosis diagnosis = DiagnoseMap({.d2t = {5, 9, 12}, .t2d = MaskWith({5, 9, 12})}, 20);
  EXPECT_TRUE(diagnosis.is_absolute);
  EXPECT_THAT(diagnosis.ids, ElementsAre(5, 9, 12));
  ASSERT_EQ(diagnosis.faults.size(), 1u);
  EXPECT_EQ(diagnosis.faults[0].code, "d2t-absolute");
}

TEST(MapFaultsTest, GgufHoldsIds) {
  EXPECT_THAT(Codes({.d2t = {5, 9, 12}, .is_absolute = true}), IsEmpty());
  EXPECT_THAT(DiagnoseMap({.d2t = {5, 9, 12}, .is_absolute = true}, 20).ids, ElementsAre(5, 9, 12));
  EXPECT_THAT(Codes({.d2t = {1, 1, 3}, .is_absolute = true}), ElementsAre("d2t-offsets"));
  EXPECT_THAT(Codes({.d2t = {0, 0, 0}, .is_absolute = true}), ElementsAre("d2t-zero"));
  EXPECT_THAT(Codes({.d2t = {0, 1, 2}, .is_absolute = true}), ElementsAre("d2t-arange"));
}

TEST(MapFaultsTest, DefaultsAreFaults) {
  EXPECT_THAT(Codes({.d2t = {}}), ElementsAre("d2t-empty"));
  EXPECT_THAT(Codes({.d2t = {0, 0, 0}}), ElementsAre("d2t-zero"));
  EXPECT_THAT(Codes({.d2t = {0, 0, 0}, .t2d = MaskWith({3, 4, 5})}), ElementsAre("d2t-zero"));
  EXPECT_THAT(Codes({.d2t = {0, 1, 2}}), ElementsAre("d2t-arange"));
  EXPECT_THAT(Codes({.d2t = {0, 1, 2}, .t2d = MaskWith({0, 1, 2})}), ElementsAre("d2t-arange"));
  EXPECT_THAT(Codes({.d2t = {1, 1, 1}, .t2d = MaskWith({})}), ElementsAre("t2d-empty"));
  // The first ids by choice, and a head of the whole vocabulary.
  EXPECT_THAT(Codes({.d2t = {0, 0, 0}, .t2d = MaskWith({0, 1, 2})}), IsEmpty());
  EXPECT_THAT(Codes({.d2t = {0, 0, 0}}, /*vocab_size=*/3), IsEmpty());
}

TEST(MapFaultsTest, EveryFaultIsNamed) {
  EXPECT_THAT(Codes({.d2t = {3, 18, 18}}), ElementsAre("id-range"));
  EXPECT_THAT(Codes({.d2t = {-1, 3, 3}}), ElementsAre("id-range"));
  EXPECT_THAT(Codes({.d2t = {INT64_MAX, INT64_MAX, INT64_MAX}}),
              ElementsAre("id-range", "id-twice"));
  EXPECT_THAT(Codes({.d2t = {3, 2, 2, 2}}), ElementsAre("id-twice"));
  EXPECT_THAT(Codes({.d2t = {3, 2, 18, 18}, .t2d = MaskWith({3})}),
              ElementsAre("id-range", "id-twice", "t2d-differs"));
  EXPECT_THAT(Codes({.d2t = {1, 1, 1}, .t2d = MaskWith({1, 2, 4})}), ElementsAre("t2d-differs"));
  EXPECT_THAT(Codes({.d2t = {1, 1, 1}, .t2d = MaskWith({1, 2, 3, 4})}), ElementsAre("t2d-differs"));
  EXPECT_THAT(Codes({.d2t = {1, 1, 1}, .t2d = std::vector<int64_t>(20, 7)}),
              ElementsAre("t2d-values"));
  EXPECT_THAT(Codes({.d2t = {1, 1, 1}, .t2d = MaskWith({1, 2, 3}, 5000)}),
              ElementsAre("t2d-length"));
  EXPECT_THAT(Codes({.d2t = {1, 1, 1}, .t2d = MaskWith({1, 2, 3}, 20 + 1024)}), IsEmpty());
  // Of an unknown vocabulary.
  EXPECT_THAT(Codes({.d2t = {1 << 20, 1 << 20}}, /*vocab_size=*/0), IsEmpty());
  EXPECT_THAT(Codes({.d2t = {1 << 24, 1 << 24}}, /*vocab_size=*/0), ElementsAre("id-range"));
}

}  // namespace
}  // namespace shortlist
