// I1 for a target with recurrent layers: whatever drafts, whatever is rejected, and however
// requests are batched, chunked and restarted, the output is plain decoding's.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "draft/eagle_drafter.h"
#include "draft/engine.h"
#include "draft/model_drafter.h"
#include "model/decoder.h"
#include "model/mtp_model.h"
#include "tests/draft/pair.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_hybrid.h"
#include "vocab/dynamic_vocabulary_manager.h"

namespace shortlist {
namespace {

constexpr int64_t kNumIds = 96;
constexpr int64_t kLaneLen = 200;  // slots of one request
constexpr int64_t kRequests = 3;

class RecurrentEngineTest : public testing::Test {
 protected:
  RecurrentEngineTest() {
    EXPECT_TRUE(WriteTinyHybrid(dir_.path(), /*seed=*/6).ok());
    const ModelSource source = ModelSource::OfDirectory(dir_.path());
    target_ = *Decoder::Load(source, std::nullopt, pool_);
    mtp_ = *MtpModel::Load(source, *target_, pool_);
    std::mt19937 random(7);
    for (int64_t i = 0; i < kRequests; ++i) {
      std::vector<TokenId> prompt;
      for (int64_t len = 20 + 15 * i; len > 0; --len) {
        prompt.push_back(TokenId{static_cast<int32_t>(3 + random() % 20)});  // repeats itself
      }
      prompts_.push_back(std::move(prompt));
    }
  }

  std::unique_ptr<SpeculativeEngine> NewEngine(Drafter* drafter, int64_t num_draft_tokens,
                                               bool copies_alone, DynamicVocabularyManager* vocab) {
    return *SpeculativeEngine::Create(*target_, drafter, vocab,
                                      {.num_draft_tokens = num_draft_tokens,
                                       .draft_p_min = 0.0,
                                       .copies_alone = copies_alone,
                                       .num_slots = kRequests * kLaneLen,
                                       .emit_size = kNumIds},
                                      pool_);
  }

  /// Runs all prompts together, in chunks of `chunk` tokens. With `restarts`, requests restart now
  /// and then where a state was kept.
  std::vector<std::vector<TokenId>> Run(SpeculativeEngine& engine, double temperature,
                                        int64_t chunk, bool restarts) {
    std::mt19937 random(8);
    std::vector<std::unique_ptr<Sequence>> sequences;
    std::vector<std::vector<int32_t>> slots;
    for (int64_t i = 0; i < kRequests; ++i) {
      SamplingParams sampling;
      sampling.max_new_tokens = 60;
      sampling.temperature = temperature;
      sampling.seed = 11 + i;
      sequences.push_back(*Sequence::Create(prompts_[i], {.sampling = sampling}, kNumIds));
      slots.emplace_back(kLaneLen);
      std::iota(slots.back().begin(), slots.back().end(), static_cast<int32_t>(i * kLaneLen));
    }
    while (true) {
      std::vector<StepWork> prefill, decode;
      for (int64_t i = 0; i < kRequests; ++i) {
        Sequence& sequence = *sequences[i];
        if (sequence.finished()) continue;
        if (restarts && random() % 8 == 0) {
          const int64_t most = std::min(sequence.cached_len, sequence.num_tokens() - 1);
          const std::span<const int32_t> known = std::span(slots[i]).first(most);
          engine.AdoptPrefix(sequence, known.first(engine.ResumableLen(known)), {});
        }
        (sequence.prefilled() ? decode : prefill).push_back({&sequence, slots[i]});
      }
      if (prefill.empty() && decode.empty()) break;
      EXPECT_TRUE(prefill.empty() || engine.Prefill(prefill, chunk).ok());
      EXPECT_TRUE(decode.empty() || engine.Step(decode).ok());
    }
    std::vector<std::vector<TokenId>> outputs;
    for (const auto& sequence : sequences) {
      outputs.emplace_back(sequence->output().begin(), sequence->output().end());
      num_drafted_ += sequence->stats.num_drafted;
      num_accepted_ += sequence->stats.num_accepted;
    }
    return outputs;
  }

  TempDir dir_;
  ThreadPool pool_{/*num_threads=*/2};
  std::unique_ptr<Decoder> target_;
  std::unique_ptr<MtpModel> mtp_;
  std::vector<std::vector<TokenId>> prompts_;
  int64_t num_drafted_ = 0, num_accepted_ = 0;
};

TEST_F(RecurrentEngineTest, OutputEqualsPlainDecoding) {
  for (const double temperature : {0.0, 0.8}) {
    const auto plain = NewEngine(/*drafter=*/nullptr, /*num_draft_tokens=*/0,
                                 /*copies_alone=*/false, /*vocab=*/nullptr);
    const auto expected = Run(*plain, temperature, /*chunk=*/512, /*restarts=*/false);
    num_drafted_ = num_accepted_ = 0;
    for (const bool has_mtp : {false, true}) {
      for (const int64_t num_draft_tokens : {1, 4, 8}) {
        for (const bool restarts : {false, true}) {
          const auto drafter =
              has_mtp ? *EagleDrafter::Create(*mtp_, kRequests * kLaneLen, kNumIds, pool_)
                      : nullptr;
          std::vector<TokenId> base;
          for (int32_t id = 0; id < kNumIds; id += 2) base.push_back(TokenId{id});
          const auto vocab = *DynamicVocabularyManager::Create(*VocabBase::Create(base, kNumIds),
                                                               {.dynamic_capacity = 10});
          const auto engine =
              NewEngine(drafter.get(), num_draft_tokens, /*copies_alone=*/!has_mtp, vocab.get());
          EXPECT_EQ(Run(*engine, temperature, /*chunk=*/restarts ? 7 : 512, restarts), expected)
              << "T " << temperature << " K " << num_draft_tokens << (has_mtp ? " MTP" : " suffix")
              << (restarts ? " restarts" : "");
          EXPECT_TRUE(engine->draft_error().ok()) << engine->draft_error();
        }
      }
    }
    // Both cases were met.
    EXPECT_GT(num_accepted_, 20);
    EXPECT_GT(num_drafted_ - num_accepted_, 100);
  }
}

TEST_F(RecurrentEngineTest, ADraftModelHasNoRecurrentLayers) {
  const auto drafter = ModelDrafter::Create(*target_, kRequests * kLaneLen, kNumIds, pool_);
  EXPECT_EQ(drafter.status().code(), absl::StatusCode::kUnimplemented) << drafter.status();
}

TEST_F(RecurrentEngineTest, AnotherSequenceResumesWhereOneEnded) {
  const auto engine = NewEngine(/*drafter=*/nullptr, /*num_draft_tokens=*/4, /*copies_alone=*/true,
                                /*vocab=*/nullptr);
  std::vector<int32_t> slots(kLaneLen);
  std::iota(slots.begin(), slots.end(), 0);
  SamplingParams sampling;
  sampling.max_new_tokens = 40;
  const auto whole = *Sequence::Create(prompts_[1], {.sampling = sampling}, kNumIds);
  const std::vector<StepWork> work = {{whole.get(), slots}};
  ASSERT_TRUE(engine->Prefill(work, /*max_tokens=*/512).ok());
  const auto run = [&](std::span<const StepWork> of) {
    while (!of[0].sequence->finished()) ASSERT_TRUE(engine->Step(of).ok());
  };
  run(work);
  const std::span<const int32_t> computed = std::span(slots).first(whole->cached_len);
  engine->End(*whole, computed);
  // All of it, output too.
  EXPECT_EQ(engine->ResumableLen(computed), std::ssize(computed));

  // The next turn: what was said, and more.
  std::vector<TokenId> next(whole->tokens().begin(), whole->tokens().end());
  for (int32_t id = 30; id < 36; ++id) next.push_back(TokenId{id});
  const auto fresh = *Sequence::Create(next, {.sampling = sampling}, kNumIds);
  std::vector<int32_t> other_slots(kLaneLen);
  std::iota(other_slots.begin(), other_slots.end(), static_cast<int32_t>(kLaneLen));
  const std::vector<StepWork> other = {{fresh.get(), other_slots}};
  ASSERT_TRUE(engine->Prefill(other, /*max_tokens=*/512).ok());
  run(other);
  const auto resumed = *Sequence::Create(next, {.sampling = sampling}, kNumIds);
  engine->AdoptPrefix(*resumed, computed, {});
  const std::vector<StepWork> again = {{resumed.get(), slots}};
  ASSERT_TRUE(engine->Prefill(again, /*max_tokens=*/512).ok());
  run(again);
  EXPECT_EQ(resumed->tokens(), fresh->tokens());
}

}  // namespace
}  // namespace shortlist
