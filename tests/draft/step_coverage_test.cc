#include "draft/step_coverage.h"

#include <gtest/gtest.h>

#include <atomic>
#include <initializer_list>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "draft/speculation.h"
#include "sketch/sketch_fitter.h"
#include "tests/draft/engine_testing.h"
#include "vocab/base_ladder.h"
#include "vocab/vocab_list.h"

namespace shortlist {
namespace {

constexpr int64_t kVocabSize = 100;
constexpr double kFloor = 0.5;

/// A request whose prompt is 1, and a step of it over the base 10, 11, 12 and the tail row 20.
class StepCoverageTest : public testing::Test {
 protected:
  StepCoverageTest() {
    task_.sequence = sequence_.get();
    task_.active = active_.get();
    SpeculationOf(*sequence_).tail.Add(Ids({20}), *active_, RowSource::kPrompt);
  }

  static std::vector<TokenId> Ids(std::initializer_list<int32_t> values) {
    std::vector<TokenId> ids;
    for (const int32_t value : values) ids.push_back(TokenId{value});
    return ids;
  }

  /// The target emits `tokens`, of which the first `num_accepted` were drafted.
  StepCoverage Judge(std::initializer_list<int32_t> tokens, int64_t num_accepted,
                     bool has_sketch = false) {
    for (const TokenId id : Ids(tokens)) {
      sequence_->Emit(id, /*context_len=*/1000);
      sequence_->token_infos.emplace_back();
    }
    step_ = {.task = &task_,
             .active = active_.get(),
             .has_sketch = has_sketch,
             .num_accepted = num_accepted,
             .num_emitted = static_cast<int64_t>(tokens.size())};
    return CountCoverage(step_, kFloor);
  }
  const SequenceStats& stats() const { return sequence_->stats; }

  const std::shared_ptr<const ActiveVocab> active_ =
      (*DynamicVocabularyManager::Create(*VocabBase::Create(Ids({10, 11, 12}), kVocabSize), {}))
          ->Active();
  const std::shared_ptr<const ActiveVocab> full_head_ = ActiveVocab::FullHead(kVocabSize);
  const std::unique_ptr<Sequence> sequence_ =
      MakeSequence(Ids({1}), {.sampling = UpTo(500), .max_tail_rows = 5}, kVocabSize);
  DraftTask task_;
  JudgedStep step_;
};

TEST_F(StepCoverageTest, EachTokenCountsForItsSource) {
  task_.chain.tokens = Ids({10, 20, 11});
  const StepCoverage coverage = Judge({10, 20, 50}, /*num_accepted=*/2);
  const std::vector<RowSource> held = {RowSource::kBase, RowSource::kPrompt, RowSource::kNone};
  EXPECT_EQ(coverage.sources, held);
  EXPECT_EQ(coverage.held, held);
  EXPECT_EQ(coverage.scored, Ids({10, 20, 50}));
  EXPECT_TRUE(coverage.unscored.empty());
  EXPECT_EQ(coverage.shared_drafted, Ids({10, 11}));  // 20 is the request's own row
  EXPECT_EQ(stats().num_covered, 2);
  EXPECT_EQ(stats().num_held[Index(RowSource::kNone)], 1);
  EXPECT_EQ(stats().num_covered_corrections, 0);  // it was an escape
  EXPECT_FALSE(sequence_->token_infos[1].escape);
  EXPECT_TRUE(sequence_->token_infos[2].escape);
}

TEST_F(StepCoverageTest, CountsCoveredCorrections) {
  task_.chain.tokens = Ids({10, 11});
  Judge({10, 12}, /*num_accepted=*/1);
  EXPECT_EQ(stats().num_covered_corrections, 1);
  Judge({10, 11, 12}, /*num_accepted=*/2);  // the bonus is no correction
  EXPECT_EQ(stats().num_covered_corrections, 1);
}

TEST_F(StepCoverageTest, CopiedTokensWereNotDraftedFromRows) {
  task_.chain.tokens = Ids({10, 11});
  task_.chain.num_copied = 1;
  EXPECT_EQ(Judge({10, 11, 12}, /*num_accepted=*/2).shared_drafted, Ids({10}));
}

TEST_F(StepCoverageTest, CoverageIsUnknownWithoutSketchRows) {
  task_.chain.tokens = Ids({50});
  task_.chain.sketch_rows = {{50, 60}};
  const StepCoverage coverage = Judge({50, 60}, /*num_accepted=*/1, /*has_sketch=*/true);
  EXPECT_EQ(coverage.scored, Ids({50}));
  EXPECT_EQ(coverage.held, std::vector<RowSource>{RowSource::kSketch});
  EXPECT_EQ(coverage.unscored, Ids({60}));
  EXPECT_EQ(stats().num_unscored, 1);
  EXPECT_EQ(stats().num_covered, 1);
  EXPECT_FALSE(sequence_->token_infos[1].escape);
}

TEST_F(StepCoverageTest, ConstrainedTokensAreNoEvidence) {
  task_.chain.tokens = Ids({50, 11, 51, 12});
  task_.chain.forced = {0, 2};
  const CoverageGuard& guard = SpeculationOf(*sequence_).guard;
  const StepCoverage coverage = Judge({50, 11, 51, 60}, /*num_accepted=*/3);
  EXPECT_EQ(coverage.sources, (std::vector{RowSource::kGrammar, RowSource::kBase,
                                           RowSource::kGrammar, RowSource::kNone}));
  EXPECT_EQ(coverage.scored, Ids({11, 60}));
  EXPECT_EQ(coverage.unscored, Ids({50, 51}));
  EXPECT_EQ(coverage.shared_drafted, Ids({11, 12}));
  EXPECT_EQ(stats().num_constrained(), 2);
  EXPECT_EQ(stats().num_held[Index(RowSource::kNone)], 1);
  EXPECT_EQ(stats().num_covered, 1);
  const double share = guard.share();
  task_.chain.tokens = Ids({50});
  task_.chain.forced = {0};
  for (int i = 0; i < 100; ++i) Judge({50}, /*num_accepted=*/1);
  EXPECT_EQ(guard.share(), share);
  Judge({70}, /*num_accepted=*/0);  // a correction of forced text
  EXPECT_EQ(guard.share(), share);
  EXPECT_EQ(stats().num_covered_corrections, 1);
}

TEST_F(StepCoverageTest, SketchRowsOfPassesAreFoundBetweenForcedTokens) {
  task_.chain.tokens = Ids({80, 50, 81, 60});
  task_.chain.forced = {0, 2};
  task_.chain.sketch_rows = {{50}, {60}};
  const StepCoverage coverage =
      Judge({80, 50, 81, 60, 90}, /*num_accepted=*/4, /*has_sketch=*/true);
  EXPECT_EQ(coverage.held, (std::vector{RowSource::kSketch, RowSource::kSketch}));
  EXPECT_EQ(coverage.unscored, Ids({80, 81, 90}));
  EXPECT_EQ(stats().num_unscored, 1);
}

TEST_F(StepCoverageTest, RequestFallsBackOnMissesAndRecovers) {
  const CoverageGuard& guard = SpeculationOf(*sequence_).guard;
  for (int i = 0; i < 100 && !guard.has_collapsed(); ++i) Judge({50}, /*num_accepted=*/0);
  ASSERT_TRUE(guard.has_collapsed());
  const int64_t num_escapes = stats().num_held[Index(RowSource::kNone)];
  EXPECT_EQ(num_escapes, 22);  // (31/32)^22 is the first below one half

  task_.active = full_head_.get();
  task_.chain.tokens = Ids({50});
  const StepCoverage fallen = Judge({50, 10}, /*num_accepted=*/1);
  EXPECT_EQ(fallen.held, (std::vector{RowSource::kFallback, RowSource::kFallback}));
  EXPECT_EQ(fallen.sources, (std::vector{RowSource::kNone, RowSource::kBase}));
  EXPECT_TRUE(fallen.shared_drafted.empty());
  EXPECT_EQ(stats().num_held[Index(RowSource::kNone)], num_escapes);
  EXPECT_FALSE(sequence_->token_infos.back().escape);
  for (int i = 0; i < 100 && guard.has_collapsed(); ++i) Judge({10}, /*num_accepted=*/0);
  EXPECT_FALSE(guard.has_collapsed());
}

TEST_F(StepCoverageTest, OtherPartsCoverRegardlessOfBaseSize) {
  Judge({50, 60, 60}, /*num_accepted=*/0);
  const auto held = [&](RowSource source, int32_t id, bool sizes_base = true) {
    return IsHeldAnyway(*sequence_, source, TokenId{id}, sizes_base);
  };
  EXPECT_TRUE(held(RowSource::kShared, 90));
  EXPECT_TRUE(held(RowSource::kGiven, 90));
  EXPECT_TRUE(held(RowSource::kContinuations, 90));
  EXPECT_FALSE(held(RowSource::kBase, 90));
  EXPECT_TRUE(held(RowSource::kBase, 90, /*sizes_base=*/false));
  EXPECT_TRUE(held(RowSource::kSuccessors, 90, /*sizes_base=*/false));
  EXPECT_FALSE(held(RowSource::kSketch, 90, /*sizes_base=*/false));
  EXPECT_TRUE(held(RowSource::kBase, 1));    // the prompt's
  EXPECT_FALSE(held(RowSource::kBase, 50));  // for the first time
  EXPECT_TRUE(held(RowSource::kNone, 60));   // again
}

class StepCoverageEngineTest : public EmptyBaseEngineTest {};

TEST_F(StepCoverageEngineTest, CollapsedCoverageSwitchesToFullHead) {
  const Sequence::Options of{.sampling = UpTo(120), .max_tail_rows = 0};  // it learns nothing
  ASSERT_TRUE(
      vocab_->ReplaceBase(*VocabBase::Create(std::vector{TokenId{3}}, pair_->emit_size())).ok());
  const auto plain = Run(of, {}, /*use_draft=*/false);
  const auto collapsed = Run(of, {.coverage_floor = 0.65});
  EXPECT_EQ(collapsed->tokens(), plain->tokens());
  EXPECT_GT(collapsed->stats.num_fallback_steps, 0);
  EXPECT_LT(collapsed->stats.num_fallback_steps, collapsed->stats.num_verify_steps);
  EXPECT_GT(collapsed->stats.num_accepted, 0);
  EXPECT_EQ(collapsed->stats.num_mapping_faults, 0);
  const auto stubborn = Run(of, {.coverage_floor = 0.0});
  EXPECT_EQ(stubborn->tokens(), plain->tokens());
  EXPECT_EQ(stubborn->stats.num_fallback_steps, 0);
  EXPECT_GT(collapsed->stats.accept_length(), stubborn->stats.accept_length());
}

TEST_F(StepCoverageEngineTest, SketchShareIsFoundAndOutputKept) {
  const auto manager = pair_->NewVocab(VocabKind::kSketch);
  for (const double temperature : {0.0, 0.8}) {
    RunConfig config{.drafter = DrafterKind::kEagle, .sampling = UpTo(60)};
    config.sampling.temperature = temperature;
    const auto prompts = TestPrompts(/*count=*/2, /*max_len=*/60);
    const RunResult full = pair_->Run(prompts, config);
    VocabSizer sizer(*manager, /*ladder=*/nullptr, {8, 16, 32, 64}, /*max_draft_tokens=*/4);
    config.vocab = VocabKind::kSketch;
    config.sizer = &sizer;
    config.sizer_vocab = manager.get();
    for (int i = 0; i < 4; ++i) {
      const RunResult sized = pair_->Run(prompts, config);
      EXPECT_EQ(sized.outputs, full.outputs);
      EXPECT_EQ(sized.total.num_mapping_faults, 0);
      EXPECT_LE(sized.total.active_rows, 64);
    }
    EXPECT_GE(sizer.num_changes(), 1);
  }
}

/// Over the full head, then by the sketch that was fitted meanwhile, in one run.
TEST_F(StepCoverageEngineTest, SketchIsLearnedOnlineAndOutputKept) {
  const auto prompts = TestPrompts(/*count=*/3, /*max_len=*/60);
  for (const DrafterKind kind : {DrafterKind::kEagle, DrafterKind::kModel}) {
    for (const VerifyMode verify : {VerifyMode::kCoupled, VerifyMode::kRejection}) {
      SCOPED_TRACE(absl::StrCat(Name(kind), " ", static_cast<int>(verify)));
      RunConfig config{.drafter = kind, .verify = verify, .sampling = UpTo(60)};
      config.sampling.temperature = verify == VerifyMode::kCoupled ? 0.8 : 0.0;
      const RunResult full = pair_->Run(prompts, config);
      const auto ladder = *BaseLadder::WithoutList(pair_->emit_size());
      const auto manager = *DynamicVocabularyManager::Create(*ladder->Base(ladder->start()), {});
      VocabSizer sizer(*manager, ladder, {kSketchRows}, /*max_draft_tokens=*/4,
                       /*awaits_sketch=*/true);
      std::atomic<int64_t> num_states = 0;
      SketchFitter fitter(pair_->HeadOf(kind), pair_->emit_size(), {},
                          {.basis =
                               [&](const SketchBasis& basis) {
                                 num_states = basis.num_states;
                                 return absl::OkStatus();
                               },
                           .moments = [](const StateMoments&) { return absl::OkStatus(); }});
      // Kept for all runs: the fitter returns a sketch once.
      const auto drafter = pair_->NewDrafter(kind, config.batch * kLaneSlots);
      drafter->LearnSketch(fitter, kSketchRows, pair_->pool());
      config.kept_drafter = drafter.get();
      config.sizer = &sizer;
      config.sizer_vocab = manager.get();
      config.vocab = VocabKind::kFullHead;
      bool was_pruned = false;
      for (int i = 0; i < 1000 && !was_pruned; ++i) {
        const RunResult learned = pair_->Run(prompts, config);
        ASSERT_EQ(learned.outputs, full.outputs) << i;
        EXPECT_EQ(learned.total.num_mapping_faults, 0);
        was_pruned = learned.total.num_held[Index(RowSource::kSketch)] > 0;
      }
      EXPECT_TRUE(was_pruned);
      EXPECT_GE(num_states, SketchFitter::kFitAt[0]);
      EXPECT_TRUE(fitter.error().ok()) << fitter.error();
    }
  }
}

TEST_F(StepCoverageEngineTest, BaseSizeIsFoundAndOutputKept) {
  const VocabTarget target{pair_->emit_size(), /*fingerprint=*/""};
  const std::string path = SourcePath("vocab_lists/demo.vocab.json");
  auto list = ReadVocabList(path, target);
  ASSERT_TRUE(list.ok()) << list.status();
  const auto ladder = BaseLadder::Create(
      {.use_static_vocab = true, .custom_vocab_path = path, .auto_size = true, .successors = 64},
      *std::move(list), target);
  ASSERT_TRUE(ladder.ok()) << ladder.status();
  ASSERT_TRUE(vocab_->ReplaceBase(*(*ladder)->Base((*ladder)->start())).ok());
  VocabSizer sizer(*vocab_, *ladder, /*sketch_rows=*/{}, /*max_draft_tokens=*/4);
  const Sequence::Options of{.sampling = UpTo(100), .max_tail_rows = 32};
  const auto plain = Run(of, {}, /*use_draft=*/false);
  for (int i = 0; i < 4; ++i) {
    const auto sized = Run(of, {.sizer = &sizer});
    EXPECT_EQ(sized->tokens(), plain->tokens());
    EXPECT_EQ(sized->stats.num_mapping_faults, 0);
  }
  EXPECT_GE(sizer.num_changes(), 1);
}

}  // namespace
}  // namespace shortlist
