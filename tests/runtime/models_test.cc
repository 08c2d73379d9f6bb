#include "runtime/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "draft/chain_drafter.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/eagle3_config.h"
#include "model/checkpoint/generation_config.h"
#include "model/decoder.h"
#include "runtime/decoding_options.h"
#include "tests/support/temp_dir.h"
#include "text/tokenizer.h"
#include "vocab/active_vocab.h"
#include "vocab/base_ladder.h"
#include "vocab/vocab_options.h"

namespace shortlist {
namespace {

using testing::HasSubstr;

TEST(ModelsTest, SettingsAreKnownBeforeWeightsLoad) {
  const TempDir dir;
  std::filesystem::copy(SourcePath("models/demo/target"), dir.Join("m"));
  std::filesystem::remove(dir.Join("m/model.safetensors"));
  dir.Write("m/generation_config.json", R"({"eos_token_id": [5, 9], "max_new_tokens": 7})");
  ThreadPool pool(1);
  const auto models = Models::Open({.model = dir.Join("m")}, pool);
  ASSERT_TRUE(models.ok()) << models.status();
  EXPECT_FALSE((*models)->has_draft());
  EXPECT_EQ((*models)->stop_token_ids(),
            std::vector<TokenId>({TokenId{5}, TokenId{9}, (*models)->tokenizer().eos().value()}));
  EXPECT_EQ((*models)->sampling().max_new_tokens, 7);
  EXPECT_EQ((*models)->vocab_target().vocab_size, (*models)->config().vocab_size);
  EXPECT_LE((*models)->num_ids(), (*models)->tokenizer().size());
  EXPECT_FALSE((*models)->Load().ok());
}

/// A fine-tune with "<|im_end|>" at the end of a turn often changes the tokenizer's files alone.
TEST(ModelsTest, TokenizerAndConfigEosBothStop) {
  const auto stops = [](const char* config_eos, const char* tokenizer_config) {
    const TempDir dir;
    std::filesystem::copy(SourcePath("models/demo/target"), dir.Join("m"));
    dir.Write("m/tokenizer_config.json", tokenizer_config);
    dir.Write("m/generation_config.json", config_eos);
    ThreadPool pool(1);
    const auto models = Models::Open({.model = dir.Join("m")}, pool);
    EXPECT_TRUE(models.ok()) << models.status();
    std::vector<int32_t> ids;
    if (!models.ok()) return ids;
    for (const TokenId id : (*models)->stop_token_ids()) ids.push_back(Raw(id));
    return ids;
  };
  using Ids = std::vector<int32_t>;
  constexpr char kOwn[] = R"({"eos_token": "<s>"})";
  EXPECT_EQ(stops(R"({"eos_token_id": 2})", kOwn), Ids({2, 1}));
  EXPECT_EQ(stops(R"({"eos_token_id": [1, 2]})", kOwn), Ids({1, 2}));
  EXPECT_EQ(stops("{}", kOwn), Ids({2, 1}));
}

TEST(ModelsTest, DraftSharesTokenizerAndHasItsOwnMemory) {
  ThreadPool pool(1);
  const ModelOptions alone{.model = SourcePath("models/demo/target")};
  const auto target = Models::Open(alone, pool);
  ASSERT_TRUE(target.ok() && (*target)->Load().ok());
  for (const char* draft : {"models/demo/draft", "models/demo/eagle3", "models/demo/small_draft"}) {
    ModelOptions options = alone;
    options.draft = SourcePath(draft);
    const auto pair = Models::Open(options, pool);
    ASSERT_TRUE(pair.ok()) << pair.status();
    const absl::Status loaded = (*pair)->Load();
    ASSERT_TRUE(loaded.ok()) << loaded;
    EXPECT_GT((*pair)->kv_slot_bytes(), (*target)->kv_slot_bytes());
    const auto drafter = (*pair)->NewDrafter(/*num_slots=*/32);
    ASSERT_TRUE(drafter.ok()) << drafter.status();
    EXPECT_EQ((*drafter)->num_slots(), 32);
  }
}

/// The demo pair with its EAGLE-3 head.
ModelOptions Eagle3Pair() {
  return {.model = SourcePath("models/demo/target"), .draft = SourcePath("models/demo/eagle3")};
}

TEST(ModelsTest, Eagle3HeadIsKnownBeforeWeightsLoad) {
  ThreadPool pool(1);
  const auto models = Models::Open(Eagle3Pair(), pool);
  ASSERT_TRUE(models.ok()) << models.status();
  ASSERT_NE((*models)->eagle3(), nullptr);
  EXPECT_EQ((*models)->eagle3()->taps, (std::vector<int64_t>{2, 5, 8}));
  ASSERT_NE((*models)->head_rows(), nullptr);
  EXPECT_EQ((*models)->head_rows()->size(), 4096);
  EXPECT_EQ((*models)->vocab_target().head_rows, (*models)->head_rows());
}

TEST(ModelsTest, ListsAreLimitedToRowsOfHead) {
  ThreadPool pool(1);
  const auto models = Models::Open(Eagle3Pair(), pool);
  ASSERT_TRUE(models.ok()) << models.status();
  const auto full = (*models)->SelectBase({});
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_TRUE((*full)->is_full_head());
  EXPECT_EQ((*full)->num_rows(), 4096);
  const std::string list = SourcePath("vocab_lists/demo.vocab.json");
  const auto all = (*models)->SelectBase(*ParseVocabFlag(list));
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_LE((*all)->size(), 4096);
  for (const int32_t id : (*all)->ids()) {
    EXPECT_GE((*models)->head_rows()->RowOf(TokenId{id}), 0) << id;
  }
  const auto ladder = (*models)->SelectLadder(*ParseVocabFlag(list + ":auto"));
  ASSERT_TRUE(ladder.ok()) << ladder.status();
  EXPECT_EQ((*ladder)->rows().back(), 4096);

  const TempDir dir;
  std::string rare;  // tokens that the head has no rows for
  for (int32_t id = 0; id < 16384; ++id) {
    if ((*models)->head_rows()->RowOf(TokenId{id}) < 0) rare += std::to_string(id) + "\n";
  }
  dir.Write("rare.txt", rare);
  const auto none = (*models)->SelectBase(*ParseVocabFlag(dir.Join("rare.txt")));
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("none of its tokens has a row in the draft's head"));
}

TEST(ModelsTest, TapsAreAnEagle3HeadsAlone) {
  ThreadPool pool(1);
  ModelOptions options = Eagle3Pair();
  options.draft_taps = {{1, 2, 3}};
  auto models = Models::Open(options, pool);
  ASSERT_TRUE(models.ok()) << models.status();
  EXPECT_EQ((*models)->eagle3()->taps, (std::vector<int64_t>{1, 2, 3}));
  options.draft_taps = {{1, 2, 12}};
  models = Models::Open(options, pool);
  EXPECT_THAT(std::string(models.status().message()), HasSubstr("boundary 12 not in [0, 11]"));
  options.draft = SourcePath("models/demo/draft");
  models = Models::Open(options, pool);
  EXPECT_THAT(std::string(models.status().message()), HasSubstr("is no EAGLE-3 head"));
}

TEST(ModelsTest, Eagle3HeadNeedsItsTarget) {
  ThreadPool pool(1);
  ModelOptions options = Eagle3Pair();
  options.model = SourcePath("models/demo/small_draft");
  auto models = Models::Open(options, pool);
  EXPECT_THAT(std::string(models.status().message()),
              HasSubstr("target_hidden_size 256 does not fit the target's 128"));
  models = Models::Open({.model = SourcePath("models/demo/eagle3")}, pool);
  EXPECT_THAT(std::string(models.status().message()), HasSubstr("an EAGLE-3 head, a draft"));
}

TEST(ModelsTest, SketchesNeedRowsForAllTokens) {
  ThreadPool pool(2);
  const auto models = Models::Open(Eagle3Pair(), pool);
  ASSERT_TRUE(models.ok()) << models.status();
  const absl::Status loaded = (*models)->Load();
  ASSERT_TRUE(loaded.ok()) << loaded;
  DecodingOptions decoding;
  const absl::Status alone = SketchOptions().Open(**models, decoding);  // as without flags
  EXPECT_TRUE(alone.ok()) << alone;
  EXPECT_FALSE(decoding.sketch_alone);
  SketchOptions asked;
  asked.num_rows = 64;
  EXPECT_THAT(std::string(asked.Open(**models, decoding).message()),
              HasSubstr("has rows for 4096 of 16384 tokens"));
}

}  // namespace
}  // namespace shortlist
