#ifndef SHORTLIST_TESTS_DEVICE_HEAD_DRAWS_FIXTURE_H_
#define SHORTLIST_TESTS_DEVICE_HEAD_DRAWS_FIXTURE_H_

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/sampling.h"
#include "tests/device/emulated_head_kernels.h"
#include "tests/device/rows_of_weight.h"
#include "tests/device/tensor_head.h"
#include "vocab/request_tail.h"

namespace shortlist {

struct DrawCase {
  DType dtype;
  bool on_device;  // the emulated one
};

inline std::string NameOf(const DrawCase& c) {
  return std::string(c.on_device ? "Device" : "Cpu") + DTypeName(c.dtype);
}
inline void PrintTo(const DrawCase& c, std::ostream* out) { *out << NameOf(c); }

/// Inputs of the race of one token.
struct Racers {
  std::span<const float> logits;
  std::vector<int32_t> ids;
  HeadDraw draw;
  uint32_t stream;

  /// The logarithm of the arrival time, in double.
  double TimeOf(int64_t row) const {
    const double noise = UniformNoise(draw.seed, draw.position, stream, ids[row]);
    return std::log(-std::log1p(-noise)) - logits[row] / draw.temperature;
  }
  /// True if the arrival times of `id` and the row `expected` differ only by rounding.
  bool NearlyTie(int32_t id, int64_t expected) const {
    const auto found = std::find(ids.begin(), ids.end(), id);
    if (found == ids.end()) return false;
    const int64_t row = found - ids.begin();
    const double scale = 1.0 + std::abs(logits[expected] / draw.temperature);
    return std::abs(TimeOf(row) - TimeOf(expected)) < 2e-6 * scale;
  }
};

/// A head of random rows, hidden states and rows to score. Prints its seed where a test fails.
class HeadDrawsTest : public testing::TestWithParam<DrawCase> {
 protected:
  static constexpr int64_t kVocab = 150, kHidden = 64;
  static constexpr int64_t kTokens = 70;  // more than a call on a device takes

  HeadDrawsTest()
      : weight_(RandomMatrix(rng_, kVocab, kHidden, 1.0f)),
        hidden_(RandomMatrix(rng_, kTokens, kHidden, 0.3f)),
        head_(MakeHead(weight_, GetParam())) {
    for (int64_t m = 0; m < kTokens; ++m) {
      own_.emplace_back(/*capacity=*/static_cast<int64_t>(rng_() % 4));
      own_.back().Add(Ids({50, 60, static_cast<int32_t>(61 + rng_() % 9)}), active_);
    }
    for (const RequestTail& tail : own_) tails_.push_back(tail.ids());
  }

  static std::vector<TokenId> Ids(const std::vector<int32_t>& raw) {
    std::vector<TokenId> ids;
    for (int32_t id : raw) ids.push_back(TokenId{id});
    return ids;
  }

  static at::Tensor RandomMatrix(std::mt19937_64& rng, int64_t rows, int64_t columns,
                                 float spread) {
    std::normal_distribution<float> normal(0.0f, spread);
    at::Tensor matrix = at::empty({rows, columns}, at::kFloat);
    for (int64_t i = 0; i < rows * columns; ++i) matrix.data_ptr<float>()[i] = normal(rng);
    return matrix;
  }

  TensorHead MakeHead(const at::Tensor& weight, const DrawCase& c) {
    rows_.push_back(RowsOfWeight(weight, c.dtype, weight.size(1)));
    const HeadWeight rows = {rows_.back().data(), c.dtype, weight.size(0), weight.size(1)};
    if (!c.on_device) return *TensorHead::Create(rows, rows.vocab_size, pool_);
    auto copied = DeviceRows::Copy(rows, kernels_);
    EXPECT_TRUE(copied.ok()) << copied.status();
    return *TensorHead::Create(*copied, rows.vocab_size);
  }

  std::vector<HeadDraw> RandomDraws(const std::vector<double>& temperatures) {
    std::vector<HeadDraw> draws(kTokens);
    for (HeadDraw& draw : draws) {
      draw = {.temperature = temperatures[rng_() % temperatures.size()],
              .seed = rng_(),
              .position = static_cast<int64_t>(rng_() % 1000)};
    }
    return draws;
  }

  std::vector<TensorHead::Selection> Selections() const {
    return {{full_}, {active_}, {active_, tails_}};
  }

  static Racers RacersOf(const TokenLogits& rows, int64_t m, const HeadDraws& draws) {
    Racers racers{rows.of_token(m), {}, draws.of_tokens[m], draws.stream};
    for (int32_t s = 0; s < rows.ids[m].size(); ++s) {
      racers.ids.push_back(Raw(rows.ids[m].TokenAt(DraftId{s})));
    }
    return racers;
  }

  static void ExpectLogitAndProbability(const TensorHead::Best& best, const Racers& racers) {
    const auto row = std::find(racers.ids.begin(), racers.ids.end(), Raw(best.id));
    ASSERT_NE(row, racers.ids.end()) << Raw(best.id);
    const float divisor = static_cast<float>(racers.draw.temperature);
    EXPECT_EQ(best.logit, racers.logits[row - racers.ids.begin()] / divisor);
    double total = 0.0;
    for (float logit : racers.logits) {
      total += std::exp(static_cast<double>(logit / divisor) - best.logit);
    }
    EXPECT_NEAR(best.probability, 1.0 / total, 1e-6 * (1.0 + std::abs(best.logit)));
  }

  const uint64_t seed_ = 20260301;
  std::mt19937_64 rng_{seed_};
  const testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(seed_)};
  ThreadPool pool_{2};
  const std::shared_ptr<EmulatedHeadKernels> kernels_ = std::make_shared<EmulatedHeadKernels>();
  const ActiveVocab full_{1, *VocabBase::FullHead(kVocab), {}};
  const ActiveVocab active_{
      1, *VocabBase::Create(Ids({5, 9, 100, 2, 149, 20, 21}), kVocab), {77, 3}};
  std::vector<RequestTail> own_;
  std::vector<std::span<const int32_t>> tails_;  // [kTokens]
  std::vector<std::vector<char>> rows_;          // weights that the heads read
  const at::Tensor weight_, hidden_;
  TensorHead head_;
};

inline std::vector<DrawCase> DrawCases(bool on_device) {
  std::vector<DrawCase> cases;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBf16, DType::kInt8, DType::kInt4}) {
    cases.push_back({dtype, on_device});
  }
  return cases;
}

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_DEVICE_HEAD_DRAWS_FIXTURE_H_
