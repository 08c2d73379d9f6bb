#include "runtime/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "draft/chain_drafter.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/generation_config.h"
#include "model/decoder.h"
#include "tests/support/temp_dir.h"
#include "text/tokenizer.h"

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
  for (const char* draft : {"models/demo/draft", "models/demo/small_draft"}) {
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

}  // namespace
}  // namespace shortlist
