// Outputs follow a grammar and are the same with drafts and without.

#include "runtime/grammars.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "nlohmann/json.hpp"
#include "runtime/engine.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

std::unique_ptr<Engine> Open(bool drafts, VerifyMode verify = VerifyMode::kCoupled) {
  Engine::Options options{.models = {.model = SourcePath("models/demo/target"),
                                     .draft = drafts ? SourcePath("models/demo/draft") : ""},
                          .num_threads = 1,
                          .vocab = {},
                          .num_tail_rows = 32,
                          .sketch = {},
                          .decoding = {},
                          .scheduler = {.max_total_tokens = 2048}};
  options.decoding.draft_p_min = 0.2;
  options.decoding.verify = verify;
  options.vocab.use_static_vocab = true;
  options.vocab.custom_vocab_path = SourcePath("vocab_lists/demo.vocab.json");
  options.vocab.top_n = 1024;
  auto engine = Engine::Open(std::move(options));
  EXPECT_TRUE(engine.ok()) << engine.status();
  return *std::move(engine);
}

std::vector<GrammarSpec> Specs() {
  const nlohmann::ordered_json schema = nlohmann::ordered_json::parse(R"({
      "type": "object", "additionalProperties": false, "required": ["name", "age", "tags"],
      "properties": {"name": {"type": "string", "maxLength": 20},
                     "age": {"type": "integer", "minimum": 0, "maximum": 120},
                     "tags": {"type": "array", "maxItems": 3, "items": {"enum": ["a", "bc"]}}}})");
  return {{.kind = GrammarSpec::Kind::kJsonSchema, .schema = schema},
          {.kind = GrammarSpec::Kind::kJsonSchema, .schema = schema, .compact = true},
          {.kind = GrammarSpec::Kind::kRegex, .text = "[A-Z][a-z]{3,9}( [a-z]{2,8}){4}\\."},
          {.kind = GrammarSpec::Kind::kEbnf, .text = "root ::= (\"ha\" | \"ho\"){5,9} \"!\""},
          {.kind = GrammarSpec::Kind::kChoice, .choices = {"yes", "no", "not at all"}}};
}

TEST(GrammarsTest, OutputsFollowGrammarAndEqualPlainDecoding) {
  const std::unique_ptr<Engine> plain = Open(/*drafts=*/false), drafted = Open(/*drafts=*/true);
  const auto grammars = NewGrammarCompiler(plain->models());
  ASSERT_TRUE(grammars.ok()) << grammars.status();
  int64_t num_accepted = 0;
  for (const GrammarSpec& spec : Specs()) {
    const auto grammar = (*grammars)->Compile(spec);
    ASSERT_TRUE(grammar.ok()) << grammar.status();
    EXPECT_EQ(*(*grammars)->Compile(spec), *grammar);  // kept
    for (const double temperature : {0.0, 0.8}) {
      for (uint64_t seed = 0; seed < (temperature == 0.0 ? 1 : 4); ++seed) {
        const SamplingParams params{.temperature = temperature,
                                    .repetition_penalty = seed == 3 ? 1.2 : 1.0,
                                    .grammar = *grammar,
                                    .seed = seed,
                                    .max_new_tokens = 300};
        const auto expected = plain->Generate("Once upon a time", params);
        const auto output = drafted->Generate("Once upon a time", params);
        ASSERT_TRUE(expected.ok() && output.ok()) << expected.status() << output.status();
        EXPECT_EQ(output->ids, expected->ids);
        num_accepted += output->stats.num_accepted;
        // The output is complete, and walks through the grammar to its end.
        EXPECT_EQ(output->finish_reason, FinishReason::kStop) << output->text;
        TokenConstraint::State state = (*grammar)->Begin();
        for (const TokenId id : output->ids) {
          EXPECT_TRUE((*grammar)->Allows(state, id)) << output->text;
          state = (*grammar)->Next(state, id);
        }
        EXPECT_TRUE((*grammar)->IsComplete(state)) << output->text;
        if (spec.kind != GrammarSpec::Kind::kJsonSchema) continue;
        const auto value = nlohmann::json::parse(output->text, nullptr, /*exceptions=*/false);
        EXPECT_TRUE(value.is_object() && value.size() == 3) << output->text;
      }
    }
  }
  EXPECT_GT(num_accepted, 50);
}

TEST(GrammarsTest, RejectionSamplingFollowsGrammar) {
  const std::unique_ptr<Engine> drafted = Open(/*drafts=*/true, VerifyMode::kRejection);
  const auto grammars = NewGrammarCompiler(drafted->models());
  ASSERT_TRUE(grammars.ok()) << grammars.status();
  for (const GrammarSpec& spec : Specs()) {
    const auto grammar = (*grammars)->Compile(spec);
    ASSERT_TRUE(grammar.ok()) << grammar.status();
    for (uint64_t seed = 0; seed < 3; ++seed) {
      const SamplingParams params{
          .temperature = 0.9, .grammar = *grammar, .seed = seed, .max_new_tokens = 300};
      const auto output = drafted->Generate("Once upon a time", params);
      ASSERT_TRUE(output.ok()) << output.status();
      TokenConstraint::State state = (*grammar)->Begin();
      for (const TokenId id : output->ids) {
        EXPECT_TRUE((*grammar)->Allows(state, id)) << output->text;
        state = (*grammar)->Next(state, id);
      }
      EXPECT_TRUE((*grammar)->IsComplete(state)) << output->text;
    }
  }
}

}  // namespace
}  // namespace shortlist
