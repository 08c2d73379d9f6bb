#include "base/dtype.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace shortlist {
namespace {

constexpr uint32_t kNumPatterns = 1u << 16;

/// The value of a binary float with `exponent_bits` and `mantissa_bits`, from its definition.
double Decode(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double sign = (bits & 0x8000u) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  const double fraction = std::ldexp(mantissa, -mantissa_bits) + (exponent != 0 ? 1 : 0);
  return sign * std::ldexp(fraction, (exponent != 0 ? exponent : 1) - bias);
}

struct Format {
  const char* name;
  int exponent_bits;
  int mantissa_bits;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);
};

constexpr Format kFormats[] = {
    {"f16", 5, 10, F16ToFloat, FloatToF16},
    {"bf16", 8, 7, Bf16ToFloat, FloatToBf16},
};

TEST(DTypeTest, EveryPatternWidensToItsValue) {
  for (const Format& format : kFormats) {
    for (uint32_t bits = 0; bits < kNumPatterns; ++bits) {
      const double expected = Decode(bits, format.exponent_bits, format.mantissa_bits);
      const float value = format.widen(static_cast<uint16_t>(bits));
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(value)) << format.name << " " << bits;
      } else {
        ASSERT_EQ(value, expected) << format.name << " " << bits;
        ASSERT_EQ(std::signbit(value), (bits & 0x8000u) != 0) << format.name << " " << bits;
      }
    }
  }
}

TEST(DTypeTest, EveryPatternRoundTrips) {
  for (const Format& format : kFormats) {
    for (uint32_t bits = 0; bits < kNumPatterns; ++bits) {
      const float value = format.widen(static_cast<uint16_t>(bits));
      const uint16_t back = format.narrow(value);
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(format.widen(back))) << format.name << " " << bits;
      } else {
        ASSERT_EQ(back, bits) << format.name;
      }
    }
  }
}

// Between two neighbours the midpoint goes to the even one, and a hair to either side to the nearer
// one.
TEST(DTypeTest, NarrowingRoundsToNearestEven) {
  for (const Format& format : kFormats) {
    const uint32_t infinity = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
    for (uint32_t bits = 0; bits + 1 < infinity; ++bits) {
      const float low = format.widen(static_cast<uint16_t>(bits));
      const float high = format.widen(static_cast<uint16_t>(bits + 1));
      const float middle = low + (high - low) / 2;
      ASSERT_EQ(format.narrow(middle), bits % 2 == 0 ? bits : bits + 1)
          << format.name << " " << bits;
      ASSERT_EQ(format.narrow(std::nextafter(middle, low)), bits) << format.name;
      ASSERT_EQ(format.narrow(std::nextafter(middle, high)), bits + 1) << format.name;
      ASSERT_EQ(format.narrow(-middle), format.narrow(middle) | 0x8000u) << format.name;
    }
  }
}

TEST(DTypeTest, OverflowBecomesInfinity) {
  EXPECT_EQ(FloatToF16(65504.0f), 0x7bffu);
  EXPECT_EQ(FloatToF16(65519.996f), 0x7bffu);
  EXPECT_EQ(FloatToF16(65520.0f), 0x7c00u);
  EXPECT_EQ(FloatToF16(-1e30f), 0xfc00u);
  EXPECT_EQ(FloatToF16(std::numeric_limits<float>::infinity()), 0x7c00u);
  EXPECT_EQ(FloatToBf16(std::numeric_limits<float>::max()), 0x7f80u);
}

TEST(DTypeTest, TinyNumbersRoundToSignedZero) {
  EXPECT_EQ(FloatToF16(1e-30f), 0u);
  EXPECT_EQ(FloatToF16(-1e-30f), 0x8000u);
  EXPECT_EQ(FloatToF16(0x1p-25f), 0u);
  EXPECT_EQ(FloatToF16(0x1.8p-25f), 1u);
}

TEST(DTypeTest, LoadAndStoreAddressElements) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBf16}) {
    alignas(4) char data[12] = {};
    StoreFromFloat(data, dtype, /*index=*/2, 1.5f);
    EXPECT_EQ(LoadAsFloat(data, dtype, /*index=*/2), 1.5f);
    EXPECT_EQ(LoadAsFloat(data, dtype, /*index=*/1), 0.0f);
  }
}

}  // namespace
}  // namespace shortlist
