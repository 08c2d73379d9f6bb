#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "tests/device/emulated_head_kernels.h"
#include "tests/device/tensor_head.h"
#include "vocab/request_tail.h"

namespace shortlist {
namespace {

constexpr int64_t kVocab = 211;

std::vector<TokenId> Ids(const std::vector<int32_t>& raw) {
  std::vector<TokenId> ids;
  for (int32_t id : raw) ids.push_back(TokenId{id});
  return ids;
}

ActiveVocab MakeActive(const std::vector<int32_t>& base, std::vector<int32_t> dynamic) {
  auto made = base.empty() && dynamic.empty() ? VocabBase::FullHead(kVocab)
                                              : VocabBase::Create(Ids(base), kVocab);
  EXPECT_TRUE(made.ok()) << made.status();
  return ActiveVocab(1, *made, std::move(dynamic));
}

struct HeadCase {
  at::ScalarType dtype;
  bool on_device;    // the emulated one
  double tolerance;  // of a logit, against hidden states that are rounded for bf16 alone
};

class PrunedHeadTest : public testing::TestWithParam<HeadCase> {
 protected:
  PrunedHeadTest()
      : hidden_size_(GetParam().on_device ? 72 : 65),
        weight_(at::randn({kVocab, hidden_size_}).to(GetParam().dtype)),
        hidden_(at::randn({3, hidden_size_})),
        head_(*MakeHead(kVocab)) {}

  absl::StatusOr<TensorHead> MakeHead(int64_t num_rows) {
    if (!GetParam().on_device) return TensorHead::Create(weight_, num_rows, pool_);
    auto rows = DeviceRows::Over(weight_, std::make_shared<EmulatedHeadKernels>());
    EXPECT_TRUE(rows.ok()) << rows.status();
    return TensorHead::Create(*rows, num_rows);
  }

  ThreadPool pool_{2};
  const int64_t hidden_size_;
  at::Tensor weight_, hidden_;
  TensorHead head_;
  const ActiveVocab full_ = MakeActive({}, {});
};

TEST_P(PrunedHeadTest, FullHeadMatchesAten) {
  const TokenLogits rows = *head_.Logits(hidden_, {full_});
  const bool bf16 = GetParam().dtype == at::kBFloat16;
  const at::Tensor rounded = bf16 ? hidden_.to(at::kBFloat16) : hidden_;
  const at::Tensor expected = at::linear(rounded.to(at::kDouble), weight_.to(at::kDouble));
  for (int64_t m = 0; m < 3; ++m) {
    for (int64_t id = 0; id < kVocab; ++id) {
      EXPECT_NEAR(rows.of_token(m)[id], expected[m][id].item<double>(), GetParam().tolerance);
    }
  }
}

TEST_P(PrunedHeadTest, BaseDynamicAndTailRowsMatchFullHeadBits) {
  const ActiveVocab active = MakeActive({5, 9, 100, 2, 210}, {77, 3});
  RequestTail some(/*capacity=*/4), none(/*capacity=*/0);
  some.Add(Ids({50, 5, 60, 61}), active);
  const std::vector<std::span<const int32_t>> tails = {some.ids(), none.ids(), some.ids()};
  const TokenLogits full = *head_.Logits(hidden_, {full_});
  const TokenLogits rows = *head_.Logits(hidden_, {active, tails});
  for (int64_t m = 0; m < 3; ++m) {
    EXPECT_EQ(rows.ids[m].size(), m == 1 ? 7 : 10);
    for (int32_t row = 0; row < rows.ids[m].size(); ++row) {
      const TokenId id = rows.ids[m].TokenAt(DraftId{row});
      EXPECT_EQ(rows.ids[m].Find(id), DraftId{row});
      const float expected = full.of_token(m)[Raw(id)];
      EXPECT_EQ(std::bit_cast<uint32_t>(rows.of_token(m)[row]), std::bit_cast<uint32_t>(expected));
    }
    EXPECT_FALSE(rows.ids[m].Find(TokenId{11}).has_value());
  }
  for (int32_t id : {0, 5, 77, 60, 210}) {
    const std::vector<TokenId> ids = Ids({id, 11, id});
    const std::vector<float> logits = *head_.RowLogits(hidden_, ids);
    for (int64_t m = 0; m < 3; ++m) {
      EXPECT_EQ(std::bit_cast<uint32_t>(logits[m]),
                std::bit_cast<uint32_t>(full.of_token(m)[Raw(ids[m])]));
    }
  }
}

TEST_P(PrunedHeadTest, ArgmaxIsLargestLogit) {
  const ActiveVocab active = MakeActive({5, 9, 100, 2, 210}, {77, 3});
  for (const ActiveVocab* vocab : {&full_, &active}) {
    const TokenLogits rows = *head_.Logits(hidden_, {*vocab});
    const std::vector<TensorHead::Best> best = *head_.Argmax(hidden_, {*vocab});
    for (int64_t m = 0; m < 3; ++m) {
      const std::span<const float> row = rows.of_token(m);
      const auto top = std::max_element(row.begin(), row.end());
      EXPECT_EQ(best[m].logit, *top);
      EXPECT_EQ(best[m].id, rows.ids[m].TokenAt(DraftId{static_cast<int32_t>(top - row.begin())}));
    }
  }
}

TEST_P(PrunedHeadTest, ArgmaxProbabilityIsSoftmaxOverRows) {
  const ActiveVocab active = MakeActive({5, 9, 100, 2, 210}, {77, 3});
  RequestTail tail(/*capacity=*/4), none(/*capacity=*/0);
  tail.Add(Ids({50, 60, 61}), active);
  const std::vector<std::span<const int32_t>> tails = {tail.ids(), none.ids(), tail.ids()};
  for (const TensorHead::Selection& selection :
       {TensorHead::Selection{full_}, TensorHead::Selection{active, tails}}) {
    const TokenLogits rows = *head_.Logits(hidden_, selection);
    const std::vector<TensorHead::Best> plain = *head_.Argmax(hidden_, selection);
    const std::vector<TensorHead::Best> best = *head_.TopK(hidden_, selection, /*k=*/1);
    for (int64_t m = 0; m < 3; ++m) {
      EXPECT_EQ(best[m].id, plain[m].id);
      EXPECT_EQ(best[m].logit, plain[m].logit);
      double total = 0.0;
      for (float logit : rows.of_token(m)) total += std::exp(static_cast<double>(logit));
      EXPECT_NEAR(best[m].probability, std::exp(static_cast<double>(best[m].logit)) / total, 1e-5);
    }
  }
}

TEST_P(PrunedHeadTest, TopKFollowsLogitOrder) {
  const ActiveVocab active = MakeActive({5, 9, 100, 2, 210}, {77, 3});
  RequestTail tail(/*capacity=*/4), none(/*capacity=*/0);
  tail.Add(Ids({50, 60, 61}), active);
  const std::vector<std::span<const int32_t>> tails = {tail.ids(), none.ids(), tail.ids()};
  for (const TensorHead::Selection& selection :
       {TensorHead::Selection{full_}, TensorHead::Selection{active, tails}}) {
    const TokenLogits rows = *head_.Logits(hidden_, selection);
    for (const int64_t k : {1, 3, 7}) {
      const std::vector<TensorHead::Best> best = *head_.TopK(hidden_, selection, k);
      ASSERT_EQ(std::ssize(best), 3 * k);
      for (int64_t m = 0; m < 3; ++m) {
        std::vector<std::pair<float, int32_t>> order;
        double total = 0.0;
        for (int32_t s = 0; s < rows.ids[m].size(); ++s) {
          order.emplace_back(-rows.of_token(m)[s], Raw(rows.ids[m].TokenAt(DraftId{s})));
          total += std::exp(static_cast<double>(rows.of_token(m)[s]));
        }
        std::sort(order.begin(), order.end());
        for (int64_t i = 0; i < k; ++i) {
          const TensorHead::Best& found = best[m * k + i];
          EXPECT_EQ(Raw(found.id), order[i].second);
          EXPECT_EQ(found.logit, -order[i].first);
          EXPECT_NEAR(found.probability, std::exp(static_cast<double>(found.logit)) / total, 1e-5);
        }
      }
    }
  }
}

TEST_P(PrunedHeadTest, RejectsKBeyondRowsOfToken) {
  const ActiveVocab active = MakeActive({3, 50, 7}, {});
  RequestTail one(/*capacity=*/9), none(/*capacity=*/9);
  one.Add(Ids({60}), active);
  const std::vector<std::span<const int32_t>> tails = {one.ids(), none.ids(), one.ids()};
  EXPECT_TRUE(head_.TopK(hidden_, {active, tails}, 3).ok());
  EXPECT_EQ(std::string(head_.TopK(hidden_, {active, tails}, 4).status().message()),
            "k 4 passes the 3 rows of token 1");
  for (const int64_t k : {int64_t{-1}, int64_t{0}, int64_t{33}, int64_t{1} << 40}) {
    EXPECT_EQ(std::string(head_.TopK(hidden_, {full_}, k).status().message()),
              "k " + std::to_string(k) + " not in [1, 32]");
  }
  const ActiveVocab nothing(1, *VocabBase::Create({}, kVocab), {});
  EXPECT_FALSE(head_.Argmax(hidden_, {nothing}).ok());
}

TEST_P(PrunedHeadTest, FollowsReplacedBase) {
  for (const std::vector<int32_t>& base : {std::vector<int32_t>{1, 2, 3}, {3, 8}, {200, 1, 2, 4}}) {
    const ActiveVocab active = MakeActive(base, {});
    const TokenLogits full = *head_.Logits(hidden_, {full_});
    const TokenLogits rows = *head_.Logits(hidden_, {active});
    for (int32_t row = 0; row < rows.ids[0].size(); ++row) {
      EXPECT_EQ(rows.of_token(0)[row], full.of_token(0)[Raw(rows.ids[0].TokenAt(DraftId{row}))]);
    }
  }
}

TEST_P(PrunedHeadTest, PaddingRowsAreNeverScored) {
  TensorHead head = *MakeHead(/*num_rows=*/100);
  const TokenLogits rows = *head.Logits(hidden_, {full_});
  EXPECT_EQ(rows.ids[0].size(), 100);
  const std::vector<TensorHead::Best> best = *head.Argmax(hidden_, {full_});
  ASSERT_EQ(best.size(), 3u);
  for (const TensorHead::Best& row : best) EXPECT_LT(Raw(row.id), 100);
}

TEST_P(PrunedHeadTest, RejectsRowsOutsideHead) {
  EXPECT_FALSE(MakeHead(0).ok());
  EXPECT_FALSE(MakeHead(kVocab + 1).ok());
  auto larger = VocabBase::Create(Ids({1, kVocab + 5}), kVocab + 10);
  EXPECT_FALSE(head_.Logits(hidden_, {ActiveVocab(1, *larger, {})}).ok());
  auto padded = VocabBase::Create(Ids({1, kVocab - 1}), kVocab + 10);
  EXPECT_TRUE(head_.Logits(hidden_, {ActiveVocab(1, *padded, {})}).ok());
  EXPECT_FALSE(head_.Logits(hidden_, {ActiveVocab(1, *padded, {kVocab})}).ok());
  for (const int32_t id : {-1, static_cast<int32_t>(kVocab)}) {
    EXPECT_FALSE(head_.RowLogits(hidden_, Ids({0, id, 0})).ok());
  }
  RequestTail tail(/*capacity=*/2);
  tail.Add(Ids({kVocab}), ActiveVocab(1, *padded, {}));
  const std::vector<std::span<const int32_t>> tails(3, tail.ids());
  EXPECT_FALSE(head_.Logits(hidden_, {ActiveVocab(1, *padded, {}), tails}).ok());
  EXPECT_TRUE(head_.Logits(at::empty({0, hidden_size_}), {full_}).ok());
}

INSTANTIATE_TEST_SUITE_P(Cpu, PrunedHeadTest,
                         testing::Values(HeadCase{at::kFloat, false, 1e-3},
                                         HeadCase{at::kHalf, false, 1e-3},
                                         HeadCase{at::kBFloat16, false, 1e-3}));
// Hidden states are rounded to f16 where the rows are.
INSTANTIATE_TEST_SUITE_P(Device, PrunedHeadTest,
                         testing::Values(HeadCase{at::kFloat, true, 1e-3},
                                         HeadCase{at::kHalf, true, 2e-2},
                                         HeadCase{at::kBFloat16, true, 1e-3}));

}  // namespace
}  // namespace shortlist
