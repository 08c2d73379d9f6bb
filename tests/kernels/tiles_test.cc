#include "kernels/cpu/tiles.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "gtest/gtest.h"
#include "kernels/cpu/plain_tiles.inc"
#include "kernels/isa.h"
#include "tests/kernels/kernel_testing.h"
#if defined(__x86_64__)
#include "kernels/cpu/amx_tiles.inc"
#endif

namespace shortlist {
namespace {

constexpr int64_t kWords = kMaxTileBytes / 4;

struct alignas(64) Tile {
  uint8_t bytes[kMaxTileRows][kMaxTileBytes];

  float FloatAt(int64_t row, int64_t column) const {
    float value;
    std::memcpy(&value, &bytes[row][4 * column], sizeof(value));
    return value;
  }
  int32_t IntAt(int64_t row, int64_t column) const {
    int32_t value;
    std::memcpy(&value, &bytes[row][4 * column], sizeof(value));
    return value;
  }
  uint16_t Bf16At(int64_t row, int64_t column) const {
    uint16_t value;
    std::memcpy(&value, &bytes[row][2 * column], sizeof(value));
    return value;
  }
};

/// The distribution of the factors of a product.
enum class Numbers { kNormal, kTiny, kAnyBits };

uint16_t RandomBf16(std::mt19937& rng, Numbers numbers) {
  if (numbers == Numbers::kAnyBits) return static_cast<uint16_t>(rng());
  if (numbers == Numbers::kNormal) {
    return FloatToBf16(std::normal_distribution<float>()(rng));
  }
  // Products around the least normal number, now and then of a subnormal one.
  const uint32_t exponent = rng() % 8 == 0 ? 0 : 44 + rng() % 40;
  return static_cast<uint16_t>((rng() & 0x807f) | exponent << 7);
}

Tile RandomTile(std::mt19937& rng, Numbers numbers) {
  Tile tile;
  for (auto& row : tile.bytes) {
    for (int64_t i = 0; i < kMaxTileBytes / 2; ++i) {
      const uint16_t bits = RandomBf16(rng, numbers);
      std::memcpy(row + 2 * i, &bits, sizeof(bits));
    }
  }
  return tile;
}

Tile RandomSums(std::mt19937& rng, Numbers numbers) {
  Tile tile;
  for (auto& row : tile.bytes) {
    for (int64_t n = 0; n < kWords; ++n) {
      float value = std::normal_distribution<float>()(rng);
      if (numbers == Numbers::kTiny) value = std::ldexp(value, -126);
      std::memcpy(row + 4 * n, &value, sizeof(value));
    }
  }
  return tile;
}

TileShapes RandomShapes(std::mt19937& rng) {
  const int64_t rows = RandomInt(rng, 1, kMaxTileRows), pairs = RandomInt(rng, 1, kMaxTileRows);
  const int64_t row_bytes = 4 * RandomInt(rng, 1, kWords);
  TileShapes shapes;
  shapes.of[0] = {rows, row_bytes};
  shapes.of[5] = {rows, 4 * pairs};
  shapes.of[7] = {pairs, row_bytes};
  return shapes;
}

enum class Product { kBf16, kBytes, kSignedBytes };

template <typename Tiles>
Tile Multiply(const TileShapes& shapes, Product product, const Tile& sums, const Tile& a,
              const Tile& b) {
  Tile out = {};
  Tiles tiles(shapes);
  tiles.template Load<0>(&sums, kMaxTileBytes);
  tiles.template Load<5>(&a, kMaxTileBytes);
  tiles.template Load<7>(&b, kMaxTileBytes);
  if (product == Product::kBf16) {
    tiles.template MulAddBf16<0, 5, 7>();
  } else if (product == Product::kBytes) {
    tiles.template MulAddBytes<0, 5, 7>();
  } else {
    tiles.template MulAddSignedBytes<0, 5, 7>();
  }
  tiles.template Store<0>(&out, kMaxTileBytes);
  return out;
}

TEST(TilesTest, ByteSumsAreExact) {
  const uint32_t seed = 1;
  SCOPED_TRACE(seed);
  std::mt19937 rng(seed);
  for (int round = 0; round < 50; ++round) {
    const TileShapes shapes = RandomShapes(rng);
    const Tile sums = {}, a = RandomTile(rng, Numbers::kAnyBits),
               b = RandomTile(rng, Numbers::kAnyBits);
    const bool is_signed = round % 2 == 1;
    const Tile out = Multiply<PlainTiles>(
        shapes, is_signed ? Product::kSignedBytes : Product::kBytes, sums, a, b);
    for (int64_t m = 0; m < kMaxTileRows; ++m) {
      for (int64_t n = 0; n < kWords; ++n) {
        int32_t expected = 0;
        if (m < shapes.of[0].rows && 4 * n < shapes.of[0].row_bytes) {
          for (int64_t k = 0; k < shapes.of[5].row_bytes; ++k) {
            const uint8_t byte = b.bytes[k / 4][4 * n + k % 4];
            const int32_t factor = is_signed ? static_cast<int8_t>(byte) : int32_t{byte};
            expected += static_cast<int8_t>(a.bytes[m][k]) * factor;
          }
        }
        ASSERT_EQ(out.IntAt(m, n), expected) << m << ", " << n;
      }
    }
  }
}

TEST(TilesTest, Bf16IsCloseToDouble) {
  const uint32_t seed = 2;
  SCOPED_TRACE(seed);
  std::mt19937 rng(seed);
  for (int round = 0; round < 50; ++round) {
    const TileShapes shapes = RandomShapes(rng);
    const Tile sums = RandomSums(rng, Numbers::kNormal), a = RandomTile(rng, Numbers::kNormal),
               b = RandomTile(rng, Numbers::kNormal);
    const Tile out = Multiply<PlainTiles>(shapes, Product::kBf16, sums, a, b);
    for (int64_t m = 0; m < shapes.of[0].rows; ++m) {
      for (int64_t n = 0; 4 * n < shapes.of[0].row_bytes; ++n) {
        double expected = sums.FloatAt(m, n), magnitude = std::abs(expected);
        for (int64_t k = 0; 2 * k < shapes.of[5].row_bytes; ++k) {
          const double term = static_cast<double>(Bf16ToFloat(a.Bf16At(m, k))) *
                              Bf16ToFloat(b.Bf16At(k / 2, 2 * n + k % 2));
          expected += term;
          magnitude += std::abs(term);
        }
        ASSERT_NEAR(out.FloatAt(m, n), expected, 0x1p-20 * magnitude) << m << ", " << n;
      }
    }
  }
}

// One pair, so that the steps show: 2^-70 * 2^-70 is flushed before it is added.
TEST(TilesTest, SubnormalsBecomeZero) {
  TileShapes shapes;
  shapes.of[0] = {1, 4};
  shapes.of[5] = {1, 4};
  shapes.of[7] = {1, 4};
  const auto product = [&](float a, float b, float sum) {
    Tile left = {}, right = {}, sums = {};
    const uint16_t a_bits = FloatToBf16(a), b_bits = FloatToBf16(b);
    std::memcpy(&left.bytes[0][0], &a_bits, sizeof(a_bits));
    std::memcpy(&right.bytes[0][0], &b_bits, sizeof(b_bits));
    std::memcpy(&sums.bytes[0][0], &sum, sizeof(sum));
    return Multiply<PlainTiles>(shapes, Product::kBf16, sums, left, right).FloatAt(0, 0);
  };
  EXPECT_EQ(product(0x1p-63f, 0x1p-63f, 0.0f), 0x1p-126f);
  EXPECT_EQ(product(0x1p-63f, 0x1p-64f, 0.0f), 0.0f);
  EXPECT_EQ(product(0x1p-63f, 0x1p-64f, 0x1p-126f), 0x1p-126f);
  EXPECT_EQ(product(0x1p-130f, 0x1p100f, 0.0f), 0.0f);         // a subnormal operand
  EXPECT_EQ(product(1.0f, 0.0f, 0x1p-130f), 0.0f);             // a subnormal sum
  EXPECT_EQ(product(-0x1p-63f, 0x1p-63f, 0x1.8p-126f), 0.0f);  // a subnormal difference
}

#if defined(__x86_64__)
TEST(TilesTest, AmxMatchesPlainTileBits) {
  if (DetectIsa() != Isa::kAmx) GTEST_SKIP() << "no AMX on this machine";
  const uint32_t seed = 3;
  std::mt19937 rng(seed);
  for (int round = 0; round < 600; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
    const TileShapes shapes = RandomShapes(rng);
    const auto numbers = static_cast<Numbers>(round % 3);
    const Tile sums = RandomSums(rng, numbers), a = RandomTile(rng, numbers),
               b = RandomTile(rng, numbers);
    for (const Product product : {Product::kBf16, Product::kBytes, Product::kSignedBytes}) {
      const Tile unit = Multiply<AmxTiles>(shapes, product, sums, a, b);
      const Tile plain = Multiply<PlainTiles>(shapes, product, sums, a, b);
      for (int64_t m = 0; m < kMaxTileRows; ++m) {
        for (int64_t n = 0; n < kWords; ++n) {
          const bool both_nan = std::isnan(unit.FloatAt(m, n)) && std::isnan(plain.FloatAt(m, n));
          if (product == Product::kBf16 && both_nan) continue;
          ASSERT_EQ(unit.IntAt(m, n), plain.IntAt(m, n)) << m << ", " << n;
        }
      }
    }
  }
}

#endif  // __x86_64__

}  // namespace
}  // namespace shortlist
