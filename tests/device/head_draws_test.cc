// Draws by noise from a head, on the CPU and on the emulated device.

#include <algorithm>
#include <bit>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "draft/token_chooser.h"
#include "kernels/sampling.h"
#include "tests/device/head_draws_fixture.h"

namespace shortlist {
namespace {

TEST_P(HeadDrawsTest, DrawMatchesRaceOverLogits) {
  int64_t num_draws = 0, num_ties = 0;
  for (const uint32_t stream : {0u, 3u}) {
    for (const TensorHead::Selection& selection : Selections()) {
      const std::vector<HeadDraw> of_tokens = RandomDraws({0.3, 0.7, 1.0, 1.7});
      const HeadDraws draws = {of_tokens, stream};
      const TokenLogits rows = *head_.Logits(hidden_, selection);
      const std::vector<TensorHead::Best> best = *head_.TopK(hidden_, selection, /*k=*/1, draws);
      for (int64_t m = 0; m < kTokens; ++m) {
        const Racers racers = RacersOf(rows, m, draws);
        const int64_t winner =
            SampleRaceCpu({racers.logits.data(), racers.ids.data(), std::ssize(racers.ids),
                           InverseTemperature(of_tokens[m].temperature)},
                          {of_tokens[m].seed, of_tokens[m].position, stream});
        ++num_draws;
        if (Raw(best[m].id) != racers.ids[winner]) {
          ++num_ties;
          EXPECT_TRUE(GetParam().on_device);
          EXPECT_TRUE(racers.NearlyTie(Raw(best[m].id), winner)) << "token " << m;
        }
        ExpectLogitAndProbability(best[m], racers);
      }
    }
  }
  EXPECT_LE(num_ties, num_draws / 100);
}

TEST_P(HeadDrawsTest, KDrawsAreFirstArrivals) {
  constexpr int64_t kK = 8;
  int64_t num_draws = 0, num_ties = 0;
  for (const TensorHead::Selection& selection : Selections()) {
    // At the lowest, most rows' weights underflow relative to the largest.
    const std::vector<HeadDraw> of_tokens = RandomDraws({0.02, 0.7, 1.7});
    const TokenLogits rows = *head_.Logits(hidden_, selection);
    const std::vector<TensorHead::Best> best = *head_.TopK(hidden_, selection, kK, {of_tokens});
    for (int64_t m = 0; m < kTokens; ++m) {
      const Racers racers = RacersOf(rows, m, {of_tokens});
      std::vector<std::pair<double, int64_t>> arrivals;
      for (int64_t s = 0; s < std::ssize(racers.ids); ++s) {
        arrivals.emplace_back(racers.TimeOf(s), s);
      }
      std::sort(arrivals.begin(), arrivals.end());
      for (int64_t i = 0; i < kK; ++i) {
        const TensorHead::Best& drawn = best[m * kK + i];
        ++num_draws;
        if (Raw(drawn.id) != racers.ids[arrivals[i].second]) {
          ++num_ties;
          EXPECT_TRUE(racers.NearlyTie(Raw(drawn.id), arrivals[i].second))
              << "token " << m << " draw " << i;
        }
        ExpectLogitAndProbability(drawn, racers);
      }
    }
  }
  EXPECT_LE(num_ties, num_draws / 100);
}

TEST_P(HeadDrawsTest, FirstOfKDrawsEqualsSingleDraw) {
  const std::vector<HeadDraw> draws = RandomDraws({0.02, 0.7, 1.7});
  const std::vector<TensorHead::Best> one =
      *head_.TopK(hidden_, {active_, tails_}, /*k=*/1, {draws});
  const std::vector<TensorHead::Best> five =
      *head_.TopK(hidden_, {active_, tails_}, /*k=*/5, {draws});
  for (int64_t m = 0; m < kTokens; ++m) {
    EXPECT_EQ(five[5 * m].id, one[m].id);
    EXPECT_EQ(five[5 * m].logit, one[m].logit);
    EXPECT_EQ(five[5 * m].probability, one[m].probability);
  }
}

TEST_P(HeadDrawsTest, TokensWithoutNoiseMatchTopK) {
  for (const TensorHead::Selection& selection : Selections()) {
    for (const int64_t k : {1, 6}) {
      const std::vector<TensorHead::Best> plain = *head_.TopK(hidden_, selection, k);
      for (const std::vector<double>& temperatures : {std::vector{0.0}, {0.0, 0.9}}) {
        const std::vector<HeadDraw> draws = RandomDraws(temperatures);
        const std::vector<TensorHead::Best> best = *head_.TopK(hidden_, selection, k, {draws});
        for (int64_t i = 0; i < kTokens * k; ++i) {
          if (draws[i / k].temperature > 0.0) continue;
          EXPECT_EQ(best[i].id, plain[i].id);
          EXPECT_EQ(std::bit_cast<uint32_t>(best[i].logit),
                    std::bit_cast<uint32_t>(plain[i].logit));
          EXPECT_EQ(std::bit_cast<uint32_t>(best[i].probability),
                    std::bit_cast<uint32_t>(plain[i].probability));
        }
      }
    }
  }
}

TEST_P(HeadDrawsTest, DrawsAreIndependentOfBatch) {
  const std::vector<HeadDraw> draws = RandomDraws({0.0, 0.7, 1.7});
  const std::vector<TensorHead::Best> all =
      *head_.TopK(hidden_, {active_, tails_}, /*k=*/3, {draws});
  for (const int64_t m : {0, 1, 63, 64, 69}) {
    const auto of_token = std::span(draws).subspan(m, 1);
    const std::vector<TensorHead::Best> alone = *head_.TopK(
        hidden_.narrow(0, m, 1), {active_, std::span(tails_).subspan(m, 1)}, /*k=*/3, {of_token});
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(alone[i].id, all[3 * m + i].id);
      EXPECT_EQ(alone[i].logit, all[3 * m + i].logit);
      EXPECT_EQ(alone[i].probability, all[3 * m + i].probability);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, HeadDrawsTest, testing::ValuesIn(DrawCases(/*on_device=*/false)),
                         [](const auto& info) { return NameOf(info.param); });
INSTANTIATE_TEST_SUITE_P(Device, HeadDrawsTest, testing::ValuesIn(DrawCases(/*on_device=*/true)),
                         [](const auto& info) { return NameOf(info.param); });

class CpuDrawsTest : public HeadDrawsTest {};

TEST_P(CpuDrawsTest, DrawMatchesTokenChooser) {
  std::vector<HeadDraw> draws = RandomDraws({0.0, 0.1, 0.7, 1.7, 1e-40});
  std::vector<std::unique_ptr<Sequence>> sequences;
  for (HeadDraw& draw : draws) {
    SamplingParams params;
    params.temperature = draw.temperature;
    params.seed = draw.seed;
    const std::vector<TokenId> prompt(1 + draw.position % 9, TokenId{1});
    draw.position = std::ssize(prompt);
    auto sequence =
        Sequence::Create(prompt, {.sampling = params, .max_tail_rows = 0, .stop = {}}, kVocab);
    ASSERT_TRUE(sequence.ok()) << sequence.status();
    sequences.push_back(*std::move(sequence));
  }
  for (const TensorHead::Selection& selection : Selections()) {
    const TokenLogits rows = *head_.Logits(hidden_, selection);
    const std::vector<TensorHead::Best> best = *head_.TopK(hidden_, selection, /*k=*/1, {draws});
    for (int64_t m = 0; m < kTokens; ++m) {
      TokenChooser chooser;
      chooser.Prepare(rows.of_token(m), rows.ids[m], *sequences[m], /*drafted=*/{});
      EXPECT_EQ(best[m].id, chooser.TokenAt(*chooser.Choose())) << "token " << m;
    }
  }
}

TEST_P(CpuDrawsTest, DeviceDrawsMatch) {
  TensorHead device = MakeHead(weight_, {GetParam().dtype, /*on_device=*/true});
  const double tolerance = GetParam().dtype == DType::kF16 ? 2e-2 : 1e-3;  // of a logit
  constexpr int64_t kK = 3;
  int64_t num_draws = 0, num_same = 0;
  for (const TensorHead::Selection& selection : Selections()) {
    const std::vector<HeadDraw> draws = RandomDraws({0.0, 0.5, 1.0, 1.7});
    const TokenLogits rows = *head_.Logits(hidden_, selection);
    const std::vector<TensorHead::Best> here = *head_.TopK(hidden_, selection, kK, {draws});
    const std::vector<TensorHead::Best> there = *device.TopK(hidden_, selection, kK, {draws});
    for (int64_t i = 0; i < kTokens * kK; ++i) {
      ++num_draws;
      if (here[i].id == there[i].id) {
        ++num_same;
        EXPECT_NEAR(here[i].logit, there[i].logit, tolerance / 0.5);
        EXPECT_NEAR(here[i].probability, there[i].probability, tolerance / 0.5);
        continue;
      }
      const Racers racers = RacersOf(rows, i / kK, {draws});
      const auto score = [&](TokenId id) {
        const int64_t row =
            std::find(racers.ids.begin(), racers.ids.end(), Raw(id)) - racers.ids.begin();
        return racers.draw.temperature > 0.0 ? racers.TimeOf(row) * racers.draw.temperature
                                             : -racers.logits[row];
      };
      EXPECT_NEAR(score(here[i].id), score(there[i].id), 2 * tolerance) << "draw " << i;
    }
  }
  EXPECT_GE(num_same, num_draws * 95 / 100);
}

INSTANTIATE_TEST_SUITE_P(Cpu, CpuDrawsTest, testing::ValuesIn(DrawCases(/*on_device=*/false)),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace shortlist
