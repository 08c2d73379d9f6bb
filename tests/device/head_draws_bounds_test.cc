// Draws by noise where logits, temperatures or arguments are at their bounds or beyond.

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/device/head_draws_fixture.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Logits of a test's choosing, in f32.
class GivenLogitsTest : public HeadDrawsTest {
 protected:
  /// A head whose logits, against any of States, are these.
  TensorHead MakeHeadOf(const std::vector<float>& logits) {
    at::Tensor weight = at::zeros({std::ssize(logits), 8}, at::kFloat);
    for (size_t r = 0; r < logits.size(); ++r) weight.data_ptr<float>()[8 * r] = logits[r];
    return MakeHead(weight, GetParam());
  }
  static at::Tensor States(int64_t num_tokens) {
    at::Tensor hidden = at::zeros({num_tokens, 8}, at::kFloat);
    for (int64_t m = 0; m < num_tokens; ++m) hidden.data_ptr<float>()[8 * m] = 1.0f;
    return hidden;
  }
};

TEST_P(GivenLogitsTest, DrawsFromSoftmax) {
  const std::vector<float> logits = {0.0f, 1.0f, -1.0f, 2.0f, -3.0f};
  constexpr double kTemperature = 1.3;
  TensorHead head = MakeHeadOf(logits);
  const ActiveVocab full(1, *VocabBase::FullHead(std::ssize(logits)), {});
  const int64_t num_tokens = 1024, num_calls = GetParam().on_device ? 8 : 100;
  const at::Tensor hidden = States(num_tokens);
  std::vector<int64_t> counts(logits.size());
  std::vector<HeadDraw> draws(num_tokens);
  for (int64_t call = 0; call < num_calls; ++call) {
    for (int64_t m = 0; m < num_tokens; ++m) draws[m] = {kTemperature, seed_, call * 1024 + m};
    const std::vector<TensorHead::Best> best = *head.TopK(hidden, {full}, /*k=*/1, {draws});
    for (const TensorHead::Best& drawn : best) ++counts[Raw(drawn.id)];
  }
  double total = 0.0, chi_square = 0.0;
  for (float logit : logits) total += std::exp(logit / kTemperature);
  for (size_t i = 0; i < logits.size(); ++i) {
    const double expected = num_calls * num_tokens * std::exp(logits[i] / kTemperature) / total;
    chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  EXPECT_LT(chi_square, 23.5);  // 4 degrees of freedom, 0.9999 quantile
}

TEST_P(GivenLogitsTest, ZeroProbabilityIsNeverDrawn) {
  const at::Tensor hidden = States(64);
  const ActiveVocab full(1, *VocabBase::FullHead(4), {});
  std::vector<HeadDraw> draws(64);
  for (int64_t m = 0; m < 64; ++m) draws[m] = {1.0, seed_, m};
  const auto drawn = [&](const std::vector<float>& logits) {
    TensorHead head = MakeHeadOf(logits);
    return *head.TopK(hidden, {full}, /*k=*/4, {draws});
  };

  std::vector<TensorHead::Best> best = drawn({kNaN, 1.0f, -kInf, 0.5f});
  for (int64_t i = 0; i < 256; i += 4) {
    EXPECT_EQ(Raw(best[i].id) + Raw(best[i + 1].id), 1 + 3);
    EXPECT_NEAR(best[i].probability + best[i + 1].probability, 1.0f, 1e-6);
    for (int64_t none : {i + 2, i + 3}) {
      EXPECT_EQ(best[none].id, TokenId{-1});
      EXPECT_EQ(best[none].logit, -kInf);
      EXPECT_EQ(best[none].probability, 0.0f);
    }
  }
  best = drawn({1.0f, kInf, kNaN, kInf});  // infinite ones by their ids, then the rest
  for (int64_t i = 0; i < 256; i += 4) {
    EXPECT_THAT((std::vector{best[i].id, best[i + 1].id, best[i + 2].id, best[i + 3].id}),
                ElementsAre(TokenId{1}, TokenId{3}, TokenId{0}, TokenId{-1}));
    EXPECT_THAT(
        (std::vector{best[i].probability, best[i + 1].probability, best[i + 2].probability}),
        ElementsAre(1.0f, 1.0f, 0.0f));
  }
  for (const TensorHead::Best& none : drawn({kNaN, -kInf, -kInf, kNaN})) {
    EXPECT_EQ(none.id, TokenId{-1});
    EXPECT_EQ(none.probability, 0.0f);
  }
}

INSTANTIATE_TEST_SUITE_P(Both, GivenLogitsTest,
                         testing::Values(DrawCase{DType::kF32, /*on_device=*/false},
                                         DrawCase{DType::kF32, /*on_device=*/true}),
                         [](const auto& info) { return NameOf(info.param); });

class DrawBoundsTest : public HeadDrawsTest {};

TEST_P(DrawBoundsTest, ExtremeTemperatures) {
  const std::vector<TensorHead::Best> plain = *head_.TopK(hidden_, {full_}, /*k=*/1);
  for (const double tiny : {1e-12, 1e-40, 5e-324}) {
    const std::vector<HeadDraw> draws = RandomDraws({tiny});
    const std::vector<TensorHead::Best> best = *head_.TopK(hidden_, {full_}, /*k=*/1, {draws});
    for (int64_t m = 0; m < kTokens; ++m) {
      EXPECT_EQ(best[m].id, plain[m].id);
      EXPECT_TRUE(std::isfinite(best[m].logit));
      EXPECT_EQ(best[m].probability, 1.0f);
    }
  }
  const std::vector<HeadDraw> draws = RandomDraws({HeadDraw::kMaxTemperature});
  const std::vector<TensorHead::Best> best = *head_.TopK(hidden_, {full_}, /*k=*/1, {draws});
  for (const TensorHead::Best& drawn : best) EXPECT_NEAR(drawn.probability, 1.0 / kVocab, 1e-6);
}

TEST_P(DrawBoundsTest, RejectsMismatchedDraws) {
  const auto message = [&](const std::vector<HeadDraw>& draws) {
    const auto best = head_.TopK(hidden_, {full_}, /*k=*/1, {draws});
    EXPECT_TRUE(absl::IsInvalidArgument(best.status())) << best.status();
    return std::string(best.status().message());
  };
  kernels_->num_calls = 0;
  const std::vector<HeadDraw> good(kTokens, HeadDraw{.temperature = 1.0});
  for (const auto& [temperature, name] : {std::pair{-0.5, "-0.5"},
                                          {1e31, "1e+31"},
                                          {double{kInf}, "inf"},
                                          {double{kNaN}, "nan"},
                                          {-double{kInf}, "-inf"}}) {
    std::vector<HeadDraw> draws = good;
    draws[65].temperature = temperature;
    EXPECT_EQ(message(draws),
              std::string("LM head: temperature ") + name + " of token 65 not in [0, 1e+30]");
  }
  EXPECT_EQ(message(std::vector<HeadDraw>(71)), "LM head: 71 draws for 70 tokens");
  EXPECT_EQ(message(std::vector<HeadDraw>(69)), "LM head: 69 draws for 70 tokens");
  EXPECT_EQ(head_.TopK(hidden_, {active_}, /*k=*/10, {good}).status().message(),
            "k 10 passes the 9 rows of token 0");
  EXPECT_EQ(kernels_->num_calls, 0);
  EXPECT_TRUE(head_.TopK(at::empty({0, kHidden}), {full_}, /*k=*/1)->empty());
}

INSTANTIATE_TEST_SUITE_P(Cpu, DrawBoundsTest, testing::ValuesIn(DrawCases(/*on_device=*/false)),
                         [](const auto& info) { return NameOf(info.param); });
INSTANTIATE_TEST_SUITE_P(Device, DrawBoundsTest, testing::ValuesIn(DrawCases(/*on_device=*/true)),
                         [](const auto& info) { return NameOf(info.param); });

class DeviceDrawsTest : public HeadDrawsTest {};

TEST_P(DeviceDrawsTest, NoiseBufferIsStable) {  // as a captured graph needs it
  const auto noise_of = [&](const at::Tensor& hidden, std::vector<double> temperatures) {
    std::vector<HeadDraw> draws = RandomDraws(temperatures);
    draws.resize(hidden.size(0));
    EXPECT_TRUE(head_.TopK(hidden, {active_}, /*k=*/2, {draws, /*stream=*/5}).ok());
    return kernels_->last_noise;
  };
  const HeadNoise first = noise_of(hidden_, {0.5}), second = noise_of(hidden_.narrow(0, 3, 2), {0});
  EXPECT_NE(first.temperatures, nullptr);
  EXPECT_EQ(first.temperatures, second.temperatures);
  EXPECT_EQ(first.seeds, second.seeds);
  EXPECT_EQ(first.positions, second.positions);
  EXPECT_EQ(first.stream, 5u);
  EXPECT_TRUE(head_.TopK(hidden_, {active_}, /*k=*/2).ok());
  EXPECT_EQ(kernels_->last_noise.temperatures, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Device, DeviceDrawsTest,
                         testing::Values(DrawCase{DType::kBf16, /*on_device=*/true}),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace shortlist
