#include "sketch/sketch_fitter.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/sketch/best_rows.h"
#include "tests/support/matrices.h"
#include "tests/support/normal_values.h"

namespace shortlist {
namespace {

constexpr int64_t kHidden = 64, kVocab = 2000, kDims = 8;

/// States that are almost in the first kDims dimensions.
Matrix States(unsigned seed, int64_t count) {
  std::vector<float> values = NormalValues(seed, count * kHidden);
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    if (i % kHidden >= kDims) values[i] *= 0.02f;
  }
  return MatrixOf(values, kHidden);
}

class SketchFitterTest : public testing::Test {
 protected:
  HeadWeight head() const { return {rows_.data(), DType::kF32, kVocab, kHidden}; }

  SketchFitter::Keep Keep() {
    return {.basis =
                [this](const SketchBasis& basis) {
                  const std::lock_guard lock(mutex_);
                  fitted_.push_back(basis.num_states);
                  return kept_;
                },
            .moments =
                [this](const StateMoments& moments) {
                  const std::lock_guard lock(mutex_);
                  moments_ = moments;
                  return absl::OkStatus();
                }};
  }
  std::unique_ptr<SketchFitter> NewFitter(SketchFitter::Known known = {}) {
    return std::make_unique<SketchFitter>(head(), kVocab, std::move(known), Keep());
  }

  /// Waits up to a minute.
  static std::shared_ptr<const Sketch> Await(SketchFitter& fitter) {
    for (int i = 0; i < 60'000; ++i) {
      if (auto sketch = fitter.TakeNext()) return sketch;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return nullptr;
  }

  /// Of `states`, those whose best row is among the 32 that the sketch chooses.
  int64_t NumHits(std::shared_ptr<const Sketch> sketch, const Matrix& states) {
    ThreadPool pool(1);
    SketchChooser chooser(std::move(sketch), /*num_ranked=*/32, pool);
    EXPECT_TRUE(chooser.Choose(states.floats(), states.rows(), {}).ok());
    const std::vector<int32_t> best = BestRows(states, rows_);
    int64_t num_hits = 0;
    for (int64_t m = 0; m < states.rows(); ++m) {
      num_hits += std::ranges::binary_search(chooser.of_token(m), best[m]) ? 1 : 0;
    }
    return num_hits;
  }

  const std::vector<float> rows_ = NormalValues(1, kVocab* kHidden);
  absl::Status kept_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<int64_t> fitted_;  // their states
  StateMoments moments_;         // kept last
};

TEST_F(SketchFitterTest, FitsEarlyAndAgainWithMoreStates) {
  const auto fitter = NewFitter();
  EXPECT_EQ(fitter->TakeNext(), nullptr);
  for (unsigned i = 0; i < 127; ++i) fitter->Add(States(100 + i, 1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(fitter->TakeNext(), nullptr);  // too few
  fitter->Add(States(2, 1));
  const auto first = Await(*fitter);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->num_states(), 128);
  EXPECT_GE(NumHits(first, States(3, 200)), 190);
  for (unsigned i = 0; i < 4; ++i) fitter->Add(States(10 + i, 128));
  const auto second = Await(*fitter);
  ASSERT_NE(second, nullptr);
  EXPECT_GE(second->num_states(), 512);
  EXPECT_GE(NumHits(second, States(3, 200)), 190);
  EXPECT_FALSE(fitter->done());
  EXPECT_TRUE(fitter->error().ok());
}

TEST_F(SketchFitterTest, FitsOnlyWithMoreStatesThanKnown) {
  StateMoments known;
  ASSERT_TRUE(known.Add(States(1, 300)).ok());
  const auto fitter = NewFitter({.num_fitted = 128, .moments = known});
  fitter->Add(States(2, 212));
  const auto sketch = Await(*fitter);
  ASSERT_NE(sketch, nullptr);
  EXPECT_EQ(sketch->num_states(), 512);
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(fitted_, std::vector<int64_t>{512});
}

TEST_F(SketchFitterTest, ManyKnownStatesMakeOneSketch) {
  StateMoments known;
  ASSERT_TRUE(known.Add(States(1, 3000)).ok());
  const auto fitter = NewFitter({.moments = known});
  ASSERT_NE(Await(*fitter), nullptr);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(fitted_, std::vector<int64_t>{3000});
}

TEST_F(SketchFitterTest, ShortRunsLearnTogether) {
  StateMoments all;
  for (unsigned run = 0; run < 3; ++run) {
    ASSERT_TRUE(all.Add(States(run, 50)).ok());
    const auto fitter = NewFitter({.moments = moments_});
    fitter->Add(States(run, 50));
    if (run < 2) continue;
    ASSERT_NE(Await(*fitter), nullptr);  // 150 states by now
  }
  EXPECT_EQ(fitted_, std::vector<int64_t>{150});
  EXPECT_EQ(moments_.num_states(), 150);
  const Matrix mean = moments_.Mean(), expected = all.Mean();
  for (int64_t i = 0; i < expected.num_elements(); ++i) {
    EXPECT_NEAR(mean.floats()[i], expected.floats()[i], 1e-5);
  }
}

TEST_F(SketchFitterTest, EnoughFittedStatesEndLearning) {
  const auto fitter = NewFitter({.num_fitted = 16384});
  EXPECT_TRUE(fitter->done());
  fitter->Add(States(2, 1000));
  EXPECT_EQ(fitter->TakeNext(), nullptr);
}

TEST_F(SketchFitterTest, NonFiniteStatesAreIgnored) {
  const auto fitter = NewFitter();
  const Matrix states = States(2, 200);
  std::fill_n(states.floats(), 100 * kHidden, std::numeric_limits<float>::quiet_NaN());
  fitter->Add(states);
  fitter->Add(States(3, 200));
  const auto sketch = Await(*fitter);
  ASSERT_NE(sketch, nullptr);
  EXPECT_EQ(sketch->num_states(), 300);
}

TEST_F(SketchFitterTest, ReportsFailedSave) {
  kept_ = absl::UnavailableError("disk full");
  const auto fitter = NewFitter();
  fitter->Add(States(2, 128));
  ASSERT_NE(Await(*fitter), nullptr);
  for (int i = 0; i < 60'000 && fitter->error().ok(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(fitter->error().message(), "disk full");
  EXPECT_FALSE(fitter->done());
}

TEST_F(SketchFitterTest, UnsupportedHeadEndsFitting) {
  const std::vector<float> zeros(kVocab * kHidden);
  SketchFitter fitter({zeros.data(), DType::kF32, kVocab, kHidden}, kVocab, {}, Keep());
  fitter.Add(States(2, 128));
  for (int i = 0; i < 60'000 && !fitter.done(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(fitter.error())) << fitter.error();
  fitter.Add(States(3, 5000));  // no call waits for them
}

TEST_F(SketchFitterTest, CanEndAtAnyTime) {
  for (int wait_ms = 0; wait_ms < 20; ++wait_ms) {
    const auto fitter = NewFitter();
    fitter->Add(States(2, 600));
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
  }
}

}  // namespace
}  // namespace shortlist
