#include "vocab/base_ladder.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/vocab/test_util.h"
#include "vocab/coverage_guard.h"
#include "vocab/vocab_sizer.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kVocabSize = 100;

/// Ranks 99, 98, ... 40; token 0 is pinned. 5 is often followed by 41, 42 and 99.
VocabList List() {
  VocabList list{.vocab_size = kVocabSize, .pinned = Ids({0}), .ranked = true};
  for (int32_t id = 99; id >= 40; --id) list.ids.push_back(TokenId{id});
  list.successors.resize(kVocabSize);
  list.successors[5] = Ids({41, 42, 99});
  return list;
}

VocabOptions Auto(std::optional<int64_t> min_rows, std::optional<int64_t> max_rows) {
  return {.use_static_vocab = true,
          .custom_vocab_path = "list",
          .auto_size = true,
          .min_rows = min_rows,
          .max_rows = max_rows,
          .successors = 2};
}

TEST(BaseLadderTest, SizesGrowToListAndFullHead) {
  const auto ladder = BaseLadder::Create(Auto(10, std::nullopt), List(), {kVocabSize});
  ASSERT_TRUE(ladder.ok()) << ladder.status();
  EXPECT_THAT((*ladder)->rows(), ElementsAre(10, 14, 20, 28, 40, 61, 100));
  EXPECT_EQ((*ladder)->start(), 6u);
  for (size_t size = 0; size + 1 < (*ladder)->rows().size(); ++size) {
    const auto base = (*ladder)->Base(size);
    ASSERT_TRUE(base.ok()) << base.status();
    EXPECT_EQ((*base)->size(), (*ladder)->rows()[size]);
    EXPECT_GE((*base)->RowOf(TokenId{0}), 0);
  }
  EXPECT_TRUE((*(*ladder)->Base(6))->is_full_head());
}

TEST(BaseLadderTest, FirstSizeIsSmallestBaseWithToken) {
  for (const std::optional<int64_t> max_rows : {std::optional<int64_t>(), std::optional(30l)}) {
    const auto ladder = BaseLadder::Create(Auto(10, max_rows), List(), {kVocabSize});
    ASSERT_TRUE(ladder.ok()) << ladder.status();
    for (int32_t last : {5, 6}) {
      for (int32_t id = 0; id < kVocabSize; ++id) {
        size_t expected = 0;
        for (; expected < (*ladder)->rows().size(); ++expected) {
          const auto base = *(*ladder)->Base(expected);
          if (base->RowOf(TokenId{id}) >= 0 || base->IsSuccessor(TokenId{last}, TokenId{id})) break;
        }
        EXPECT_EQ((*ladder)->FirstSize(TokenId{last}, TokenId{id}), expected) << last << " " << id;
      }
    }
  }
}

TEST(BaseLadderTest, RejectsUnusableList) {
  VocabList unranked = List();
  unranked.ranked = false;
  const auto error = [](VocabOptions options, VocabList list) {
    return std::string(
        BaseLadder::Create(options, std::move(list), {kVocabSize}).status().message());
  };
  EXPECT_THAT(error(Auto({}, {}), unranked), HasSubstr("rank"));
  EXPECT_THAT(error(Auto(62, 90), List()), HasSubstr("auto from 62 rows, of 61 ids"));
  EXPECT_THAT(error(Auto(0, 90), List()), HasSubstr("auto from 0"));
  EXPECT_THAT(error(Auto(20, 10), List()), HasSubstr("auto from 20 to 10 rows"));
}

TEST(BaseLadderTest, FlagNamesBounds) {
  const auto parsed = ParseVocabFlag("dir:x/list.json:auto=512..8192:successors=3");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_TRUE(parsed->auto_size);
  EXPECT_EQ(parsed->custom_vocab_path, "dir:x/list.json");
  EXPECT_EQ(parsed->min_rows, 512);
  EXPECT_EQ(parsed->max_rows, 8192);
  EXPECT_EQ(parsed->successors, 3);
  ASSERT_TRUE(ParseVocabFlag("list.json:auto").ok());
  for (const char* bad :
       {"l:auto=", "l:auto=5", "l:auto=5..", "l:auto=5..x", "l:auto=9..5", "l:auto=0..5",
        "l:auto=-1..5", "l:auto:auto", "l:auto:top=5", "l:auto=1..99999999999999999999"}) {
    EXPECT_FALSE(ParseVocabFlag(bad).ok()) << bad;
  }
}

TEST(VocabSizerTest, ChangesBaseOfItsManagerOnly) {
  const auto ladder = *BaseLadder::Create(Auto(10, std::nullopt), List(), {kVocabSize});
  const auto manager = *DynamicVocabularyManager::Create(*ladder->Base(ladder->start()), {});
  VocabSizer sizer(*manager, ladder, /*sketch_rows=*/{}, /*max_draft_tokens=*/4);
  SizeControl::Step step{.num_requests = 1,
                         .num_passes = 3,
                         .verify_ms = 10.0,
                         .num_emitted = 3,
                         .num_drafted = 3,
                         .num_accepted = 2,
                         .num_judged = 3};
  const auto run = [&](int num_steps) {
    for (int i = 0; i < num_steps; ++i) {
      const auto active = manager->Active();
      const int64_t num_rows = active->is_full_head() ? kVocabSize : active->base_size();
      step.draft_ms = 0.1 * static_cast<double>(num_rows);
      sizer.CountToken(TokenId{6}, TokenId{99}, /*is_held=*/false, INT64_MAX);
      sizer.AddStep(step, *active);
    }
  };
  // A base is made on another thread: the steps go on meanwhile.
  for (int i = 0; i < 10'000 && manager->Active()->base_size() != 10; ++i) {
    run(100);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GE(sizer.num_changes(), 1);
  EXPECT_EQ(manager->Active()->base_size(), 10);  // all tokens are in the least one

  ASSERT_TRUE(manager->ReplaceBase(Base({1, 2, 3}, kVocabSize)).ok());
  run(1000);
  EXPECT_THAT(ToVector(manager->Active()->rows()), ElementsAre(1, 2, 3));

  EXPECT_FALSE(sizer.TakeNext());
  sizer.Replace(ladder);
  EXPECT_TRUE(sizer.TakeNext());
  EXPECT_TRUE(manager->Active()->is_full_head());
  EXPECT_FALSE(sizer.TakeNext());

  // A base of a fixed size set meanwhile is kept, whatever is pending.
  sizer.Replace(ladder);
  sizer.Cancel();
  EXPECT_FALSE(sizer.TakeNext());
  const auto before = manager->Active();
  ASSERT_TRUE(manager->ReplaceBase(Base({1, 2, 3}, kVocabSize)).ok());
  for (int i = 0; i < 1000; ++i) {
    step.draft_ms = 0.1 * kVocabSize;
    sizer.CountToken(TokenId{6}, TokenId{99}, /*is_held=*/false, INT64_MAX);
    sizer.AddStep(step, *before);
  }
  EXPECT_THAT(ToVector(manager->Active()->rows()), ElementsAre(1, 2, 3));
}

TEST(VocabSizerTest, WithoutLadderFindsSketchShareForAnyBase) {
  const auto manager = *DynamicVocabularyManager::Create(Base({1, 2}, kVocabSize), {});
  VocabSizer sizer(*manager, /*ladder=*/nullptr, {16, 32, 64}, /*max_draft_tokens=*/4);
  EXPECT_FALSE(sizer.sizes_base());
  EXPECT_EQ(sizer.num_sketch_rows(), 64);
  const auto run = [&](int64_t rank) {
    for (int i = 0; i < 3000; ++i) {
      sizer.CountToken(TokenId{6}, TokenId{99}, /*is_held=*/false, rank);
      sizer.AddStep({.num_requests = 1,
                     .num_passes = 3,
                     .draft_ms = 0.1 * static_cast<double>(sizer.num_sketch_rows()),
                     .verify_ms = 10.0,
                     .num_emitted = 3,
                     .num_drafted = 3,
                     .num_accepted = 2,
                     .num_judged = 3},
                    *manager->Active());
    }
  };
  run(/*rank=*/3);
  EXPECT_EQ(sizer.num_sketch_rows(), 16);
  ASSERT_TRUE(manager->ReplaceBase(Base({1, 2, 3}, kVocabSize)).ok());
  run(/*rank=*/20);
  EXPECT_EQ(sizer.num_sketch_rows(), 32);
  EXPECT_THAT(ToVector(manager->Active()->rows()), ElementsAre(1, 2, 3));
}

TEST(VocabSizerTest, SketchReplacesBase) {
  const auto ladder = *BaseLadder::WithoutList(kVocabSize);
  EXPECT_THAT(ladder->rows(), ElementsAre(0, kVocabSize));
  EXPECT_FALSE(ladder->has_list());
  EXPECT_EQ(ladder->FirstSize(TokenId{6}, TokenId{7}), 1u);
  const auto manager = *DynamicVocabularyManager::Create(*ladder->Base(ladder->start()), {});
  VocabSizer sizer(*manager, ladder, {64}, /*max_draft_tokens=*/4, /*awaits_sketch=*/true);
  EXPECT_TRUE(sizer.sizes_base());
  EXPECT_FALSE(sizer.grows_base());
  const auto run = [&] {
    for (int i = 0; i < 1000; ++i) {
      const auto active = manager->Active();
      sizer.CountToken(TokenId{6}, TokenId{99}, /*is_held=*/false, int64_t{3});
      sizer.AddStep({.num_requests = 1,
                     .num_passes = 3,
                     .draft_ms = active->is_full_head() ? 9.0 : 3.0,
                     .verify_ms = 10.0,
                     .num_emitted = 3,
                     .num_drafted = 3,
                     .num_accepted = 2,
                     .num_judged = 3},
                    *active);
    }
  };
  run();
  EXPECT_TRUE(manager->Active()->is_full_head());
  sizer.TellSketch();
  for (int i = 0; i < 10'000 && manager->Active()->is_full_head(); ++i) {
    run();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(manager->Active()->size(), 0);
  run();
  EXPECT_EQ(manager->Active()->size(), 0);
}

TEST(CoverageGuardTest, RecoversByCoverageOrAfterTimeout) {
  constexpr double kFloor = 0.65;
  CoverageGuard guard;
  const auto collapse = [&] {
    for (int i = 0; i < 100; ++i) guard.Count(/*held=*/false, kFloor);
    ASSERT_TRUE(guard.has_collapsed());
  };
  collapse();
  for (int i = 0; i < 200; ++i) guard.Count(/*held=*/true, kFloor);
  EXPECT_FALSE(guard.has_collapsed());
  guard.Rest(kFloor);
  EXPECT_FALSE(guard.has_collapsed());

  collapse();
  int num_rested = 0;
  for (; guard.has_collapsed() && num_rested < 1000; ++num_rested) guard.Rest(kFloor);
  EXPECT_EQ(num_rested, 64);
  EXPECT_GT(guard.share(), kFloor);
  guard.Count(/*held=*/false, kFloor);
  EXPECT_FALSE(guard.has_collapsed());  // it has a try, not one token
}

}  // namespace
}  // namespace shortlist
