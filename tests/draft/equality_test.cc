// Priority 1: the output equals the target's, bit for bit, for any drafter, vocabulary, batch and
// chunk.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/isa.h"
#include "tests/draft/pair.h"

namespace shortlist {
namespace {

SamplingParams Greedy(int64_t max_new_tokens) {
  SamplingParams params;
  params.max_new_tokens = max_new_tokens;
  params.stop_token_ids = {TokenId{2}};
  return params;
}

SamplingParams Sampled(int64_t max_new_tokens) {
  SamplingParams params = Greedy(max_new_tokens);
  params.temperature = 0.8;
  params.seed = 20240607;
  return params;
}

void ExpectEqualOutputs(const std::vector<std::vector<TokenId>>& expected, const RunResult& actual,
                        const std::string& what) {
  ASSERT_EQ(actual.outputs.size(), expected.size()) << what;
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(actual.outputs[i], expected[i]) << what << ", prompt " << i;
  }
  EXPECT_EQ(actual.total.num_mapping_faults, 0) << what;
}

constexpr int64_t kPastOutputBytes = 1 << 18;

/// Returns every drafter and vocabulary. K, batch and prefill chunk vary, so that each value is
/// combined with several values of the others.
std::vector<RunConfig> Configurations(const SamplingParams& sampling) {
  std::vector<RunConfig> configs;
  int64_t i = 0;
  for (DrafterKind drafter : {DrafterKind::kEagle, DrafterKind::kEagle3, DrafterKind::kModel}) {
    for (VocabKind vocab :
         {VocabKind::kFullHead, VocabKind::kRatioQuarter, VocabKind::kListTop2048,
          VocabKind::kListAndDynamic, VocabKind::kSuccessors, VocabKind::kSketch}) {
      if (drafter == DrafterKind::kEagle3 && vocab == VocabKind::kSketch) continue;
      for (int64_t batch : {1, 8}) {
        RunConfig config;
        config.drafter = drafter;
        config.vocab = vocab;
        config.num_draft_tokens = 1 + i % 6;
        config.draft_p_min = std::vector<double>{0.0, 0.3, 0.7}[i % 3];
        config.batch = batch;
        config.prefill_chunk = std::vector<int64_t>{512, 1, 7, 33}[i % 4];
        config.sampling = sampling;
        configs.push_back(config);
        i += 5;  // coprime to 6: every K appears
      }
    }
  }
  for (const int64_t batch : {1, 3}) {
    configs.push_back({.drafter = DrafterKind::kSuffix,
                       .num_draft_tokens = 4 * batch,
                       .draft_p_min = 0.3,
                       .past_output_bytes = kPastOutputBytes,
                       .batch = batch,
                       .prefill_chunk = 33,
                       .sampling = sampling});
  }
  return configs;
}

class EqualityTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { pair_ = DemoPair::Load(/*num_threads=*/1).release(); }
  static void TearDownTestSuite() { delete pair_; }
  void SetUp() override { ASSERT_NE(pair_, nullptr); }

  void ExpectAllEqualPlain(const SamplingParams& sampling) {
    const auto prompts = EqualityPrompts(/*max_len=*/200);
    RunConfig plain;
    plain.sampling = sampling;
    const RunResult expected = pair_->Run(prompts, plain);
    int64_t num_tokens = 0;
    for (const auto& output : expected.outputs) num_tokens += static_cast<int64_t>(output.size());
    std::printf("%zu prompts, %lld tokens\n", prompts.size(), static_cast<long long>(num_tokens));
    for (const RunConfig& config : Configurations(sampling)) {
      const RunResult actual = pair_->Run(prompts, config);
      ExpectEqualOutputs(expected.outputs, actual, config.ToString());
      std::printf("%-70s accept length %.3f coverage %.4f\n", config.ToString().c_str(),
                  actual.total.accept_length(), actual.total.coverage());
      EXPECT_GT(actual.total.accept_length(), 1.05) << config.ToString();
    }
  }

  static DemoPair* pair_;
};
DemoPair* EqualityTest::pair_ = nullptr;

TEST_F(EqualityTest, GreedyOutputEqualsPlainDecoding) {
  ExpectAllEqualPlain(Greedy(/*max_new_tokens=*/kShortSuites ? 24 : 64));
}

TEST_F(EqualityTest, SampledOutputEqualsPlainDecodingForSameSeed) {
  ExpectAllEqualPlain(Sampled(/*max_new_tokens=*/kShortSuites ? 24 : 64));
}

TEST_F(EqualityTest, FiltersAndPenaltiesKeepEquality) {
  SamplingParams sampling = Sampled(/*max_new_tokens=*/48);
  sampling.top_k = 40;
  sampling.top_p = 0.9;
  sampling.min_p = 0.02;
  sampling.repetition_penalty = 1.2;
  sampling.presence_penalty = 0.3;
  sampling.frequency_penalty = 0.2;
  sampling.logit_bias = {{TokenId{13}, -2.0f}, {TokenId{300}, 1.5f}};
  sampling.min_new_tokens = 20;
  sampling.stop_token_ids = {TokenId{2}, TokenId{16316}, TokenId{16319}};
  const auto prompts = TestPrompts(/*count=*/kShortSuites ? 2 : 5, /*max_len=*/200);
  for (double temperature : {0.0, 0.5, 1.5}) {
    sampling.temperature = temperature;
    RunConfig config;
    config.sampling = sampling;
    const RunResult expected = pair_->Run(prompts, config);
    for (const auto& output : expected.outputs) EXPECT_GE(output.size(), 20u);
    config.drafter = DrafterKind::kEagle;
    config.vocab = VocabKind::kListAndDynamic;
    config.batch = 3;
    ExpectEqualOutputs(expected.outputs, pair_->Run(prompts, config), config.ToString());
    for (const DrafterKind drafter : {DrafterKind::kEagle3, DrafterKind::kModel}) {
      config.drafter = drafter;
      ExpectEqualOutputs(expected.outputs, pair_->Run(prompts, config), config.ToString());
    }
  }
}

TEST_F(EqualityTest, BannedTokensKeepEqualityAndDoNotAppear) {
  const auto prompts = TestPrompts(/*count=*/kShortSuites ? 1 : 3, /*max_len=*/200);
  for (double temperature : {0.0, 0.8}) {
    RunConfig config;
    config.sampling = Sampled(/*max_new_tokens=*/40);
    config.sampling.temperature = temperature;
    config.sampling.stop_token_ids = {};
    const RunResult free = pair_->Run(prompts, config);
    // Likely output of the model: pairs of tokens, and single ones.
    std::vector<TokenId> allowed;
    std::vector<std::vector<TokenId>> bad_words;
    for (const std::vector<TokenId>& output : free.outputs) {
      ASSERT_GE(output.size(), 20u);
      for (size_t i = 0; i + 1 < output.size(); i += 4) {
        bad_words.push_back({output[i], output[i + 1]});
      }
      bad_words.push_back({output[3]});
    }
    for (int32_t id = 0; id < pair_->emit_size(); ++id) {
      if (id % 7 != 3) allowed.push_back(TokenId{id});
    }
    config.sampling.bans = std::make_shared<const TokenBans>(allowed, bad_words);
    const RunResult expected = pair_->Run(prompts, config);
    for (const std::vector<TokenId>& output : expected.outputs) {
      EXPECT_NE(output, free.outputs[&output - expected.outputs.data()]);
      for (TokenId id : output) EXPECT_NE(Raw(id) % 7, 3);
      for (const std::vector<TokenId>& word : bad_words) {
        EXPECT_EQ(std::search(output.begin(), output.end(), word.begin(), word.end()),
                  output.end());
      }
    }
    for (DrafterKind drafter : {DrafterKind::kEagle, DrafterKind::kEagle3, DrafterKind::kModel}) {
      for (VocabKind vocab : {VocabKind::kFullHead, VocabKind::kListAndDynamic}) {
        config.drafter = drafter;
        config.vocab = vocab;
        config.batch = vocab == VocabKind::kFullHead ? 1 : 3;
        const RunResult actual = pair_->Run(prompts, config);
        ExpectEqualOutputs(expected.outputs, actual, config.ToString());
        // A draft that proposed what is banned would be refused all the time.
        EXPECT_GT(actual.total.accept_length(), 1.05) << config.ToString();
      }
    }
    config.drafter = DrafterKind::kSuffix;
    ExpectEqualOutputs(expected.outputs, pair_->Run(prompts, config), config.ToString());
  }
}

TEST_F(EqualityTest, ThreadsDoNotChangeOutput) {
  const auto prompts = TestPrompts(/*count=*/2, /*max_len=*/100);
  RunConfig config;
  config.sampling = Sampled(/*max_new_tokens=*/40);
  const RunResult expected = pair_->Run(prompts, config);
  config.drafter = DrafterKind::kEagle;
  config.vocab = VocabKind::kListAndDynamic;
  for (int num_threads : {1, 3, 5}) {
    const std::unique_ptr<DemoPair> other = DemoPair::Load(num_threads);
    ASSERT_NE(other, nullptr);
    ExpectEqualOutputs(expected.outputs, other->Run(prompts, config),
                       std::to_string(num_threads) + " threads");
  }
}

TEST_F(EqualityTest, HoldsForEveryDtypeAndIsa) {
  const auto prompts = TestPrompts(/*count=*/kShortSuites ? 1 : 2, /*max_len=*/60);
  const Isa detected = CurrentIsa();
  for (Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16}) {
    if (!SetIsa(isa)) continue;
    for (DType dtype : {DType::kF32, DType::kF16, DType::kBf16}) {
      const std::unique_ptr<DemoPair> pair = DemoPair::Load(/*num_threads=*/1, dtype);
      ASSERT_NE(pair, nullptr);
      RunConfig config;
      config.sampling = Sampled(/*max_new_tokens=*/isa == Isa::kScalar || kShortSuites ? 6 : 24);
      const RunResult expected = pair->Run(prompts, config);
      config.vocab = VocabKind::kListTop2048;
      config.batch = 2;
      for (const DrafterKind drafter : {DrafterKind::kEagle, DrafterKind::kEagle3}) {
        config.drafter = drafter;
        ExpectEqualOutputs(expected.outputs, pair->Run(prompts, config),
                           std::string(IsaName(isa)) + " " + DTypeName(dtype));
      }
    }
  }
  SetIsa(detected);
}

TEST_F(EqualityTest, HoldsForQuantizedPairsOnEveryIsa) {
  const auto prompts = TestPrompts(/*count=*/kShortSuites ? 1 : 3, /*max_len=*/60);
  const Isa detected = CurrentIsa();
  for (DType quantize : {DType::kInt8, DType::kInt4}) {
    const std::unique_ptr<DemoPair> pair =
        DemoPair::Load(/*num_threads=*/1, /*dtype=*/std::nullopt, quantize, quantize);
    ASSERT_NE(pair, nullptr);
    for (Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16}) {
      if (!SetIsa(isa)) continue;
      RunConfig config;
      config.sampling = Sampled(/*max_new_tokens=*/isa == Isa::kScalar || kShortSuites ? 4 : 32);
      const RunResult expected = pair->Run(prompts, config);
      for (DrafterKind drafter : {DrafterKind::kEagle, DrafterKind::kEagle3, DrafterKind::kModel}) {
        config.drafter = drafter;
        config.vocab =
            drafter == DrafterKind::kEagle ? VocabKind::kListAndDynamic : VocabKind::kListTop2048;
        config.batch = drafter == DrafterKind::kEagle ? 1 : 3;
        config.prefill_chunk = drafter == DrafterKind::kEagle ? 7 : 512;
        ExpectEqualOutputs(
            expected.outputs, pair->Run(prompts, config),
            std::string(IsaName(isa)) + " " + DTypeName(quantize) + " " + config.ToString());
      }
    }
  }
  SetIsa(detected);
}

TEST_F(EqualityTest, QuantizedDraftsKeepTargetOutput) {
  const auto prompts = TestPrompts(/*count=*/kShortSuites ? 1 : 5, /*max_len=*/60);
  int64_t num_accepted = 0;  // of the EAGLE drafts
  for (const SamplingParams& sampling :
       {Greedy(kShortSuites ? 8 : 48), Sampled(kShortSuites ? 8 : 48)}) {
    RunConfig config;
    config.sampling = sampling;
    const RunResult expected = pair_->Run(prompts, config);
    for (DType quantize : {DType::kInt8, DType::kInt4}) {
      const std::unique_ptr<DemoPair> pair =
          DemoPair::Load(/*num_threads=*/1, /*dtype=*/std::nullopt, /*quantize=*/std::nullopt,
                         /*quantize_draft=*/quantize);
      ASSERT_NE(pair, nullptr);
      EXPECT_EQ(pair->eagle().head_weight().dtype, quantize);
      EXPECT_EQ(pair->eagle3().head_weight().dtype, quantize);
      for (DrafterKind drafter : {DrafterKind::kEagle, DrafterKind::kEagle3, DrafterKind::kModel}) {
        for (VocabKind vocab : {VocabKind::kFullHead, VocabKind::kListAndDynamic}) {
          config.drafter = drafter;
          config.vocab = vocab;
          config.batch = vocab == VocabKind::kFullHead ? 1 : 3;
          const RunResult result = pair->Run(prompts, config);
          ExpectEqualOutputs(expected.outputs, result,
                             std::string(DTypeName(quantize)) + " " + config.ToString());
          EXPECT_EQ(result.total.num_mapping_faults, 0);
          num_accepted += drafter != DrafterKind::kModel ? result.total.num_accepted : 0;
        }
      }
    }
  }
  EXPECT_GT(num_accepted, 0);
}

// A clock of random steps makes drafting seem dear or cheap, so that every decision is met.
TEST_F(EqualityTest, RandomCostsChangeOnlySpeed) {
  constexpr unsigned kSeed = 23;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  const auto prompts = TestPrompts(/*count=*/kShortSuites ? 2 : 6, /*max_len=*/100);
  for (const double temperature : {0.0, 0.8}) {
    RunConfig config;
    config.sampling = Greedy(/*max_new_tokens=*/kShortSuites ? 48 : 160);
    config.sampling.temperature = temperature;
    const RunResult expected = pair_->Run(prompts, config);
    int64_t num_resting = 0, num_drafted = 0, num_copied = 0;
    for (const DrafterKind drafter :
         {DrafterKind::kEagle, DrafterKind::kEagle3, DrafterKind::kModel}) {
      for (const int64_t batch : {1, 3}) {
        std::mt19937 random(kSeed);
        double now = 0.0;
        config.drafter = drafter;
        config.vocab = VocabKind::kListAndDynamic;
        config.batch = batch;
        config.draft_p_min = std::nullopt;
        config.now_ms = [&] {
          return now += std::exp(std::uniform_real_distribution<double>(-3.0, 3.0)(random));
        };
        const RunResult actual = pair_->Run(prompts, config);
        ExpectEqualOutputs(expected.outputs, actual, config.ToString());
        num_resting += actual.engine.num_resting_steps;
        num_drafted += actual.total.num_drafted;
        num_copied += actual.total.num_copied;
      }
    }
    EXPECT_GT(num_resting, 0);
    EXPECT_GT(num_drafted, 0);
    EXPECT_GT(num_copied, 0);
  }
}

TEST_F(EqualityTest, RejectionAtTemperatureZeroIsGreedy) {
  const auto prompts = TestPrompts(/*count=*/3, /*max_len=*/100);
  RunConfig config;
  config.sampling = Greedy(/*max_new_tokens=*/48);
  const RunResult expected = pair_->Run(prompts, config);
  config.verify = VerifyMode::kRejection;
  config.draft_p_min = 0.3;
  config.drafter = DrafterKind::kSuffix;
  ExpectEqualOutputs(expected.outputs, pair_->Run(prompts, config), "rejection, suffix");
  config.vocab = VocabKind::kListAndDynamic;
  for (const DrafterKind drafter : {DrafterKind::kEagle, DrafterKind::kEagle3}) {
    config.drafter = drafter;
    ExpectEqualOutputs(expected.outputs, pair_->Run(prompts, config), config.ToString());
  }
}

// Later requests copy from the outputs of earlier ones: of the same prompts, and of others.
TEST_F(EqualityTest, PastOutputsChangeOnlySpeed) {
  std::vector<std::vector<TokenId>> prompts = TestPrompts(/*count=*/kShortSuites ? 2 : 5, 100);
  prompts.reserve(3 * prompts.size());
  const auto first = prompts;
  for (int repetition = 0; repetition < 2; ++repetition) {
    prompts.insert(prompts.end(), first.begin(), first.end());
  }
  for (const double temperature : {0.0, 0.8}) {
    RunConfig config;
    config.sampling = Sampled(/*max_new_tokens=*/kShortSuites ? 24 : 64);
    config.sampling.temperature = temperature;
    config.count_up_seeds = false;  // so that sampled outputs repeat too
    const RunResult expected = pair_->Run(prompts, config);
    for (const DrafterKind drafter :
         {DrafterKind::kSuffix, DrafterKind::kEagle, DrafterKind::kEagle3, DrafterKind::kModel}) {
      for (const int64_t batch : {1, 4}) {
        config.drafter = drafter;
        config.vocab =
            drafter == DrafterKind::kModel ? VocabKind::kListAndDynamic : VocabKind::kFullHead;
        config.batch = batch;
        config.draft_p_min = 0.3;
        SequenceStats stats[2];  // without past outputs, and with them
        for (const bool keeps_outputs : {false, true}) {
          config.past_output_bytes = keeps_outputs ? kPastOutputBytes : 0;
          const RunResult actual = pair_->Run(prompts, config);
          ExpectEqualOutputs(expected.outputs, actual, config.ToString());
          stats[keeps_outputs] = actual.total;
        }
        if (kShortSuites) continue;  // too few tokens for rates
        EXPECT_GT(stats[1].accept_length(), stats[0].accept_length()) << config.ToString();
        const double least = drafter == DrafterKind::kSuffix ? 1.8 : 1.05;
        EXPECT_GT(stats[1].accept_length(), least) << config.ToString();
      }
    }
  }
}

}  // namespace
}  // namespace shortlist
