#include "sketch/sketch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/quant.h"
#include "sketch/sketch_basis.h"
#include "tests/sketch/best_rows.h"
#include "tests/support/matrices.h"
#include "tests/support/normal_values.h"

namespace shortlist {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kHidden = 48, kVocab = 3000;

class SketchTest : public testing::Test {
 protected:
  SketchTest() : rows_(NormalValues(1, kVocab * kHidden)) {}

  HeadWeight head() const { return {rows_.data(), DType::kF32, kVocab, kHidden}; }

  /// States that are almost in the first `num_dims` dimensions.
  Matrix States(unsigned seed, int64_t count, int64_t num_dims) const {
    std::vector<float> values = NormalValues(seed, count * kHidden);
    for (int64_t i = 0; i < std::ssize(values); ++i) {
      if (i % kHidden >= num_dims) values[i] *= 0.05f;
    }
    return MatrixOf(values, kHidden);
  }

  SketchBasis Fit(int64_t rank, const StateMoments* moments) {
    auto basis = SketchBasis::Fit(head(), kVocab, rank, moments, pool_);
    EXPECT_TRUE(basis.ok()) << basis.status();
    return *std::move(basis);
  }

  std::shared_ptr<const Sketch> Make(const SketchBasis& basis) {
    auto sketch = Sketch::Create(basis, head(), kVocab, pool_);
    EXPECT_TRUE(sketch.ok()) << sketch.status();
    return *std::move(sketch);
  }

  /// Returns the number of states whose row with the largest exact logit is chosen.
  int64_t NumHits(const SketchBasis& basis, const Matrix& states, int64_t num_chosen) {
    SketchChooser chooser(Make(basis), num_chosen, pool_);
    EXPECT_TRUE(chooser.Choose(states.floats(), states.rows(), {}).ok());
    const std::vector<int32_t> best = BestRows(states, rows_);
    int64_t num_hits = 0;
    for (int64_t m = 0; m < states.rows(); ++m) {
      const auto chosen = chooser.of_token(m);
      EXPECT_EQ(std::ssize(chosen), num_chosen);
      num_hits += std::ranges::binary_search(chosen, best[m]);
    }
    return num_hits;
  }

  ThreadPool pool_{2};
  std::vector<float> rows_;
};

TEST_F(SketchTest, FullRankLosesOnlyRounding) {
  EXPECT_GE(NumHits(Fit(kHidden, /*moments=*/nullptr), States(2, 200, kHidden), /*num_chosen=*/8),
            198);
}

/// Rows of 256 numbers, states mostly in the first 40 dimensions. The first dimensions for all rows
/// and the others for an eighth of the rows rank almost as well as all dimensions for all rows.
TEST(WideSketchTest, SecondStepRanksCandidatesOfFirst) {
  constexpr int64_t kWide = 256, kRows = 4000, kStates = 300;
  ThreadPool pool(2);
  std::vector<float> values = NormalValues(11, kRows * kWide);
  const HeadWeight head{values.data(), DType::kF32, kRows, kWide};
  std::vector<float> state_values = NormalValues(12, kStates * kWide);
  for (int64_t i = 0; i < std::ssize(state_values); ++i) {
    state_values[i] *= std::pow(0.94f, static_cast<float>(i % kWide));
  }
  const Matrix states = MatrixOf(state_values, kWide);
  StateMoments moments;
  ASSERT_TRUE(moments.Add(states).ok());
  const auto basis = SketchBasis::Fit(head, kRows, /*rank=*/160, &moments, pool);
  ASSERT_TRUE(basis.ok()) << basis.status();
  const auto sketch = Sketch::Create(*basis, head, kRows, pool);
  ASSERT_TRUE(sketch.ok()) << sketch.status();
  EXPECT_TRUE((*sketch)->has_fine());
  EXPECT_EQ((*sketch)->rows().rank, 32);
  EXPECT_EQ((*sketch)->NumCandidates(16), kRows / 8);
  EXPECT_EQ((*sketch)->NumCandidates(1000), 1000);
  EXPECT_LT((*sketch)->bytes(), Sketch::Bytes(kRows, /*rank=*/128, kWide));

  SketchChooser chooser(*sketch, /*num_ranked=*/16, pool);
  ASSERT_TRUE(chooser.Choose(states.floats(), kStates, {}).ok());
  const std::vector<int32_t> best = BestRows(states, values);
  int num_hits = 0;
  for (int64_t m = 0; m < kStates; ++m) {
    num_hits += std::ranges::binary_search(chooser.of_token(m), best[m]);
  }
  EXPECT_GE(num_hits, 297);
}

TEST_F(SketchTest, StateMomentsSelectDimensions) {
  StateMoments moments;
  ASSERT_TRUE(moments.Add(States(3, 400, /*num_dims=*/8)).ok());
  ASSERT_TRUE(moments.Add(States(4, 100, /*num_dims=*/8)).ok());
  EXPECT_EQ(moments.num_states(), 500);
  const Matrix states = States(5, 200, /*num_dims=*/8);
  const int64_t fitted = NumHits(Fit(/*rank=*/8, &moments), states, /*num_chosen=*/16);
  const int64_t blind = NumHits(Fit(/*rank=*/8, /*moments=*/nullptr), states, /*num_chosen=*/16);
  EXPECT_GT(fitted, 180);
  EXPECT_LT(blind, 100);
}

TEST_F(SketchTest, CommonComponentTakesNoDimension) {
  for (int64_t i = 0; i < std::ssize(rows_); ++i) rows_[i] += i % kHidden == 0 ? 100.0f : 0.0f;
  EXPECT_GE(NumHits(Fit(kHidden, /*moments=*/nullptr), States(2, 200, kHidden), /*num_chosen=*/8),
            198);
}

TEST_F(SketchTest, NonFiniteStatesAreIgnored) {
  StateMoments moments;
  const Matrix states = States(3, 10, kHidden);
  states.floats()[5] = std::numeric_limits<float>::quiet_NaN();
  states.floats()[kHidden] = std::numeric_limits<float>::infinity();
  ASSERT_TRUE(moments.Add(states).ok());
  EXPECT_EQ(moments.num_states(), 8);
  const Matrix mean = moments.Mean();
  for (const float value : Values(mean)) EXPECT_TRUE(std::isfinite(value));
}

TEST_F(SketchTest, ChoiceIsIndependentOfBatch) {
  const Matrix states = States(2, 9, kHidden);
  SketchChooser together(Make(Fit(/*rank=*/16, nullptr)), /*num_chosen=*/50, pool_);
  SketchChooser alone(Make(Fit(/*rank=*/16, nullptr)), /*num_chosen=*/50, pool_);
  std::vector<SketchRace> races(9);
  races[4] = {.inverse_temperature = 1.0f, .seed = 3, .position = 8};
  ASSERT_TRUE(together.Choose(states.floats(), 9, races).ok());
  for (int64_t m = 0; m < 9; ++m) {
    const auto race = std::span(races).subspan(m, 1);
    ASSERT_TRUE(alone.Choose(states.floats() + m * kHidden, 1, race).ok());
    EXPECT_TRUE(std::ranges::equal(together.of_token(m), alone.of_token(0))) << m;
  }
}

TEST_F(SketchTest, ChoosesAllRowsIfFewerThanRequested) {
  SketchChooser chooser(Make(Fit(/*rank=*/8, nullptr)), /*num_chosen=*/kVocab + 1, pool_);
  EXPECT_EQ(chooser.num_chosen(), kVocab);
  const Matrix states = States(2, 1, kHidden);
  ASSERT_TRUE(chooser.Choose(states.floats(), 1, {}).ok());
  EXPECT_EQ(std::ssize(chooser.of_token(0)), kVocab);
}

TEST_F(SketchTest, RankedPrefixEqualsSmallerChoice) {
  const Matrix states = States(2, 3, kHidden);
  SketchChooser ranked(Make(Fit(/*rank=*/16, nullptr)), /*num_ranked=*/200, pool_);
  const std::vector<SketchRace> races = {{}, {.inverse_temperature = 1.0f, .seed = 3}, {}};
  for (const int64_t num_chosen : {1, 30, 199, 200}) {
    SketchChooser few(Make(Fit(/*rank=*/16, nullptr)), num_chosen, pool_);
    ranked.set_num_chosen(num_chosen);
    EXPECT_EQ(ranked.num_chosen(), num_chosen);
    ASSERT_TRUE(ranked.Choose(states.floats(), 3, races).ok());
    ASSERT_TRUE(few.Choose(states.floats(), 3, races).ok());
    for (int64_t m = 0; m < 3; ++m) {
      EXPECT_TRUE(std::ranges::equal(ranked.of_token(m), few.of_token(m))) << num_chosen;
    }
  }
  ranked.set_num_chosen(0);
  EXPECT_EQ(ranked.num_chosen(), 1);
  ranked.set_num_chosen(kVocab);
  EXPECT_EQ(ranked.num_chosen(), 200);
}

TEST_F(SketchTest, FitsSameHeadInEveryTypeOnly) {
  const SketchBasis basis = Fit(/*rank=*/16, nullptr);
  for (const DType dtype : {DType::kInt8, DType::kInt4}) {
    const QuantizedRows rows =
        QuantizedRows::Quantize(rows_.data(), DType::kF32, kVocab, kHidden, dtype, pool_);
    const auto sketch = Sketch::Create(basis, {rows.data(), dtype, kVocab, kHidden}, kVocab, pool_);
    EXPECT_TRUE(sketch.ok()) << DTypeName(dtype) << ": " << sketch.status();
  }
  const auto refusal = [&](const HeadWeight& head, int64_t num_rows) {
    const auto sketch = Sketch::Create(basis, head, num_rows, pool_);
    EXPECT_TRUE(absl::IsInvalidArgument(sketch.status())) << sketch.status();
    return std::string(sketch.status().message());
  };
  const std::vector<float> other = NormalValues(9, kVocab * kHidden);
  EXPECT_THAT(refusal({other.data(), DType::kF32, kVocab, kHidden}, kVocab),
              HasSubstr("another head: its rows are off by 1."));
  EXPECT_THAT(refusal({rows_.data(), DType::kF32, 2 * kVocab, kHidden / 2}, kVocab),
              HasSubstr("of hidden states of 48, not 24"));
  EXPECT_THAT(refusal({rows_.data(), DType::kF32, kVocab, kHidden}, /*num_rows=*/1000),
              HasSubstr("this one 1000"));
  std::vector<float> spoilt = rows_;
  spoilt[17 * kHidden] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(refusal({spoilt.data(), DType::kF32, kVocab, kHidden}, kVocab),
              HasSubstr("row 17 of the head comes to"));
}

TEST_F(SketchTest, RejectsInvalidBasis) {
  const auto refusal = [&](const HeadWeight& of, int64_t rank, const StateMoments* moments) {
    const auto basis = SketchBasis::Fit(of, kVocab, rank, moments, pool_);
    EXPECT_TRUE(absl::IsInvalidArgument(basis.status())) << basis.status();
    return std::string(basis.status().message());
  };
  for (const int64_t rank : {int64_t{-8}, int64_t{0}, int64_t{12}, kHidden + 8}) {
    EXPECT_THAT(refusal(head(), rank, nullptr),
                HasSubstr("rank " + std::to_string(rank) + " is not a multiple of 8 in [8, 48]"));
  }
  StateMoments moments;
  EXPECT_THAT(refusal(head(), /*rank=*/8, &moments), HasSubstr("no hidden state"));
  ASSERT_TRUE(moments.Add(Filled(3, kHidden + 1, 1.0f)).ok());
  EXPECT_THAT(refusal(head(), /*rank=*/8, &moments), HasSubstr("of 49 for a head of 48"));
  StateMoments huge;
  ASSERT_TRUE(huge.Add(Filled(3, kHidden, 1e20f)).ok());
  EXPECT_THAT(refusal(head(), /*rank=*/8, &huge), HasSubstr("are not finite"));
  const std::vector<float> zeros(kVocab * kHidden);
  EXPECT_THAT(refusal({zeros.data(), DType::kF32, kVocab, kHidden}, /*rank=*/8, nullptr),
              HasSubstr("no principal components"));
  rows_[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refusal(head(), /*rank=*/8, nullptr), HasSubstr("nan"));
}

}  // namespace
}  // namespace shortlist
