// A call of any number of tokens, cut into launches as the PyTorch operator cuts it, on the
// emulator.

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/head_call.h"
#include "tests/kernels/cuda_emulated_machine.h"
#include "tests/kernels/cuda_head_fixture.h"

namespace shortlist {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr int64_t kVocab = 220, kHidden = 80, kTopK = 5;

template <typename T>
std::vector<uint32_t> Bits(const std::vector<T>& values) {
  std::vector<uint32_t> bits;
  for (const T value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

template <typename T>
std::vector<T> Slice(const std::vector<T>& values, int64_t first, int64_t count) {
  return {values.begin() + first, values.begin() + first + count};
}

/// A head and a call's tokens and lists, which tests spoil.
struct Problem {
  Problem(uint32_t seed, RowFormat format, int64_t tokens)
      : rng(seed), rows(machine, rng, format, kVocab, kHidden), num_tokens(tokens) {
    x = RandomFloats(rng, num_tokens * kHidden);
    std::vector<int32_t> ids(kVocab);
    std::iota(ids.begin(), ids.end(), 0);
    std::shuffle(ids.begin(), ids.end(), rng);
    row_ids = Slice(ids, 0, 100);
    tail_indptr = {0};
    for (int64_t m = 0; m < num_tokens; ++m) {
      const int64_t len = RandomInt(rng, 0, 6);
      const auto from = ids.begin() + 100 + RandomInt(rng, 0, kVocab - 100 - len);
      tail_ids.insert(tail_ids.end(), from, from + len);
      tail_indptr.push_back(static_cast<int32_t>(tail_ids.size()));
    }
  }

  struct Result {
    std::vector<float> logits;  // [num_tokens, stride]
    int64_t stride;
    std::vector<int32_t> ids;  // [num_tokens, kTopK]
    std::vector<float> top_logits, log_sum_exp;
    int32_t error;
  };

  /// Returns the result for tokens first .. first + count - 1.
  Result Run(int64_t first, int64_t count, int64_t max_tail = 6) {
    const RowLayout layout = rows.layout;
    const MachineArray<float> plain(machine, Slice(x, first * kHidden, count * kHidden));
    const MachineArray<uint8_t> codes(machine, count * layout.x_code_bytes);
    const MachineArray<float> scales(machine, count * layout.x_scale_bytes / 4);
    const MachineArray<float> factors(machine, count);
    const MachineArray<int32_t> row_list(machine, row_ids), tails(machine, tail_ids);
    const MachineArray<int32_t> indptr(machine, Slice(tail_indptr, first, count + 1));
    const MachineArray<int32_t> error(machine, std::vector<int32_t>{0});

    CudaHeadArgs call;
    call.weight = rows.bytes.data();
    call.row_factors = rows.factors.data();
    call.format = rows.format;
    call.vocab_size = kVocab;
    call.hidden = kHidden;
    call.x = {codes.data(), scales.data(), factors.data(), count};
    call.error = error.data();
    HeadLists lists{.row_ids = row_list.data(),
                    .num_rows = static_cast<int64_t>(row_ids.size()),
                    .tail_indptr = indptr.data(),
                    .tail_ids = tails.data(),
                    .num_tail_ids = static_cast<int64_t>(tail_ids.size())};
    SetHeadLists(lists, call);
    CudaHeadArgs bounded = call;
    lists.max_tail = max_tail;
    SetHeadLists(lists, bounded);

    const int64_t stride = static_cast<int64_t>(row_ids.size()) + max_tail;
    const MachineArray<float> logits(machine, count * stride);
    const MachineArray<int32_t> ids(machine, count * kTopK);
    const MachineArray<float> top(machine, count * kTopK), sums(machine, count);
    for (int64_t at = 0; at < count; at += kHeadMaxTokens) {
      const CudaHeadArgs launch = HeadLaunch(call, at);
      EXPECT_TRUE(
          machine.PrepareStates(rows.format, kHidden, plain.data() + at * kHidden, launch.x));
      EXPECT_TRUE(machine.HeadLogits(HeadLaunch(bounded, at), logits.data() + at * stride, stride));
      EXPECT_TRUE(machine.HeadTopK(
          launch, kTopK, {}, HeadLaunchOutputs({ids.data(), top.data(), sums.data()}, kTopK, at)));
    }
    return {logits.Get(), stride, ids.Get(), top.Get(), sums.Get(), error.Get()[0]};
  }

  std::vector<int32_t> IdsOf(int64_t token) const {
    std::vector<int32_t> ids = row_ids;
    ids.insert(ids.end(), tail_ids.begin() + tail_indptr[token],
               tail_ids.begin() + tail_indptr[token + 1]);
    return ids;
  }

  EmulatedMachine machine{/*num_processors=*/3};
  std::mt19937 rng;
  CudaRows rows;
  int64_t num_tokens;
  std::vector<float> x;
  std::vector<int32_t> row_ids, tail_indptr, tail_ids;
};

class CudaHeadCallTest : public testing::TestWithParam<RowFormat> {};

TEST_P(CudaHeadCallTest, EveryTokenMatchesOracleInEveryLaunch) {
  Problem problem(/*seed=*/71, GetParam(), /*tokens=*/150);
  const Problem::Result result = problem.Run(0, 150);
  EXPECT_EQ(result.error, 0);
  for (int64_t m = 0; m < 150; ++m) {
    const std::vector<int32_t> ids = problem.IdsOf(m);
    const std::vector<double> state = RoundedState(&problem.x[m * kHidden], kHidden, GetParam());
    std::map<int32_t, float> logit_of;
    for (size_t s = 0; s < ids.size(); ++s) {
      const ExactDot dot = HeadOracle(state, &problem.rows.values[ids[s] * kHidden]);
      const float logit = result.logits[m * result.stride + s];
      ASSERT_NEAR(logit, dot.value, dot.tolerance) << "token " << m << " row " << s;
      logit_of[ids[s]] = logit;
    }
    for (auto s = static_cast<int64_t>(ids.size()); s < result.stride; ++s) {
      ASSERT_EQ(result.logits[m * result.stride + s], -kInf) << "token " << m << " row " << s;
    }
    std::vector<std::tuple<float, int32_t>> best;
    for (const auto& [id, logit] : logit_of) best.emplace_back(-logit, id);
    std::sort(best.begin(), best.end());
    for (int64_t i = 0; i < kTopK; ++i) {
      ASSERT_EQ(result.ids[m * kTopK + i], std::get<1>(best[i])) << "token " << m;
      ASSERT_EQ(result.top_logits[m * kTopK + i], -std::get<0>(best[i])) << "token " << m;
    }
  }
}

TEST_P(CudaHeadCallTest, TokenBitsAreIndependentOfLaunch) {
  Problem problem(/*seed=*/72, GetParam(), /*tokens=*/130);
  const Problem::Result all = problem.Run(0, 130);
  for (const int64_t m : {0, 63, 64, 65, 127, 128, 129}) {
    const Problem::Result alone = problem.Run(m, 1);
    EXPECT_EQ(Bits(alone.logits), Bits(Slice(all.logits, m * all.stride, all.stride)));
    EXPECT_EQ(alone.ids, Slice(all.ids, m * kTopK, kTopK));
    EXPECT_EQ(Bits(alone.top_logits), Bits(Slice(all.top_logits, m * kTopK, kTopK)));
    EXPECT_EQ(Bits(alone.log_sum_exp), Bits(Slice(all.log_sum_exp, m, 1)));
  }
}

TEST_P(CudaHeadCallTest, UncheckedListsAreFlaggedAndReadInBounds) {
  Problem problem(/*seed=*/73, GetParam(), /*tokens=*/70);
  const Problem::Result good = problem.Run(0, 70);
  const auto length = static_cast<int32_t>(problem.tail_ids.size());
  // Beyond the array; the first lies within the size of 70 longest tails.
  for (const int32_t end : {length + 1, std::numeric_limits<int32_t>::max(), -1}) {
    problem.tail_indptr[70] = end;
    const Problem::Result result = problem.Run(0, 70);
    EXPECT_EQ(result.error, kHeadTailError) << end;
    const int64_t kept = 69 * result.stride + 100;
    EXPECT_EQ(Bits(Slice(result.logits, 0, kept)), Bits(Slice(good.logits, 0, kept)));
    for (int64_t s = kept; s < 70 * result.stride; ++s) EXPECT_EQ(result.logits[s], -kInf);
  }
  problem.tail_indptr[70] = length;
  for (const int32_t id : {-1, static_cast<int32_t>(kVocab), std::numeric_limits<int32_t>::min()}) {
    problem.row_ids[3] = id;
    const Problem::Result result = problem.Run(0, 70);
    EXPECT_EQ(result.error, kHeadRowIdError);
    for (int64_t m = 0; m < 70; ++m) {
      EXPECT_EQ(result.logits[m * result.stride + 3], -kInf);
      for (int64_t i = 0; i < kTopK; ++i) EXPECT_NE(result.ids[m * kTopK + i], id);
    }
  }
}

TEST_P(CudaHeadCallTest, OversizedTailIsIgnored) {
  Problem problem(/*seed=*/74, GetParam(), /*tokens=*/2);
  problem.tail_ids = problem.IdsOf(0);  // some ids
  problem.tail_ids.resize(4);
  problem.tail_indptr = {0, 3, 4};
  const Problem::Result result = problem.Run(0, 2, /*max_tail=*/2);
  EXPECT_EQ(result.error, kHeadTailError);
  EXPECT_EQ(result.logits[100], -kInf);
  EXPECT_GT(result.logits[result.stride + 100], -kInf);
}

TEST_P(CudaHeadCallTest, FewerRowsThanKLeaveEmptyResults) {
  Problem problem(/*seed=*/75, GetParam(), /*tokens=*/66);
  problem.row_ids.resize(2);
  problem.tail_indptr.assign(67, 0);
  problem.tail_ids.clear();
  const Problem::Result result = problem.Run(0, 66);
  EXPECT_EQ(result.error, 0);
  for (int64_t m = 0; m < 66; ++m) {
    EXPECT_GE(result.ids[m * kTopK + 1], 0);
    for (int64_t i = 2; i < kTopK; ++i) {
      EXPECT_EQ(result.ids[m * kTopK + i], -1);
      EXPECT_EQ(result.top_logits[m * kTopK + i], -kInf);
    }
  }
}

TEST_P(CudaHeadCallTest, NanStateChoosesNothing) {
  Problem problem(/*seed=*/76, GetParam(), /*tokens=*/3);
  problem.x[kHidden] = std::numeric_limits<float>::quiet_NaN();
  const Problem::Result result = problem.Run(0, 3);
  EXPECT_EQ(result.error, 0);
  for (int64_t i = 0; i < kTopK; ++i) {
    EXPECT_GE(result.ids[i], 0);
    EXPECT_EQ(result.ids[kTopK + i], -1);
    EXPECT_EQ(result.top_logits[kTopK + i], -kInf);
    EXPECT_GE(result.ids[2 * kTopK + i], 0);
  }
  EXPECT_EQ(result.log_sum_exp[1], -kInf);
}

INSTANTIATE_TEST_SUITE_P(Formats, CudaHeadCallTest,
                         testing::Values(RowFormat::kBf16, RowFormat::kF16, RowFormat::kF32),
                         [](const auto& info) { return RowFormatName(info.param); });

}  // namespace
}  // namespace shortlist
