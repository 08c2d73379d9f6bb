#include "kernels/blocks.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/weight_block.h"
#include "gtest/gtest.h"
#include "kernels/head.h"
#include "kernels/isa.h"
#include "kernels/linear.h"
#include "kernels/quant.h"
#include "tests/kernels/kernel_testing.h"

namespace shortlist {
namespace {

constexpr DType kBlockTypes[] = {DType::kQ40, DType::kQ41, DType::kQ50, DType::kQ51,  DType::kQ80,
                                 DType::kQ4K, DType::kQ5K, DType::kQ6K, DType::kIq4Nl};

/// Restores the instruction set.
class BlocksTest : public testing::Test {
 protected:
  ~BlocksTest() override { SetIsa(isa_); }

 private:
  const Isa isa_ = CurrentIsa();
};

/// Stored blocks of any bytes, except that scales and mins are finite and not huge.
std::vector<uint8_t> RandomBlocks(std::mt19937& rng, DType dtype, int64_t num_rows, int64_t width) {
  const BlockType& type = BlockTypeOf(dtype);
  std::vector<uint8_t> bytes(num_rows * StoredRowBytes(dtype, width));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(rng());
  const auto set = [&](int64_t at) {
    const uint16_t bits = FloatToF16(RandomFloats(rng, 1)[0] * 0.01f);
    std::memcpy(bytes.data() + at, &bits, sizeof(bits));
  };
  for (int64_t at = 0; at < std::ssize(bytes); at += type.num_bytes) {
    set(dtype == DType::kQ6K ? at + 208 : at);
    if (type.has_mins) set(at + 2);
  }
  return bytes;
}

std::vector<float> Decode(const std::vector<uint8_t>& bytes, DType dtype) {
  const BlockType& type = BlockTypeOf(dtype);
  const int64_t num_blocks = std::ssize(bytes) / type.num_bytes;
  std::vector<float> values(num_blocks * type.num_elements);
  for (int64_t b = 0; b < num_blocks; ++b) {
    DecodeBlock(dtype, bytes.data() + b * type.num_bytes, values.data() + b * type.num_elements);
  }
  return values;
}

/// A width of whole blocks.
int64_t RandomWidth(std::mt19937& rng, DType dtype) {
  const int64_t block = BlockTypeOf(dtype).num_elements;
  return block * RandomInt(rng, 1, block == 256 ? 5 : 41);
}

/// Bound of the error that the quantisation of x makes in the product with `weights`.
double InputError(const float* weights, const float* x, int64_t width) {
  double bound = 0;
  for (int64_t g = 0; g < width; g += 32) {
    float largest = 0;
    double sum = 0;
    for (int64_t k = g; k < g + 32; ++k) {
      largest = std::max(largest, std::abs(x[k]));
      sum += std::abs(weights[k]);
    }
    bound += sum * largest / 253;
  }
  return bound + 1e-4;
}

double Dot(const float* a, const float* b, int64_t width) {
  double sum = 0;
  for (int64_t k = 0; k < width; ++k) sum += double{a[k]} * b[k];
  return sum;
}

TEST_F(BlocksTest, HeadRowsKeepStoredValues) {
  std::mt19937 rng(1);
  for (const DType dtype : kBlockTypes) {
    for (int round = 0; round < 60; ++round) {
      const int64_t width = RandomWidth(rng, dtype);
      const std::vector<uint8_t> blocks = RandomBlocks(rng, dtype, 1, width);
      std::vector<uint8_t> row(RowBytes(dtype, width) + 1, 0xab);
      PackBlockRow(blocks.data(), dtype, width, row.data());
      std::vector<float> values(width);
      DequantizeHeadRow(row.data(), dtype, width, values.data());
      ASSERT_EQ(values, Decode(blocks, dtype)) << DTypeName(dtype) << " width " << width;
      EXPECT_EQ(row.back(), 0xab);
      // Scale codes of Q4_K and Q5_K take a byte each, where a file has 6 bits.
      EXPECT_LE(RowBytes(dtype, width), 1.03 * static_cast<double>(blocks.size()));
    }
  }
}

TEST_F(BlocksTest, LinearIsProductWithStoredValues) {
  std::mt19937 rng(2);
  ThreadPool pool(2);
  for (const DType dtype : kBlockTypes) {
    for (int round = 0; round < 6; ++round) {
      SCOPED_TRACE(DTypeName(dtype));
      const int64_t width = RandomWidth(rng, dtype), rows = RandomInt(rng, 1, 100);
      const int64_t tokens = round == 0 ? 70 : RandomInt(rng, 1, 40);
      const std::vector<uint8_t> blocks = RandomBlocks(rng, dtype, rows, width);
      const std::vector<float> weights = Decode(blocks, dtype);
      const std::vector<float> x = RandomFloats(rng, tokens * width);
      const MatrixView view = {blocks.data(), dtype, rows};
      const PackedLinear packed = PackedLinear::PackBlocks({&view, 1}, width, pool);
      ASSERT_TRUE(SetIsa(Isa::kScalar));
      std::vector<float> expected(tokens * rows);
      LinearCpu(packed, {x.data()}, tokens, expected.data(), false, pool);
      for (int64_t t = 0; t < tokens; ++t) {
        for (int64_t n = 0; n < rows; ++n) {
          const float* const w = weights.data() + n * width;
          const float* const input = x.data() + t * width;
          ASSERT_NEAR(expected[t * rows + n], Dot(w, input, width), InputError(w, input, width));
        }
      }
      for (const Isa isa : SupportedIsas()) {
        SCOPED_TRACE(IsaName(isa));
        ASSERT_TRUE(SetIsa(isa));
        std::vector<float> y(tokens * rows, 7.0f);
        LinearCpu(packed, {x.data()}, tokens, y.data(), false, pool);
        ASSERT_EQ(y, expected);
        // One token alone, accumulated.
        const int64_t t = RandomInt(rng, 0, tokens - 1);
        std::vector<float> alone(rows, 1.0f);
        LinearCpu(packed, {x.data() + t * width}, 1, alone.data(), true, pool);
        for (int64_t n = 0; n < rows; ++n) ASSERT_EQ(alone[n], 1.0f + expected[t * rows + n]);
      }
    }
  }
}

/// Many tokens, whose order of computation is another on processors with a matrix unit.
TEST_F(BlocksTest, ManyTokensHaveTheBitsOfOne) {
  std::mt19937 rng(3);
  ThreadPool pool(1);
  for (const DType dtype : kBlockTypes) {
    const int64_t block = BlockTypeOf(dtype).num_elements;
    const struct {
      int64_t tokens, width, rows;
    } cases[] = {{63, block, 33},    {64, 3 * block, 32}, {65, 8 * 32 * 26, 20}, {79, 256 * 3, 300},
                 {95, 256 * 17, 40}, {513, 256, 290},     {528, 256 * 2, 40}};
    for (const auto& [tokens, width, rows] : cases) {
      SCOPED_TRACE(testing::Message() << DTypeName(dtype) << ": " << tokens << " tokens, width "
                                      << width << ", " << rows << " rows");
      const std::vector<uint8_t> blocks = RandomBlocks(rng, dtype, rows, width);
      std::vector<float> x = RandomFloats(rng, tokens * width);
      x[width * 5 + 3] = std::numeric_limits<float>::quiet_NaN();
      const MatrixView view = {blocks.data(), dtype, rows};
      const PackedLinear packed = PackedLinear::PackBlocks({&view, 1}, width, pool);
      ASSERT_TRUE(SetIsa(DetectIsa()));
      std::vector<float> expected(tokens * rows);
      for (int64_t t = 0; t < tokens; ++t) {
        LinearCpu(packed, {x.data() + t * width}, 1, expected.data() + t * rows, false, pool);
      }
      for (const Isa isa : SupportedIsas()) {
        if (isa == Isa::kScalar) continue;  // slow, and the reference of other tests
        SCOPED_TRACE(IsaName(isa));
        ASSERT_TRUE(SetIsa(isa));
        std::vector<float> y(tokens * rows, 1.0f);
        LinearCpu(packed, {x.data()}, tokens, y.data(), /*accumulate=*/true, pool);
        for (int64_t i = 0; i < tokens * rows; ++i) {
          if (i / rows == 5) {
            ASSERT_TRUE(std::isnan(y[i]));
          } else {
            ASSERT_EQ(y[i], 1.0f + expected[i]) << "token " << i / rows << " row " << i % rows;
          }
        }
      }
    }
  }
}

/// The largest products of each sign, which must fit the sums of 16 bits.
TEST_F(BlocksTest, LargestCodesDoNotOverflow) {
  std::mt19937 rng(7);
  ThreadPool pool(1);
  constexpr int64_t kWidth = 512, kRows = 32;
  for (const DType dtype : kBlockTypes) {
    const BlockType& type = BlockTypeOf(dtype);
    for (const uint8_t fill : {0x00, 0x0f, 0x70, 0x7f, 0x80, 0xf0, 0xff}) {
      std::vector<uint8_t> blocks = RandomBlocks(rng, dtype, kRows, kWidth);
      const std::vector<uint8_t> random = blocks;
      for (size_t i = 0; i < blocks.size(); ++i) {
        const size_t at = i % type.num_bytes, scale = type.scale_offset;
        const bool is_scale = at == scale || at == scale + 1;
        const bool is_min = type.has_mins && (at == 2 || at == 3);
        blocks[i] = is_scale || is_min ? random[i] : fill;
      }
      const MatrixView view = {blocks.data(), dtype, kRows};
      const PackedLinear packed = PackedLinear::PackBlocks({&view, 1}, kWidth, pool);
      for (const float sign : {1.0f, -1.0f}) {
        const std::vector<float> x(4 * kWidth, sign);
        for (const int64_t tokens : {1, 4}) {
          ASSERT_TRUE(SetIsa(Isa::kScalar));
          std::vector<float> expected(tokens * kRows);
          LinearCpu(packed, {x.data()}, tokens, expected.data(), false, pool);
          for (const Isa isa : SupportedIsas()) {
            ASSERT_TRUE(SetIsa(isa));
            std::vector<float> y(tokens * kRows);
            LinearCpu(packed, {x.data()}, tokens, y.data(), false, pool);
            ASSERT_EQ(y, expected) << type.name << " of " << int{fill} << ", " << IsaName(isa);
          }
        }
      }
    }
  }
}

TEST_F(BlocksTest, WeightsOfSeveralTypesStack) {
  std::mt19937 rng(3);
  ThreadPool pool(2);
  constexpr int64_t kWidth = 512, kTokens = 5;
  const std::vector<float> x = RandomFloats(rng, kTokens * kWidth);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::vector<uint8_t>> blocks;
    std::vector<MatrixView> views;
    std::vector<float> expected;  // [rows][tokens]
    for (int i = 0; i < 5; ++i) {
      const DType dtype = kBlockTypes[RandomInt(rng, 0, 8)];
      const int64_t rows = i == 4 ? RandomInt(rng, 1, 70) : 32 * RandomInt(rng, 1, 3);
      blocks.push_back(RandomBlocks(rng, dtype, rows, kWidth));
      const MatrixView& view = views.emplace_back(blocks.back().data(), dtype, rows);
      std::vector<float> y(kTokens * rows);
      LinearCpu(PackedLinear::PackBlocks({&view, 1}, kWidth, pool), {x.data()}, kTokens, y.data(),
                false, pool);
      for (int64_t n = 0; n < rows; ++n) {
        for (int64_t t = 0; t < kTokens; ++t) expected.push_back(y[t * rows + n]);
      }
    }
    ASSERT_TRUE(PackedLinear::CanPackBlocks(views));
    const PackedLinear packed = PackedLinear::PackBlocks(views, kWidth, pool);
    const int64_t rows = packed.out_features();
    std::vector<float> y(kTokens * rows), gated(kTokens * rows), one(kTokens * rows, 1.0f);
    LinearCpu(packed, {x.data()}, kTokens, y.data(), false, pool);
    for (int64_t i = 0; i < rows * kTokens; ++i) {
      ASSERT_EQ(y[i % kTokens * rows + i / kTokens], expected[i]) << i;
    }
    GatedLinearCpu(packed, packed, {x.data()}, kTokens, Activation::kSilu, gated.data(), pool);
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_NEAR(gated[i], y[i] * y[i] / (1 + std::exp(-y[i])), 1e-4 * (1 + y[i] * y[i]));
    }
  }
  // Rows of a type of their own in the middle of a panel.
  const std::vector<uint8_t> bytes = RandomBlocks(rng, DType::kQ6K, 40, kWidth);
  const MatrixView odd[] = {{bytes.data(), DType::kQ6K, 40}, {bytes.data(), DType::kQ4K, 32}};
  EXPECT_FALSE(PackedLinear::CanPackBlocks(odd));
  const MatrixView same[] = {{bytes.data(), DType::kQ6K, 40}, {bytes.data(), DType::kQ6K, 30}};
  EXPECT_TRUE(PackedLinear::CanPackBlocks(same));
  EXPECT_EQ(PackedLinear::PackBlocks(same, kWidth, pool).parts().size(), 1u);
}

TEST_F(BlocksTest, HeadIsProductWithStoredValuesForAnyTokensAndRows) {
  std::mt19937 rng(4);
  ThreadPool pool(2);
  for (const DType dtype : kBlockTypes) {
    for (int round = 0; round < 6; ++round) {
      SCOPED_TRACE(DTypeName(dtype));
      const int64_t width = RandomWidth(rng, dtype), rows = RandomInt(rng, 1, 90), tokens = 21;
      const std::vector<uint8_t> blocks = RandomBlocks(rng, dtype, rows, width);
      const std::vector<float> weights = Decode(blocks, dtype);
      const std::vector<float> x = RandomFloats(rng, tokens * width);
      const QuantizedRows packed = QuantizedRows::OfBlocks(blocks.data(), rows, width, dtype, pool);
      HeadArgs args = {.weight = packed.data(),
                       .dtype = dtype,
                       .vocab_size = rows,
                       .hidden = width,
                       .x = x.data(),
                       .num_tokens = tokens,
                       .num_rows = rows};
      for (const Isa isa : SupportedIsas()) {
        SCOPED_TRACE(IsaName(isa));
        ASSERT_TRUE(SetIsa(isa));
        std::vector<float> logits(tokens * rows);
        HeadLogitsCpu(args, logits.data(), rows, pool);
        for (int64_t t = 0; t < tokens; ++t) {
          for (int64_t n = 0; n < rows; ++n) {
            const float* const w = weights.data() + n * width;
            const float* const input = x.data() + t * width;
            ASSERT_NEAR(logits[t * rows + n], Dot(w, input, width), InputError(w, input, width));
          }
        }
        for (int64_t few = 1; few <= 9; ++few) {
          HeadArgs some = args;
          some.num_tokens = few;
          std::vector<int32_t> ids;
          for (int64_t n = RandomInt(rng, 0, 2); n < rows; n += 3) {
            ids.push_back(static_cast<int32_t>(n));
          }
          if (ids.empty()) ids.push_back(0);
          some.row_ids = ids.data();
          some.num_rows = std::ssize(ids);
          std::vector<float> chosen(few * some.num_rows);
          HeadLogitsCpu(some, chosen.data(), some.num_rows, pool);
          for (int64_t t = 0; t < few; ++t) {
            for (int64_t i = 0; i < some.num_rows; ++i) {
              ASSERT_EQ(chosen[t * some.num_rows + i], logits[t * rows + ids[i]]);
            }
          }
        }
      }
    }
  }
}

TEST_F(BlocksTest, InputThatIsNoNumberGivesNoNumber) {
  std::mt19937 rng(5);
  ThreadPool pool(1);
  constexpr int64_t kWidth = 256, kRows = 40;
  std::vector<float> x = RandomFloats(rng, kWidth);
  x[100] = std::numeric_limits<float>::infinity();
  for (const DType dtype : kBlockTypes) {
    const std::vector<uint8_t> blocks = RandomBlocks(rng, dtype, kRows, kWidth);
    const MatrixView view = {blocks.data(), dtype, kRows};
    const PackedLinear packed = PackedLinear::PackBlocks({&view, 1}, kWidth, pool);
    for (const Isa isa : SupportedIsas()) {
      ASSERT_TRUE(SetIsa(isa));
      std::vector<float> y(kRows);
      LinearCpu(packed, {x.data()}, 1, y.data(), false, pool);
      for (const float value : y) EXPECT_TRUE(std::isnan(value)) << DTypeName(dtype);
    }
  }
}

TEST_F(BlocksTest, ScaleThatIsNoNumberIsFound) {
  std::mt19937 rng(6);
  ThreadPool pool(2);
  constexpr int64_t kWidth = 512, kRows = 33;
  for (const DType dtype : kBlockTypes) {
    const BlockType& type = BlockTypeOf(dtype);
    std::vector<uint8_t> blocks = RandomBlocks(rng, dtype, kRows, kWidth);
    EXPECT_TRUE(BlocksAreFinite(blocks.data(), dtype, kRows, kWidth, pool));
    const int64_t last = std::ssize(blocks) - type.num_bytes;
    for (const int64_t at : {dtype == DType::kQ6K ? last + 208 : last, last + 2}) {
      if (at == last + 2 && !type.has_mins) continue;
      std::vector<uint8_t> bad = blocks;
      const uint16_t bits = RandomInt(rng, 0, 1) == 0 ? 0xfc00 : 0x7e01;
      std::memcpy(bad.data() + at, &bits, sizeof(bits));
      EXPECT_FALSE(BlocksAreFinite(bad.data(), dtype, kRows, kWidth, pool)) << type.name;
    }
  }
}

}  // namespace
}  // namespace shortlist
