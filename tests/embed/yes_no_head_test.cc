#include "embed/yes_no_head.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/check.h"
#include "base/thread_pool.h"
#include "kernels/quant.h"
#include "tests/embed/embed_testing.h"

namespace shortlist {
namespace {

constexpr int64_t kVocab = 50;
constexpr int64_t kHidden = 67;

class YesNoHeadTest : public testing::Test {
 protected:
  YesNoHeadTest() {
    const uint32_t seed = std::random_device()();
    std::printf("seed %u\n", seed);
    std::mt19937 random(seed);
    weight_ = Normal(kVocab, 0.2f, random);
    hidden_ = Normal(9, 1.0f, random);
  }

  static Matrix Normal(int64_t num_rows, float scale, std::mt19937& random) {
    Matrix rows(num_rows, kHidden);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < rows.num_elements(); ++i) rows.floats()[i] = scale * normal(random);
    return rows;
  }

  absl::StatusOr<YesNoHead> Make(TokenId yes, std::optional<TokenId> no, ThreadPool& pool) {
    auto head =
        PrunedHead::Create(HeadWeight{weight_.data(), DType::kF32, kVocab, kHidden}, kVocab, pool);
    SHORTLIST_CHECK(head.ok());
    return YesNoHead::Create(*std::move(head), yes, no);
  }

  /// The logit of a token for sequence `seq`, by the book.
  double Logit(int64_t seq, int32_t token) const {
    double sum = 0.0;
    for (int64_t i = 0; i < kHidden; ++i) {
      sum += static_cast<double>(weight_.floats()[token * kHidden + i]) *
             hidden_.floats()[seq * kHidden + i];
    }
    return sum;
  }

  ThreadPool pool_{/*num_threads=*/2};
  Matrix weight_, hidden_;
};

TEST_F(YesNoHeadTest, TwoRowsGiveSoftmaxOverNoAndYes) {
  auto head = Make(TokenId{40}, TokenId{3}, pool_);
  ASSERT_TRUE(head.ok()) << head.status();
  for (const auto function :
       {ScoreFunction::kRaw, ScoreFunction::kSigmoid, ScoreFunction::kSoftmax}) {
    const auto scores = head->Score(hidden_, function);
    ASSERT_TRUE(scores.ok()) << scores.status();
    ASSERT_EQ(scores->size(), 9u);
    for (int64_t seq = 0; seq < 9; ++seq) {
      const double yes = Logit(seq, 40), no = Logit(seq, 3);
      const double want = function == ScoreFunction::kRaw
                              ? yes - no
                              : std::exp(yes) / (std::exp(yes) + std::exp(no));
      ASSERT_TRUE((*scores)[seq].ok());
      EXPECT_NEAR(*(*scores)[seq], want, 1e-5);
    }
  }
}

TEST_F(YesNoHeadTest, YesOnlyGivesItsLogit) {
  auto head = Make(TokenId{7}, std::nullopt, pool_);
  ASSERT_TRUE(head.ok()) << head.status();
  const auto raw = head->Score(hidden_, ScoreFunction::kRaw);
  const auto sigmoid = head->Score(hidden_, ScoreFunction::kSigmoid);
  ASSERT_TRUE(raw.ok() && sigmoid.ok());
  for (int64_t seq = 0; seq < 9; ++seq) {
    EXPECT_NEAR(*(*raw)[seq], Logit(seq, 7), 1e-5);
    EXPECT_NEAR(*(*sigmoid)[seq], 1.0 / (1.0 + std::exp(-Logit(seq, 7))), 1e-5);
  }
  ExpectError(head->Score(hidden_, ScoreFunction::kSoftmax).status(),
              absl::StatusCode::kInvalidArgument, {"always 1"});
}

TEST_F(YesNoHeadTest, BitsAreIndependentOfBatchAndThreads) {
  auto head = Make(TokenId{2}, TokenId{49}, pool_);
  ASSERT_TRUE(head.ok()) << head.status();
  const auto batch = head->Score(hidden_, ScoreFunction::kRaw);
  ASSERT_TRUE(batch.ok()) << batch.status();
  ThreadPool one_thread(1);
  auto other = Make(TokenId{2}, TokenId{49}, one_thread);
  for (int64_t seq = 0; seq < 9; ++seq) {
    const auto alone = other->Score(hidden_.Rows(seq, 1), ScoreFunction::kRaw);
    ASSERT_TRUE(alone.ok()) << alone.status();
    EXPECT_EQ(*(*alone)[0], *(*batch)[seq]);
  }
}

TEST_F(YesNoHeadTest, NonFiniteStateFailsItsSequenceOnly) {
  // Also for quantised rows, whose inputs are rounded to integers.
  for (const DType dtype : {DType::kF32, DType::kInt8}) {
    std::vector<char> rows(kVocab * RowBytes(dtype, kHidden));
    for (int64_t row = 0; row < kVocab; ++row) {
      const float* const values = weight_.floats() + row * kHidden;
      char* const target = rows.data() + row * RowBytes(dtype, kHidden);
      if (dtype == DType::kInt8) {
        QuantizeHeadRow(values, dtype, kHidden, target);
      } else {
        std::memcpy(target, values, kHidden * sizeof(float));
      }
    }
    auto lm_head =
        PrunedHead::Create(HeadWeight{rows.data(), dtype, kVocab, kHidden}, kVocab, pool_);
    ASSERT_TRUE(lm_head.ok()) << lm_head.status();
    auto head = YesNoHead::Create(*std::move(lm_head), TokenId{1}, TokenId{2});
    ASSERT_TRUE(head.ok()) << head.status();
    const auto want = head->Score(hidden_, ScoreFunction::kSigmoid);
    ASSERT_TRUE(want.ok()) << want.status();
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      Matrix hidden(hidden_.rows(), kHidden);
      std::copy_n(hidden_.floats(), hidden.num_elements(), hidden.floats());
      hidden.floats()[4 * kHidden + 66] = bad;
      const auto scores = head->Score(hidden, ScoreFunction::kSigmoid);
      ASSERT_TRUE(scores.ok()) << scores.status();
      for (int64_t seq = 0; seq < 9; ++seq) {
        if (seq != 4) {
          EXPECT_EQ(*(*scores)[seq], *(*want)[seq]);
        }
      }
      ExpectError((*scores)[4].status(), absl::StatusCode::kInternal, {"sequence 4"});
    }
  }
}

TEST_F(YesNoHeadTest, WrongTokensAreRejected) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  ExpectError(Make(TokenId{kVocab}, TokenId{1}, pool_).status(), kInvalid, {"50"});
  ExpectError(Make(TokenId{1}, TokenId{-1}, pool_).status(), kInvalid, {"-1"});
  ExpectError(Make(TokenId{1}, TokenId{1}, pool_).status(), kInvalid, {"1"});
  auto head = Make(TokenId{1}, TokenId{2}, pool_);
  ASSERT_TRUE(head.ok()) << head.status();
  const auto none = head->Score(Matrix(0, kHidden), ScoreFunction::kRaw);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_TRUE(none->empty());
}

}  // namespace
}  // namespace shortlist
