#include "runtime/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using testing::HasSubstr;

const char kPrompt[] = "# `vector` class";

Engine::Options DemoPair() {
  return {.models = {.model = SourcePath("models/demo/target"),
                     .draft = SourcePath("models/demo/draft")},
          .num_threads = 2,
          .num_tail_rows = 64,
          .scheduler = {.max_total_tokens = 600}};
}

std::unique_ptr<Engine> Open(const Engine::Options& options) {
  absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Open(options);
  EXPECT_TRUE(engine.ok()) << engine.status();
  return engine.ok() ? *std::move(engine) : nullptr;
}

TEST(EngineTest, TextEqualsPlainDecodingForAnyVocabulary) {
  Engine::Options options = DemoPair();
  options.models.draft.clear();
  const auto plain = Open(options);
  ASSERT_NE(plain, nullptr);
  EXPECT_EQ(plain->vocab(), nullptr);
  const std::pair<std::string, std::string> kRuns[] = {
      {"draft", "full"}, {"draft", "ratio:0.1"}, {"eagle3", "full"}, {"eagle3", "ratio:0.1"}};
  for (const auto& [draft, vocab] : kRuns) {
    options = DemoPair();
    options.models.draft = SourcePath("models/demo/" + draft);
    options.vocab = *ParseVocabFlag(vocab);
    options.sketch.alone = false;
    options.decoding.draft_p_min = 0.2;  // by costs, a draft may not pay on this machine
    const auto engine = Open(options);
    ASSERT_NE(engine, nullptr);
    for (const SamplingParams& params :
         {SamplingParams{.max_new_tokens = 40},
          SamplingParams{.temperature = 0.8, .seed = 7, .max_new_tokens = 40}}) {
      std::string streamed;
      const auto output = engine->Generate(
          kPrompt, params, [&](std::string_view piece) { streamed += std::string(piece); });
      ASSERT_TRUE(output.ok()) << output.status();
      EXPECT_EQ(streamed, output->text);
      EXPECT_EQ(output->ids.size(), 40u);
      EXPECT_EQ(output->finish_reason, FinishReason::kLength);
      EXPECT_GT(output->stats.num_accepted, 0);
      const auto expected = plain->Generate(kPrompt, params);
      ASSERT_TRUE(expected.ok()) << expected.status();
      EXPECT_EQ(output->ids, expected->ids);
      EXPECT_EQ(output->text, expected->text);
    }
    EXPECT_EQ(engine->vocab()->Active()->is_full_head(), vocab == "full");
    EXPECT_TRUE(engine->router().idle());
  }
}

TEST(EngineTest, OversizedPromptIsRejectedAndNextIsServed) {
  const auto engine = Open(DemoPair());
  ASSERT_NE(engine, nullptr);
  std::string endless;
  for (int i = 0; i < 700; ++i) endless += " word";
  EXPECT_FALSE(engine->Generate(endless, {.max_new_tokens = 4}).ok());
  EXPECT_THAT(std::string(engine->Generate("a", {.temperature = -1}).status().message()),
              HasSubstr("temperature"));
  EXPECT_EQ(engine->Generate("a\xff", {.max_new_tokens = 4}).status().code(),
            absl::StatusCode::kInvalidArgument);
  const auto throws = [](std::string_view) { throw std::runtime_error("the reader has gone"); };
  EXPECT_THROW((void)engine->Generate(kPrompt, {.max_new_tokens = 8}, throws), std::runtime_error);
  EXPECT_TRUE(engine->router().idle());
  const auto output = engine->Generate(kPrompt, {.max_new_tokens = 8});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->ids.size(), 8u);
}

TEST(EngineTest, ModelEosEndsText) {
  const auto engine = Open(DemoPair());
  ASSERT_NE(engine, nullptr);
  const auto whole = engine->Generate(kPrompt, {.max_new_tokens = 12});
  ASSERT_TRUE(whole.ok()) << whole.status();
  const auto cut =
      engine->Generate(kPrompt, {.max_new_tokens = 12, .stop_token_ids = {whole->ids[5]}});
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_EQ(cut->finish_reason, FinishReason::kStop);
  EXPECT_LE(cut->ids.size(), 6u);
  EXPECT_EQ(cut->ids.back(), whole->ids[5]);
  EXPECT_TRUE(whole->text.starts_with(cut->text));
}

TEST(EngineTest, ErrorsNameCause) {
  Engine::Options options = DemoPair();
  options.models.model = "/no/such/dir";
  EXPECT_THAT(std::string(Engine::Open(options).status().message()), HasSubstr("/no/such/dir"));
  options = DemoPair();
  options.vocab = *ParseVocabFlag("/no/such/list.json");
  EXPECT_THAT(std::string(Engine::Open(options).status().message()), HasSubstr("list.json"));
  options = DemoPair();
  options.models.model = SourcePath("models/demo/draft");
  EXPECT_FALSE(Engine::Open(options).ok());
}

}  // namespace
}  // namespace shortlist
