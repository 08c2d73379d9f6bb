// The parts of kernels/cuda/ that run on the host, or on both sides: formats, plans, items, order.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/head_job.h"
#include "kernels/cuda/row_tiles.h"
#include "kernels/cuda/selection.h"
#include "kernels/cuda/states_kernel.h"
#include "kernels/sampling.h"
#include "tests/kernels/kernel_testing.h"

namespace shortlist {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr int kSmall = 7;  // processors
constexpr int kH200 = 132;

TEST(CudaRowsTest, Fp8CodesRoundToNearestEvenAndSaturate) {
  std::vector<float> values;  // of the codes 0 .. 126, which rise
  for (int code = 0; code < 127; ++code) values.push_back(Fp8ToFloat(static_cast<uint8_t>(code)));
  EXPECT_EQ(values[1], 0x1p-9f);
  EXPECT_EQ(values[8], 0x1p-6f);
  EXPECT_EQ(values[126], 448.0f);
  for (int code = 0; code < 127; ++code) {
    EXPECT_EQ(FloatToFp8(values[code]), code);
    EXPECT_EQ(FloatToFp8(-values[code]), code | 0x80);
    if (code == 126) break;
    EXPECT_LT(values[code], values[code + 1]);
    const float middle = (values[code] + values[code + 1]) / 2;
    EXPECT_EQ(FloatToFp8(middle), code % 2 == 0 ? code : code + 1);
    EXPECT_EQ(FloatToFp8(std::nextafter(middle, 0.0f)), code);
    EXPECT_EQ(FloatToFp8(std::nextafter(middle, kInf)), code + 1);
  }
  EXPECT_EQ(FloatToFp8(1e9f), 126);
  EXPECT_EQ(FloatToFp8(-kInf), 126 | 0x80);
}

TEST(CudaRowsTest, Fp8CodesWidenToExactHalves) {
  for (int code = 0; code < 256; ++code) {
    if ((code & 127) == 127) continue;
    const uint32_t word = static_cast<uint32_t>(code) << 24 | static_cast<uint32_t>(code ^ 5) << 8;
    const uint32_t halves = Fp8PairToF16(word);
    EXPECT_EQ(F16ToFloat(static_cast<uint16_t>(halves >> 16)) * kFp8Factor,
              Fp8ToFloat(static_cast<uint8_t>(code)));
    if (((code ^ 5) & 127) == 127) continue;
    EXPECT_EQ(F16ToFloat(static_cast<uint16_t>(halves)) * kFp8Factor,
              Fp8ToFloat(static_cast<uint8_t>(code ^ 5)));
  }
}

/// The code of one column of a packed row, by the contract of RowLayout.
int CodeAt(const RowLayout& layout, const uint8_t* row, int64_t column) {
  const int64_t group = column / layout.group_len, k = column % layout.group_len;
  if (layout.format == RowFormat::kInt8) return static_cast<int8_t>(row[group * 64 + k]);
  const uint8_t pair = row[group / 4 * 64 + k % 16 / 4 * 16 + group % 4 * 4 + k % 4];
  const int nibble = k < 16 ? pair & 15 : pair >> 4;
  return nibble < 8 ? nibble : nibble - 16;
}

TEST(CudaRowsTest, PackedRowsKeepWeights) {
  std::mt19937 rng(41);
  for (const int64_t hidden : {1, 7, 64, 100, 576, 896, 1024, 1536, 4096}) {
    for (const DType dtype : {DType::kInt8, DType::kInt4}) {
      const RowFormat format = dtype == DType::kInt4 ? RowFormat::kInt4 : RowFormat::kInt8;
      const RowLayout layout = RowLayout::Of(format, hidden);
      const std::vector<float> weights = RandomFloats(rng, hidden);
      std::vector<uint8_t> head_row(RowBytes(dtype, hidden)), row(layout.row_bytes);
      std::vector<float> expected(hidden);
      QuantizeHeadRow(weights.data(), dtype, hidden, head_row.data());
      DequantizeHeadRow(head_row.data(), dtype, hidden, expected.data());
      PackCudaRow(head_row.data(), dtype, hidden, row.data());
      for (int64_t k = 0; k < hidden; ++k) {
        uint16_t scale;
        std::memcpy(&scale, &row[layout.code_bytes + k / layout.group_len * 2], 2);
        ASSERT_EQ(static_cast<float>(CodeAt(layout, row.data(), k)) * Bf16ToFloat(scale),
                  expected[k])
            << DTypeName(dtype) << " hidden " << hidden << " column " << k;
      }
      EXPECT_EQ(layout.row_bytes % 16, 0);
    }
  }
}

TEST(CudaRowsTest, StateCodesFillEveryByteOnce) {
  for (const RowFormat format : {RowFormat::kInt8, RowFormat::kInt4}) {
    const RowLayout layout = RowLayout::Of(format, /*hidden=*/900);
    const int group_codes = format == RowFormat::kInt4 ? kInt4GroupCodes : kInt8GroupCodes;
    std::set<int64_t> bytes;
    for (int64_t g = 0; g < layout.x_code_bytes / group_codes; ++g) {
      for (int64_t k = 0; k < group_codes; ++k) bytes.insert(StateCodeByte(format, g, k));
    }
    EXPECT_EQ(static_cast<int64_t>(bytes.size()), layout.x_code_bytes);
    EXPECT_EQ(*bytes.rbegin(), layout.x_code_bytes - 1);
  }
}

TEST(CudaStatesTest, HalfScalesArePowersOfTwoWithHeadroom) {
  for (float largest = 0x1p-149f; largest < 0x1p127f; largest *= 1.7f) {
    const float scale = F16StateScale(largest);
    int exponent;
    EXPECT_EQ(std::frexp(scale, &exponent), 0.5f);
    EXPECT_LT(largest * scale, 0x1p15f);
    EXPECT_EQ(scale * (1.0f / scale), 1.0f);
    if (largest > 0x1p-100f) {
      EXPECT_GE(largest * scale, 0x1p14f);
    }
  }
  for (const float odd : {0.0f, kInf, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(F16StateScale(odd), 1.0f);
  }
}

TEST(CudaSelectionTest, KeysOrderByScoreThenLowerId) {
  std::mt19937 rng(42);
  std::vector<float> scores = {0.0f, -0.0f, kInf, -kInf, 0x1p-149f, -0x1p-149f, 1.0f, -1.0f};
  for (const float score : RandomFloats(rng, 50)) scores.push_back(score);
  for (const float a : scores) {
    EXPECT_EQ(OrderedValue(OrderedBits(a)), a);
    for (const float b : scores) {
      for (const int32_t id : {0, 5, std::numeric_limits<int32_t>::max()}) {
        EXPECT_EQ(CandidateKey(a, id) > CandidateKey(b, 5), a > b || (a == b && id < 5));
        EXPECT_EQ(CandidateId(CandidateKey(a, id)), id);
        EXPECT_GT(CandidateKey(a, id), 0u);
      }
    }
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(CandidateKey(nan, 3), CandidateKey(-kInf, 3));
  EXPECT_EQ(CandidateKey(-nan, 3), CandidateKey(-kInf, 3));
  EXPECT_EQ(CandidateId(0), -1);
}

TEST(CudaSelectionTest, SumsOfExponentialsAddUp) {
  std::mt19937 rng(43);
  const std::vector<float> values = RandomFloats(rng, 100);
  SumExp sum;
  for (const float value : values) {
    sum = AddSumExp(sum, {value, 1});
    const SumExp same = AddSumExp(AddSumExp(SumExp{}, sum), SumExp{});
    EXPECT_EQ(same.max, sum.max);
    EXPECT_EQ(same.sum, sum.sum);
  }
  EXPECT_NEAR(LogOf(sum), LogSumExpCpu(values.data(), 100), 1e-5);
  EXPECT_EQ(LogOf(SumExp{}), -kInf);
  EXPECT_EQ(LogOf(AddSumExp(sum, {kInf, 1})), kInf);
  EXPECT_EQ(LogOf(AddSumExp({kInf, 1}, sum)), kInf);
}

CudaHeadArgs Args(RowFormat format, int64_t hidden, int64_t num_tokens, int64_t row_capacity,
                  int64_t tail_capacity) {
  CudaHeadArgs args;
  args.format = format;
  args.vocab_size = 200000;
  args.hidden = hidden;
  args.x.num_tokens = num_tokens;
  args.row_capacity = row_capacity;
  args.tail_capacity = tail_capacity;
  return args;
}

TEST(HeadPlanTest, FitsEveryDeviceForAnyBatchAndK) {
  constexpr int kLeastShared = 99 << 10;  // sm_86, the least of sm_80 to sm_90
  for (const int64_t num_tokens : {1, 4, 8, 9, 16, 17, 33, 64}) {
    for (const int64_t k : {0, 1, 32}) {
      const HeadPlan plan =
          PlanHead(Args(RowFormat::kBf16, 4096, num_tokens, 100000, 64), k, kH200);
      EXPECT_GT(plan.num_blocks, 0);
      EXPECT_LE(plan.shared_bytes, kLeastShared) << num_tokens << " " << k;
    }
  }
}

TEST(HeadPlanTest, ItemsGrowWithRowsAndBlocksFillDevice) {
  const auto plan_of = [](int64_t row_capacity) {
    return PlanHead(Args(RowFormat::kBf16, 4096, 1, row_capacity, 0), /*k=*/1, kH200);
  };
  const int64_t one_each = int64_t{kH200} * kProcessorBlocks * kTileRows;
  EXPECT_EQ(plan_of(one_each).row_tiles, 1);
  EXPECT_EQ(plan_of(one_each).num_blocks, kH200 * kProcessorBlocks);
  EXPECT_EQ(plan_of(one_each + 1).row_tiles, 2);
  EXPECT_EQ(plan_of(2 * one_each + 1).row_tiles, 4);
  EXPECT_EQ(plan_of(100 * one_each).row_tiles, 4);
  EXPECT_EQ(plan_of(1).num_blocks, 1);
}

TEST(HeadPlanTest, RejectsWeightBeyondOffsets) {
  CudaHeadArgs args = Args(RowFormat::kBf16, 131072, 1, 16, 0);
  float weight[4] = {};
  args.weight = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(weight) + 15) / 16 * 16);
  args.vocab_size = int64_t{1} << 18;
  EXPECT_STRNE(HeadArgsProblem(args), "the weight passes 64 GiB");
  ++args.vocab_size;
  EXPECT_STREQ(HeadArgsProblem(args), "the weight passes 64 GiB");
}

TEST(HeadPlanTest, BlocksAndItemsAreIndependentOfBatch) {
  for (const int64_t row_capacity : {1, 16, 500, 3072, 8192, 128256}) {
    for (const int64_t tail_capacity : {0, 200}) {
      const auto plan_of = [&](int64_t num_tokens) {
        return PlanHead(Args(RowFormat::kBf16, 4096, num_tokens, row_capacity, tail_capacity),
                        /*k=*/8, kH200);
      };
      const HeadPlan one = plan_of(1);
      for (const int64_t num_tokens : {2, 8, 16, 64}) {
        const HeadPlan plan = plan_of(num_tokens);
        EXPECT_EQ(plan.row_tiles, one.row_tiles);
        EXPECT_EQ(plan.num_blocks, one.num_blocks);
        EXPECT_EQ(plan.num_parts, one.num_parts);
      }
      EXPECT_LE(one.num_blocks, kH200 * kProcessorBlocks);
    }
  }
}

TEST(HeadItemTest, BlocksCoverEveryRowOnce) {
  std::mt19937 rng(44);
  for (int round = 0; round < 200; ++round) {
    const int64_t num_tokens = RandomInt(rng, 1, 64);
    const auto row_capacity = static_cast<int32_t>(RandomInt(rng, 0, 2000));
    const int64_t tail_capacity = RandomInt(rng, row_capacity == 0 ? 1 : 0, 150);
    const auto num_rows = static_cast<int32_t>(RandomInt(rng, 0, row_capacity));
    std::vector<int32_t> indptr = {0}, row_ids(row_capacity), tail_ids(num_tokens * tail_capacity);
    for (int64_t m = 0; m < num_tokens; ++m) {
      indptr.push_back(indptr.back() + static_cast<int32_t>(RandomInt(rng, 0, tail_capacity)));
    }
    CudaHeadArgs args = Args(RowFormat::kBf16, 64, num_tokens, row_capacity, tail_capacity);
    args.row_ids = row_ids.data();
    args.num_rows = &num_rows;
    args.tail_indptr = indptr.data();
    args.tail_ids = tail_ids.data();
    const HeadJob job = MakeHeadJob(args, 1, PlanHead(args, 1, kSmall), nullptr);
    std::vector<std::vector<int>> covered(num_tokens + 1);  // the last: shared rows
    covered[num_tokens].resize(num_rows);
    for (int64_t m = 0; m < num_tokens; ++m) covered[m].resize(indptr[m + 1] - indptr[m]);
    for (int block = 0; block < job.plan.num_blocks; ++block) {
      for (HeadItem item = NextItem(job, block); item.index < NumItems(job);
           item = NextItem(job, item.index + job.plan.num_blocks)) {
        ASSERT_LE(item.num_rows, job.plan.item_rows());
        auto& counts = covered[item.token < 0 ? num_tokens : item.token];
        const int32_t* ids = item.token < 0 ? row_ids.data() : &tail_ids[indptr[item.token]];
        for (int r = 0; r < item.num_rows; ++r) {
          ++counts[item.first + r];
          EXPECT_EQ(item.ids + r, ids + item.first + r);
        }
      }
    }
    for (const std::vector<int>& counts : covered) {
      for (const int count : counts) ASSERT_EQ(count, 1) << "seed 44 round " << round;
    }
  }
}

}  // namespace
}  // namespace shortlist
