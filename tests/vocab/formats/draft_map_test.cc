#include "vocab/formats/draft_map.h"

#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/safetensors.h"
#include "io/safetensors_writer.h"
#include "tests/vocab/test_util.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Integer>
std::string Bytes(const std::vector<int64_t>& values) {
  std::string bytes;
  for (const int64_t value : values) {
    const auto narrow = static_cast<Integer>(value);
    bytes.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
  }
  return bytes;
}

/// A file of d2t (I64), and of t2d where `mask` is not empty.
absl::StatusOr<DraftMap> Read(const std::vector<int64_t>& d2t, const std::vector<int64_t>& mask,
                              int64_t vocab_size = 1000) {
  SafetensorsWriter writer;
  writer.Add("d2t", "I64", std::vector<int64_t>{std::ssize(d2t)}, Bytes<int64_t>(d2t));
  if (!mask.empty()) {
    writer.Add("t2d", "I8", std::vector<int64_t>{std::ssize(mask)}, Bytes<int8_t>(mask));
  }
  const auto file = OpenSafetensors(WriteTemp("d2t.safetensors", writer.File()));
  EXPECT_TRUE(file.ok()) << file.status();
  return ReadDraftMap(*file, vocab_size);
}

std::string Refusal(const std::vector<int64_t>& d2t, const std::vector<int64_t>& mask = {},
                    int64_t vocab_size = 1000) {
  return std::string(Read(d2t, mask, vocab_size).status().message());
}

std::vector<int64_t> MaskOf(const std::vector<int64_t>& ids, int64_t vocab_size = 20) {
  std::vector<int64_t> mask(vocab_size);
  for (const int64_t id : ids) mask[id] = 1;
  return mask;
}

constexpr const char* kAbsolute = "d2t holds absolute ids, not the offsets of EAGLE-3";
constexpr const char* kDefault = "a trainer's default that was never filled in";

TEST(DraftMapTest, OffsetsOfAscendingIdsAreRead) {
  EXPECT_THAT(Read({7, 7, 8, 8, 500}, {})->ids, ElementsAre(7, 8, 10, 11, 504));
  EXPECT_THAT(Read({0, 0, 0, 4}, {})->ids, ElementsAre(0, 1, 2, 7));  // the first ids, and another
  EXPECT_THAT(Read({5}, {})->ids, ElementsAre(5));                    // the same either way
  EXPECT_THAT(Read({9, -1, 5}, {})->ids, ElementsAre(9, 0, 7));       // no ids: one is negative
  EXPECT_TRUE(Read({}, {})->ids.empty());
}

TEST(DraftMapTest, WithoutMaskAbsoluteIdsAreRejected) {
  for (const std::vector<int64_t>& d2t :
       {std::vector<int64_t>{7, 12, 99, 500, 900}, std::vector<int64_t>{0, 1, 2, 3},  // arange
        std::vector<int64_t>{900, 7, 99}, std::vector<int64_t>{3, 4}, std::vector<int64_t>{0, 5}}) {
    EXPECT_THAT(Refusal(d2t), HasSubstr(kAbsolute));
    EXPECT_THAT(Refusal(d2t), HasSubstr("save id minus row, or the ids alone as .pt or .npy"));
    EXPECT_THAT(Refusal(d2t), HasSubstr("if they are offsets, add t2d"));
  }
}

TEST(DraftMapTest, WithoutMaskZerosAreRejectedUnlessHeadIsFull) {
  for (const size_t num_rows : {1, 5, 999}) {
    EXPECT_THAT(Refusal(std::vector<int64_t>(num_rows)), HasSubstr(kDefault));
    EXPECT_THAT(Refusal(std::vector<int64_t>(num_rows), {}, /*vocab_size=*/0), HasSubstr(kDefault));
  }
  EXPECT_EQ(Read(std::vector<int64_t>(1000), {})->ids.back(), 999);
}

TEST(DraftMapTest, MaskConfirmsAmbiguousOffsets) {
  EXPECT_THAT(Read({0, 0, 0}, MaskOf({0, 1, 2}))->ids, ElementsAre(0, 1, 2));
  EXPECT_THAT(Read({1, 2, 3}, MaskOf({1, 3, 5}))->ids, ElementsAre(1, 3, 5));
}

TEST(DraftMapTest, MaskMismatchIsNamedByCause) {
  EXPECT_THAT(Refusal({1, 3, 5}, MaskOf({1, 3, 5})), HasSubstr(kAbsolute));
  EXPECT_THAT(Refusal({5, 3, 1}, MaskOf({1, 3, 5})), HasSubstr(kAbsolute));
  EXPECT_THAT(Refusal({0, 0, 0}, MaskOf({1, 3, 5, 7})), HasSubstr(kDefault));
  EXPECT_THAT(Refusal({0, 0, 0}, MaskOf({1, 3, 5})), HasSubstr(kDefault));
  EXPECT_THAT(Refusal({0, 0, 0}, std::vector<int64_t>(20, 1)), HasSubstr(kDefault));
  EXPECT_THAT(Refusal({0, 0, 0}, std::vector<int64_t>(20)), HasSubstr("t2d is false for all 20"));
  EXPECT_THAT(Refusal({1, 1, 1}, MaskOf({1, 2, 4})), HasSubstr("t2d[3] is 0, and d2t names it"));
  EXPECT_THAT(Refusal({1, 1, 1}, MaskOf({1, 2, 3, 9})), HasSubstr("t2d[9] is 1, and d2t names it"));
  EXPECT_THAT(Refusal({1, 1, 18}, MaskOf({1, 2})), HasSubstr("d2t[2]: token id 20 not in [0, 20)"));
  std::vector<int64_t> places = MaskOf({1, 2, 3});
  places[2] = 2;
  EXPECT_THAT(Refusal({1, 1, 1}, places), HasSubstr("t2d[2] is 2, not 0 or 1: t2d is a mask"));
}

TEST(DraftMapTest, EmptyMaskIsRejected) {
  SafetensorsWriter writer;
  writer.Add("d2t", "I64", std::vector<int64_t>{3}, Bytes<int64_t>({1, 1, 1}));
  writer.Add("t2d", "I8", std::vector<int64_t>{0}, "");
  const auto file = OpenSafetensors(WriteTemp("d2t.safetensors", writer.File()));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(std::string(ReadDraftMap(*file, /*vocab_size=*/1000).status().message()),
              HasSubstr("t2d has no elements"));
}

TEST(DraftMapTest, OverlongMaskIsRejected) {
  const std::vector<int64_t> d2t = {1, 1, 1};
  EXPECT_THAT(Read(d2t, MaskOf({1, 2, 3}, /*vocab_size=*/1000 + 1024))->ids, ElementsAre(1, 2, 3));
  EXPECT_THAT(Refusal(d2t, MaskOf({1, 2, 3}, /*vocab_size=*/1000 + 1025)),
              HasSubstr("t2d has 2025 elements, more than 2024: the target's vocab_size is 1000, "
                        "and a model may add 1024 rows to it"));
  EXPECT_EQ(Read(d2t, MaskOf({1, 2, 3}, 5000), /*vocab_size=*/0)->vocab_size, 5000);
  constexpr int64_t kTooLong = (int64_t{1} << 24) + 1;
  EXPECT_THAT(Refusal(d2t, MaskOf({1, 2, 3}, kTooLong), /*vocab_size=*/0),
              HasSubstr("t2d has 16777217 elements, more than 16777216"));
}

TEST(DraftMapTest, BoolOffsetsAreRejected) {
  SafetensorsWriter writer;
  writer.Add("d2t", "BOOL", std::vector<int64_t>{3}, Bytes<int8_t>({1, 0, 1}));
  writer.Add("t2d", "BOOL", std::vector<int64_t>{4}, Bytes<int8_t>({0, 1, 0, 1}));
  const auto file = OpenSafetensors(WriteTemp("bool.safetensors", writer.File()));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(std::string(ReadDraftMap(*file, 4).status().message()),
              HasSubstr("bool.safetensors: d2t is BOOL of 3 elements, not integers"));
}

TEST(DraftMapTest, UnsignedTensorsAreRead) {
  for (const auto& [dtype, bytes] : {std::pair("U16", Bytes<uint16_t>({60000, 60000, 60001})),
                                     std::pair("U32", Bytes<uint32_t>({60000, 60000, 60001})),
                                     std::pair("U64", Bytes<uint64_t>({60000, 60000, 60001}))}) {
    SafetensorsWriter writer;
    writer.Add("d2t", dtype, std::vector<int64_t>{3}, bytes);
    const auto file = OpenSafetensors(WriteTemp("unsigned.safetensors", writer.File()));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_THAT(ReadDraftMap(*file, 0)->ids, ElementsAre(60000, 60001, 60003)) << dtype;
  }
  SafetensorsWriter writer;
  writer.Add("d2t", "U64", std::vector<int64_t>{2}, Bytes<uint64_t>({1, INT64_MIN}));
  const auto file = OpenSafetensors(WriteTemp("large.safetensors", writer.File()));
  EXPECT_THAT(std::string(ReadDraftMap(*file, 0).status().message()),
              HasSubstr("element 1: 9223372036854775808 is not below 2^63"));
}

}  // namespace
}  // namespace shortlist
