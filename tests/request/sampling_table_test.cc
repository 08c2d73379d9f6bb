#include "request/sampling_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace shortlist {
namespace {

using testing::StartsWith;

constexpr int64_t kVocabSize = 100;

bool IsIn(const NumberRange& range, double value) {
  return (range.above_low ? value > range.low : value >= range.low) && value <= range.high;
}

TEST(SamplingTableTest, NamesAndMembersAreDistinct) {
  std::set<std::string> names;
  for (const SamplingField& field : kSamplingFields) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_NE(field.number == nullptr, field.count == nullptr) << field.name;
    SamplingParams params;
    field.Set(params, 3.0);
    for (const SamplingField& other : kSamplingFields) {
      const double expected = &other == &field ? 3.0 : other.Get(SamplingParams());
      EXPECT_EQ(other.Get(params), expected) << field.name << ", " << other.name;
    }
  }
  EXPECT_EQ(kSamplingFields[3].Flag(), "--min-p");
}

TEST(SamplingTableTest, DefaultsAreInBothRanges) {
  for (const SamplingField& field : kSamplingFields) {
    const double value = field.Get(SamplingParams());
    EXPECT_TRUE(IsIn(field.range, value)) << field.name;
    EXPECT_TRUE(IsIn(field.request_range, value)) << field.name;
  }
}

TEST(SamplingTableTest, ValidateRejectsNumbersOutsideTheRange) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const SamplingField& field : kSamplingFields) {
    if (field.number == nullptr) continue;
    for (const double value :
         {field.range.low, std::nextafter(field.range.low, -kInfinity),
          std::nextafter(field.range.low, kInfinity), field.range.high,
          std::nextafter(field.range.high, kInfinity), kInfinity, std::nan("")}) {
      SamplingParams params;
      field.Set(params, value);
      const absl::Status status = params.Validate(kVocabSize);
      EXPECT_EQ(status.ok(), IsIn(field.range, value)) << field.name << " " << value;
      if (status.ok()) continue;
      EXPECT_THAT(std::string(status.message()), StartsWith(field.name));
    }
  }
}

TEST(SamplingTableTest, ValidateRejectsNegativeCounts) {
  SamplingParams params{.top_k = -1};
  EXPECT_EQ(params.Validate(kVocabSize).message(), "top_k -1 is negative (0 keeps all)");
  params.top_k = 0;
  EXPECT_TRUE(params.Validate(kVocabSize).ok());
}

}  // namespace
}  // namespace shortlist
