#include "grammar/grammar_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

/// The tokens are the bytes; 0 ends an output.
GrammarCompiler::Options ByteTokens() {
  static const std::vector<std::string> bytes = [] {
    std::vector<std::string> all(1);
    for (int byte = 1; byte < 256; ++byte) all.push_back(std::string(1, static_cast<char>(byte)));
    return all;
  }();
  return {.tokens = {bytes.begin(), bytes.end()},
          .end_ids = {TokenId{0}},
          .encode = [](std::string_view) { return std::vector<TokenId>(); }};
}

GrammarSpec Regex(const std::string& text) {
  return {.kind = GrammarSpec::Kind::kRegex, .text = text};
}

bool Accepts(const TokenConstraint& grammar, const std::string& text) {
  TokenConstraint::State state = grammar.Begin();
  for (const char c : text) state = grammar.Next(state, TokenId{static_cast<uint8_t>(c)});
  return grammar.Allows(state, TokenId{0});
}

TEST(GrammarCompilerTest, EveryKindIsCompiled) {
  GrammarCompiler compiler(ByteTokens());
  const auto accepts = [&](const GrammarSpec& spec, const std::string& text) {
    const auto grammar = compiler.Compile(spec);
    EXPECT_TRUE(grammar.ok()) << grammar.status();
    return grammar.ok() && Accepts(**grammar, text);
  };
  EXPECT_TRUE(accepts(Regex("a+"), "aa"));
  EXPECT_FALSE(accepts(Regex("a+"), "ab"));
  EXPECT_TRUE(accepts({.kind = GrammarSpec::Kind::kEbnf, .text = "root ::= \"x\""}, "x"));
  EXPECT_TRUE(accepts({.kind = GrammarSpec::Kind::kChoice, .choices = {"yes", "no"}}, "no"));
  EXPECT_TRUE(accepts({}, R"({"a": 1})"));
  EXPECT_FALSE(accepts({}, "1"));
  GrammarSpec schema{.kind = GrammarSpec::Kind::kJsonSchema, .schema = {{"type", "array"}}};
  EXPECT_TRUE(accepts(schema, "[1, 2]"));
  schema.compact = true;
  EXPECT_FALSE(accepts(schema, "[1, 2]"));
  EXPECT_TRUE(accepts(schema, "[1,2]"));
}

TEST(GrammarCompilerTest, EqualSpecsShareOneGrammar) {
  GrammarCompiler compiler(ByteTokens());
  const auto first = *compiler.Compile(Regex("a"));
  EXPECT_EQ(*compiler.Compile(Regex("a")), first);
  EXPECT_NE(*compiler.Compile(Regex("b")), first);
  EXPECT_NE(*compiler.Compile({.kind = GrammarSpec::Kind::kChoice, .choices = {"a"}}, ""), first);
}

TEST(GrammarCompilerTest, SaltsShareNoGrammar) {
  GrammarCompiler compiler(ByteTokens());
  const auto first = *compiler.Compile(Regex("a"), "one");
  EXPECT_EQ(*compiler.Compile(Regex("a"), "one"), first);
  EXPECT_NE(*compiler.Compile(Regex("a"), "two"), first);
}

std::string Repeated(std::string_view text, int count) {
  std::string repeated;
  for (int i = 0; i < count; ++i) repeated.append(text);
  return repeated;
}

TEST(GrammarCompilerTest, StateWithTooManyWaysToGoOnIsRejected) {
  GrammarCompiler compiler(ByteTokens());
  std::string chain;
  for (int i = 0; i < 20'000; ++i) {
    absl::StrAppend(&chain, i == 0 ? "root" : absl::StrCat("r", i), " ::= r", i + 1, " | r", i + 1,
                    " \"x\"\n");
  }
  ordered_json texts = {{"type", "sequence"}, {"elements", ordered_json::array()}};
  for (int i = 0; i < 900; ++i) texts["elements"].push_back({{"type", "any_text"}});
  for (const GrammarSpec& spec :
       {Regex(Repeated(".?", 3000) + "x"), Regex(Repeated(".*", 3000) + "z"),
        Regex(Repeated("(a?b?)", 8000)),
        GrammarSpec{.kind = GrammarSpec::Kind::kEbnf, .text = chain + "r20000 ::= \"y\""},
        GrammarSpec{.kind = GrammarSpec::Kind::kStructuralTag, .schema = {{"format", texts}}}}) {
    const auto grammar = compiler.Compile(spec);
    EXPECT_EQ(grammar.status().code(), absl::StatusCode::kInvalidArgument)
        << spec.text.substr(0, 99);
    EXPECT_THAT(std::string(grammar.status().message()), HasSubstr("too complex"));
  }
}

TEST(GrammarCompilerTest, LaterStateWithTooManyWaysEndsTheOutput) {
  GrammarCompiler compiler(ByteTokens());
  const auto grammar = *compiler.Compile(Regex("ab" + Repeated(".?", 3000) + "x"));
  EXPECT_EQ(grammar->Failure(), "");
  const TokenConstraint::State later =
      grammar->Next(grammar->Next(grammar->Begin(), TokenId{'a'}), TokenId{'b'});
  EXPECT_TRUE(grammar->Allowed(later).ids().empty());
  EXPECT_THAT(grammar->Failure(), HasSubstr("too complex"));
}

TEST(GrammarCompilerTest, MemoryOfGrammarsInUseIsBounded) {
  GrammarCompiler::Options options = ByteTokens();
  options.max_bytes = 1;  // keeps one alone
  options.max_used_bytes = 300'000;
  GrammarCompiler compiler(options);
  std::vector<std::shared_ptr<const TokenConstraint>> used;
  absl::Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    auto grammar = compiler.Compile(Regex("a{" + std::to_string(i) + "}"));
    status = grammar.status();
    if (grammar.ok()) used.push_back(*std::move(grammar));
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("more than 300000"));
  used.clear();
  EXPECT_TRUE(compiler.Compile(Regex("b")).ok());
}

TEST(GrammarCompilerTest, ErrorsAreTheInputs) {
  GrammarCompiler compiler(ByteTokens());
  for (const GrammarSpec& spec :
       {Regex("("), GrammarSpec{.kind = GrammarSpec::Kind::kChoice},
        GrammarSpec{.kind = GrammarSpec::Kind::kEbnf, .text = "root ::= root"},
        GrammarSpec{.kind = GrammarSpec::Kind::kJsonSchema, .schema = 5},
        GrammarSpec{.kind = GrammarSpec::Kind::kJsonSchema, .schema = {{"$ref", "#"}}}}) {
    EXPECT_EQ(compiler.Compile(spec).status().code(), absl::StatusCode::kInvalidArgument)
        << spec.text;
  }
}

}  // namespace
}  // namespace shortlist
