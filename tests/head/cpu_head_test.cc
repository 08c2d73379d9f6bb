#include "head/cpu_head.h"

#include <gtest/gtest.h>

#include <bit>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tests/support/matrices.h"
#include "tests/support/normal_values.h"

namespace shortlist {
namespace {

constexpr int64_t kVocab = 211;
constexpr int64_t kHidden = 65;

/// With and without a packed copy of the base.
class CpuHeadTest : public testing::TestWithParam<bool> {};

TEST_P(CpuHeadTest, RowBitsAreIndependentOfBase) {
  ThreadPool pool(2);
  const std::vector<uint16_t> weight = Bf16Of(NormalValues(1, kVocab * kHidden));
  std::vector<float> hidden = NormalValues(2, 2 * kHidden);
  CpuHead head({weight.data(), DType::kBf16, kVocab, kHidden}, kVocab, GetParam(), pool);
  const std::vector<int32_t> tail = {50, 61};
  const std::vector<std::span<const int32_t>> tails(2, tail);
  using Ids = std::vector<TokenId>;
  for (const Ids& ids : {Ids{TokenId{1}, TokenId{2}, TokenId{7}}, Ids{TokenId{2}, TokenId{8}},
                         Ids{TokenId{200}, TokenId{1}, TokenId{2}, TokenId{4}}}) {
    auto base = VocabBase::Create(ids, kVocab);
    ASSERT_TRUE(base.ok()) << base.status();
    const ActiveVocab active(/*version=*/1, *base, /*dynamic=*/{77, 3});
    std::vector<int32_t> rows(active.rows().begin(), active.rows().end());
    rows.insert(rows.end(), tail.begin(), tail.end());

    std::vector<float> logits;
    int64_t stride = 0;
    ASSERT_TRUE(head.Logits({hidden.data(), 2}, {active, tails}, logits, stride).ok());
    for (size_t row = 0; row < rows.size(); ++row) {
      float expected[2];
      const Ids both(2, TokenId{rows[row]});
      ASSERT_TRUE(head.RowLogits({hidden.data(), 2}, both, expected).ok());
      for (int64_t m = 0; m < 2; ++m) {
        EXPECT_EQ(std::bit_cast<uint32_t>(logits[m * stride + static_cast<int64_t>(row)]),
                  std::bit_cast<uint32_t>(expected[m]))
            << "token " << m << ", row " << row;
      }
    }
  }
}

TEST(CpuHeadPackingTest, AlternatingBasesArePackedOnce) {
  ThreadPool pool(2);
  const std::vector<uint16_t> weight = Bf16Of(NormalValues(1, kVocab * kHidden));
  std::vector<float> hidden = NormalValues(2, kHidden);
  CpuHead head({weight.data(), DType::kBf16, kVocab, kHidden}, kVocab,
               /*packs_base=*/true, pool);
  std::vector<ActiveVocab> actives;
  for (int32_t id = 0; id < CpuHead::kMaxPacked + 1; ++id) {
    actives.emplace_back(/*version=*/1,
                         *VocabBase::Create(std::vector<TokenId>{TokenId{id}}, kVocab),
                         std::vector<int32_t>());
  }
  const auto best_of = [&](const ActiveVocab& active) {
    int32_t id = -1;
    float logit = 0.0f;
    EXPECT_TRUE(head.TopK({hidden.data(), 1}, {active}, /*k=*/1, {}, &id, &logit,
                          /*log_sum_exp=*/nullptr)
                    .ok());
    return id;
  };
  for (int round = 0; round < 5; ++round) {
    for (int64_t i = 0; i < CpuHead::kMaxPacked; ++i) EXPECT_EQ(best_of(actives[i]), i);
  }
  EXPECT_EQ(head.num_packings(), CpuHead::kMaxPacked);
  // One more in turn with them is read in place, until one of them is not in use any more.
  for (int round = 0; round < 20; ++round) {
    for (int64_t i = 0; i <= CpuHead::kMaxPacked; ++i) EXPECT_EQ(best_of(actives[i]), i);
  }
  EXPECT_EQ(head.num_packings(), CpuHead::kMaxPacked);
  for (int64_t i = 0; i < CpuHead::kCallsInUse; ++i) best_of(actives[1]);
  EXPECT_EQ(best_of(actives.back()), CpuHead::kMaxPacked);
  EXPECT_EQ(head.num_packings(), CpuHead::kMaxPacked + 1);
  // A destroyed base's copy is released.
  while (actives.size() > 2) actives.pop_back();
  const ActiveVocab other(1, *VocabBase::Create(std::vector<TokenId>{TokenId{9}}, kVocab), {});
  EXPECT_EQ(best_of(other), 9);
  EXPECT_LE(head.num_packed(), 3);
}

/// While the copy of a base grows call by call, every row keeps its bits.
TEST(CpuHeadPackingTest, LargeBaseIsCopiedOverManyCalls) {
  constexpr int64_t kRows = 3000, kWidth = 512;
  ThreadPool pool(2);
  const std::vector<uint16_t> weight = Bf16Of(NormalValues(1, kRows * kWidth));
  std::vector<float> hidden = NormalValues(2, kWidth);
  const HeadWeight of = {weight.data(), DType::kBf16, kRows, kWidth};
  CpuHead packs(of, kRows, /*packs_base=*/true, pool), reads(of, kRows, /*packs_base=*/false, pool);
  std::vector<TokenId> ids;
  for (int32_t id = 0; id < kRows; id += id % 7 == 0 ? 2 : 1) ids.push_back(TokenId{id});
  const ActiveVocab active(/*version=*/1, *VocabBase::Create(ids, kRows), /*dynamic=*/{});
  const int64_t bytes = std::ssize(ids) * kWidth * 2;
  ASSERT_GT(bytes, 2 * CpuHead::kPackedBytesOfCall);
  const HeadInput input = {hidden.data(), 1};
  std::vector<float> expected, logits;
  int64_t stride = 0;
  ASSERT_TRUE(reads.Logits(input, {active}, expected, stride).ok());
  for (int64_t copied = 0; copied <= bytes; copied += CpuHead::kPackedBytesOfCall) {
    ASSERT_TRUE(packs.Logits(input, {active}, logits, stride).ok());
    EXPECT_EQ(logits, expected);
  }
  EXPECT_EQ(packs.num_packings(), 1);
}

INSTANTIATE_TEST_SUITE_P(Packed, CpuHeadTest, testing::Bool());

}  // namespace
}  // namespace shortlist
