// A target with recurrent layers behind the router: prefixes are shared where a state was kept,
// requests are retracted, and the output stays plain decoding's.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "draft/eagle_drafter.h"
#include "model/decoder.h"
#include "model/mtp_model.h"
#include "model/prefix_states.h"
#include "router/router.h"
#include "router/scheduler.h"
#include "tests/router/router_harness.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_hybrid.h"

namespace shortlist {
namespace {

constexpr int64_t kVocab = 96;

class RecurrentRouterTest : public testing::Test {
 protected:
  RecurrentRouterTest() {
    EXPECT_TRUE(WriteTinyHybrid(dir_.path(), /*seed=*/9).ok());
    const ModelSource source = ModelSource::OfDirectory(dir_.path());
    target_ = *Decoder::Load(source, std::nullopt, pool_);
    mtp_ = *MtpModel::Load(source, *target_, pool_);
  }

  /// A router with its own engine; without `drafts`, it decodes plainly.
  struct Served {
    std::unique_ptr<EagleDrafter> drafter;
    std::unique_ptr<SpeculativeEngine> engine;
    std::unique_ptr<RouterHarness> harness;
  };
  Served Serve(int64_t num_slots, bool drafts) {
    Served served;
    if (drafts) served.drafter = *EagleDrafter::Create(*mtp_, num_slots, kVocab, pool_);
    served.engine = *SpeculativeEngine::Create(*target_, served.drafter.get(), /*vocab=*/nullptr,
                                               {.num_draft_tokens = drafts ? 3 : 0,
                                                .draft_p_min = 0.0,
                                                .num_slots = num_slots,
                                                .emit_size = kVocab},
                                               pool_);
    served.harness = std::make_unique<RouterHarness>(
        *served.engine,
        Router::Options{.scheduler = {.max_total_tokens = num_slots, .chunked_prefill_size = 100},
                        .now = [this] { return now_s_; }});
    return served;
  }

  static TokenizedGenerateReqInput Input(std::string rid, std::vector<TokenId> prompt,
                                         int64_t max_new_tokens) {
    TokenizedGenerateReqInput input;
    input.rid = std::move(rid);
    input.input_ids = std::move(prompt);
    input.sampling_params.max_new_tokens = max_new_tokens;
    input.sampling_params.temperature = 0.7;
    input.sampling_params.seed = 3;
    return input;
  }

  static std::vector<TokenId> Prompt(uint32_t seed, int64_t len) {
    std::mt19937 random(seed);
    std::vector<TokenId> prompt;
    for (; len > 0; --len) prompt.push_back(TokenId{static_cast<int32_t>(3 + random() % 90)});
    return prompt;
  }

  TempDir dir_;
  ThreadPool pool_{/*num_threads=*/2};
  std::unique_ptr<Decoder> target_;
  std::unique_ptr<MtpModel> mtp_;
  double now_s_ = 0.0;
};

TEST_F(RecurrentRouterTest, TurnsOfAChatGoOnFromKeptStates) {
  for (const bool drafts : {false, true}) {
    Served served = Serve(/*num_slots=*/4000, drafts);
    std::vector<TokenId> chat = Prompt(/*seed=*/1, /*len=*/120);
    for (int turn = 0; turn < 4; ++turn) {
      const std::string rid = "turn" + std::to_string(turn);
      served.harness->Step({Input(rid, chat, 30)});
      served.harness->StepUntilIdle();
      const auto& result = served.harness->served()[rid];
      Served plain = Serve(/*num_slots=*/4000, /*drafts=*/false);
      plain.harness->Step({Input(rid, chat, 30)});
      plain.harness->StepUntilIdle();
      EXPECT_EQ(result.output, plain.harness->served()[rid].output) << rid;
      if (turn > 0) {
        // Nearly all of what was said is not computed again.
        EXPECT_GT(result.last.cached_tokens, std::ssize(chat) - 45) << rid << " " << drafts;
      }
      chat.insert(chat.end(), result.output.begin(), result.output.end());
      const std::vector<TokenId> more = Prompt(/*seed=*/10 + turn, /*len=*/10);
      chat.insert(chat.end(), more.begin(), more.end());
    }
    served.harness->ExpectNothingHeld();
  }
}

TEST_F(RecurrentRouterTest, LongPrefixesAreSharedAtIntervals) {
  Served served = Serve(/*num_slots=*/8000, /*drafts=*/true);
  const std::vector<TokenId> system = Prompt(/*seed=*/2, /*len=*/1200);
  for (int i = 0; i < 3; ++i) {
    std::vector<TokenId> prompt = system;
    const std::vector<TokenId> question = Prompt(/*seed=*/20 + i, /*len=*/15);
    prompt.insert(prompt.end(), question.begin(), question.end());
    const std::string rid = std::to_string(i);
    served.harness->Step({Input(rid, prompt, 20)});
    served.harness->StepUntilIdle();
    const auto& result = served.harness->served()[rid];
    EXPECT_EQ(result.last.cached_tokens, i == 0 ? 0 : 2 * PrefixStates::kInterval);
    Served plain = Serve(/*num_slots=*/8000, /*drafts=*/false);
    plain.harness->Step({Input(rid, prompt, 20)});
    plain.harness->StepUntilIdle();
    EXPECT_EQ(result.output, plain.harness->served()[rid].output);
  }
}

TEST_F(RecurrentRouterTest, RetractedAndSharingRequestsGiveTheSameOutput) {
  // Their prompts share prefixes of any length.
  const std::vector<TokenId> common = Prompt(/*seed=*/3, /*len=*/150);
  std::vector<TokenizedGenerateReqInput> inputs;
  for (int i = 0; i < 8; ++i) {
    std::vector<TokenId> prompt(common.begin(), common.begin() + 20 * i);
    const std::vector<TokenId> own = Prompt(/*seed=*/30 + i, /*len=*/20 + i);
    prompt.insert(prompt.end(), own.begin(), own.end());
    inputs.push_back(Input(std::to_string(i), prompt, 60));
  }
  for (const bool drafts : {false, true}) {
    Served served = Serve(/*num_slots=*/1000, drafts);
    served.harness->Step({inputs.begin(), inputs.end()});
    for (int round = 0; round < 8; ++round) {
      for (int step = 0; step < 3 + round; ++step) served.harness->Step();
      served.harness->router().RetractAll();
    }
    served.harness->StepUntilIdle();
    EXPECT_GT(served.harness->router().scheduler().stats().num_retractions, 0) << drafts;
    for (const TokenizedGenerateReqInput& input : inputs) {
      Served plain = Serve(/*num_slots=*/1000, /*drafts=*/false);
      plain.harness->Step({input});
      plain.harness->StepUntilIdle();
      EXPECT_EQ(served.harness->served()[input.rid].output,
                plain.harness->served()[input.rid].output)
          << input.rid << " " << drafts;
    }
    served.harness->ExpectNothingHeld();
  }
}

}  // namespace
}  // namespace shortlist
