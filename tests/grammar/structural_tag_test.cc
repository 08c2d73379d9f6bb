#include "grammar/structural_tag.h"

#include <gtest/gtest.h>

#include <fstream>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grammar/grammar_compiler.h"
#include "tests/grammar/random_expressions.h"
#include "tests/grammar/tag_oracle.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

/// A document and its grammar.
class TagGrammar {
 public:
  explicit TagGrammar(const ordered_json& document)
      : document_(document), grammar_(CompileStructuralTag(document_, false, *expressions_)) {
    if (!grammar_.ok()) return;
    EXPECT_EQ(expressions_->Check(*grammar_), "");
  }
  /// `format`: the text of a format.
  static TagGrammar Of(std::string_view format) {
    return TagGrammar({{"type", "structural_tag"}, {"format", ordered_json::parse(format)}});
  }

  const absl::Status& status() const { return grammar_.status(); }
  bool Accepts(std::string_view text) {
    EXPECT_TRUE(grammar_.ok()) << grammar_.status() << " " << document_;
    if (!grammar_.ok()) return false;
    ExprId state = *grammar_;
    for (const char byte : text) state = expressions_->After(state, static_cast<uint8_t>(byte));
    EXPECT_FALSE(expressions_->is_full());
    return expressions_->IsNullable(state);
  }

 private:
  ordered_json document_;
  std::unique_ptr<Expressions> expressions_ = std::make_unique<Expressions>();
  absl::StatusOr<ExprId> grammar_;
};

void ExpectFormat(std::string_view format, std::initializer_list<std::string_view> accepted,
                  std::initializer_list<std::string_view> rejected) {
  TagGrammar grammar = TagGrammar::Of(format);
  for (const std::string_view text : accepted) EXPECT_TRUE(grammar.Accepts(text)) << text;
  for (const std::string_view text : rejected) EXPECT_FALSE(grammar.Accepts(text)) << text;
}

void ExpectFormatError(std::string_view format, std::string_view part_of_message) {
  const absl::Status status = TagGrammar::Of(format).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << format;
  EXPECT_NE(std::string(status.message()).find(part_of_message), std::string::npos)
      << format << ": " << status;
}

constexpr std::string_view kCalls = R"({"type": "triggered_tags", "triggers": ["<call="], "tags": [
  {"begin": "<call=f>", "content": {"type": "json_schema", "json_schema": {"type": "integer"}},
   "end": "</call>"},
  {"type": "tag", "begin": "<call=g>", "content": {"type": "any_text"}, "end": ["</call>", "<|"]}]})";

TEST(StructuralTagTest, FreeTextEndsAtTriggers) {
  ExpectFormat(
      kCalls,
      {"", "Hello", "\n<cal", "<call=f>12</call>", "so <call=f>1</call> and <call=f>2</call>.",
       "<call=g>any <call=f> text</call>", "<call=g><|", "<<call=f>1</call>é😀"},
      {"<call=", "a <call=h>", "<call=f>x</call>", "<call=f>1", "<call=g></call", "\xC3", "\xFF",
       "<call=f>1</call>\xC3"});
}

TEST(StructuralTagTest, FlagsOfTriggeredTags) {
  const auto with = [](bool at_least_one, bool stop_after_first) {
    ordered_json format = ordered_json::parse(kCalls);
    format["at_least_one"] = at_least_one;
    format["stop_after_first"] = stop_after_first;
    format["excludes"] = {"!"};
    return format.dump();
  };
  const std::string_view one = "<call=f>1</call>", two = "<call=f>1</call>a<call=f>1</call>";
  ExpectFormat(with(false, false), {"", "a", one, two}, {"a!", "<call=f>1</call>!"});
  ExpectFormat(with(true, false), {one, two, "<call=f>1</call>b"}, {"", "a", "a<call=f>1</call>"});
  ExpectFormat(with(false, true), {"", "a", one, "a<call=f>1</call>"}, {two, "<call=f>1</call>b"});
  ExpectFormat(with(true, true), {one, "<call=g></call>"}, {"", "a", two, "<call=f>1</call>b"});
}

TEST(StructuralTagTest, TextInsideTagEndsBeforeItsEnd) {
  ExpectFormat(R"({"type": "tag", "begin": "<", "end": ">>", "content": {"type": "sequence",
                   "elements": [{"type": "const_string", "value": "x"}, {"type": "any_text"}]}})",
               {"<x>>", "<xa>a>>", "<x>a>>"}, {"<x", "<x>", "<x>>a", "<xa>>b>>"});
  // The end of the inner tag does not end the text of the outer one.
  ExpectFormat(R"({"type": "tag", "begin": "<", "end": ">", "content": {"type": "triggered_tags",
                   "triggers": ["["], "tags": [
                     {"begin": "[", "end": "]", "content": {"type": "any_text"}}]}})",
               {"<>", "<]>", "<a[>]b>", "<[][]>"}, {"<", "<[>", "<a>b>", "<[a>"});
}

TEST(StructuralTagTest, TheFirstTriggerCounts) {
  ExpectFormat(R"({"type": "triggered_tags", "triggers": ["aa"], "stop_after_first": true, "tags": [
           {"begin": "aa", "end": "c", "content": {"type": "const_string", "value": "b"}}]})",
               {"aabc", "a", "cabaabc"}, {"aaabc", "aa", "aab"});
}

TEST(StructuralTagTest, ReasoningThenJson) {
  ExpectFormat(R"({"type": "sequence", "elements": [
           {"type": "tag", "begin": "<think>", "content": {"type": "any_text"}, "end": "</think>"},
           {"type": "json_schema", "json_schema": {"type": "object", "required": ["a"],
            "properties": {"a": {"type": "boolean"}}, "additionalProperties": false}}]})",
               {R"(<think>hm {"a": 1} </thin</think>{"a": true})", R"(<think></think>{"a":false})"},
               {R"({"a": true})", R"(<think>{"a": true})", R"(<think></think>{"a": 1})"});
}

TEST(StructuralTagTest, OlderForm) {
  TagGrammar grammar(ordered_json::parse(R"({"structures": [
      {"begin": "<f>", "schema": {"type": "null"}, "end": "</f>"},
      {"begin": "<g>", "schema": {"enum": [1, 2]}, "end": "</g>"}], "triggers": ["<f", "<g"]})"));
  EXPECT_TRUE(grammar.Accepts("a<f>null</f><g>2</g>"));
  EXPECT_TRUE(grammar.Accepts("<h>"));
  EXPECT_FALSE(grammar.Accepts("<f>1</f>"));
}

TEST(StructuralTagTest, StringsOfSchemaStandAsTheyAre) {
  TagGrammar grammar(ordered_json::parse(R"({"format": {"type": "tag", "begin": "<", "end": "</",
      "content": {"type": "json_schema", "style": "text", "excludes": ["ab"],
                  "json_schema": {"anyOf": [{"pattern": "^[ab</\"]{2}$"}, {"const": "é b"}, {"const": 1}],
                                  "type": "string"}}}})"));
  EXPECT_TRUE(grammar.Accepts("<ba</"));
  EXPECT_TRUE(grammar.Accepts("<é b</"));
  for (const char* text : {"<ab</", "<a\"</", "<</</", "<1</", "<\"ba\"</", "<a</", "<aaa</"}) {
    EXPECT_FALSE(grammar.Accepts(text)) << text;
  }
}

TEST(StructuralTagTest, ErrorsNameThePlace) {
  ExpectFormatError(R"({"type": "sequence", "elements": [{"type": "any_text"}, {"type": "tag"}]})",
                    "#/format/elements/1: begin is missing");
  ExpectFormatError(R"({"type": "or", "elements": []})", "#/format/elements: an array");
  ExpectFormatError(R"({"type": "token", "token": 3})", "#/format: format token is not supported");
  ExpectFormatError(R"({"type": "novel"})", "format novel is not supported");
  ExpectFormatError(R"({"type": "any_text", "max_tokens": 3})", "max_tokens is not supported here");
  ExpectFormatError(R"({"type": "any_text", "excludes": [""]})",
                    "#/format/excludes/0: the text is empty");
  ExpectFormatError(R"({"type": "tag", "begin": {"type": "token", "token": 1}, "end": "a",
                  "content": {"type": "any_text"}})",
                    "#/format/begin: a text is wanted");
  ExpectFormatError(R"({"type": "json_schema", "json_schema": {}, "style": "qwen_xml"})",
                    "qwen_xml");
  ExpectFormatError(R"({"type": "json_schema", "json_schema": {}, "excludes": ["a"]})", "style");
  ExpectFormatError(R"({"type": "json_schema", "json_schema": {"uniqueItems": true}})",
                    "#/format/json_schema: ");
  ExpectFormatError(R"({"type": "regex", "pattern": "("})", "#/format: ");
  ExpectFormatError(R"({"type": "grammar", "grammar": "root ::= root \"a\""})", "#/format: ");
  ExpectFormatError(R"({"type": "repeat", "min": 3, "max": 2, "content": {"type": "any_text"}})",
                    "min 3");
  ExpectFormatError(R"({"type": "repeat", "min": 0, "max": 18446744073709551615,
                  "content": {"type": "any_text"}})",
                    "an integer in [-1, 1000000]");
  ExpectFormatError(R"({"type": "triggered_tags", "triggers": ["a"], "tags": [
                  {"begin": "b", "content": {"type": "any_text"}, "end": "c"}]})",
                    "which no trigger");
  ExpectFormatError(R"({"type": "triggered_tags", "triggers": ["a", "aa"], "tags": [
                  {"begin": "aab", "content": {"type": "any_text"}, "end": "c"}]})",
                    "which several triggers");
  EXPECT_FALSE(TagGrammar(ordered_json{{"type", "structural_tag"}}).status().ok());
  EXPECT_FALSE(TagGrammar(ordered_json("text")).status().ok());
}

/// Each must end soon, in a grammar or an error.
TEST(StructuralTagTest, HostileDocumentsAreBounded) {
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += R"({"type": "star", "content": )";
  ExpectFormatError(deep + R"({"type": "any_text"})" + std::string(100, '}'), "deeper");

  ordered_json tags = ordered_json::parse(kCalls);
  for (int i = 0; i < 1001; ++i) tags["tags"].push_back(tags["tags"][0]);
  ExpectFormatError(tags.dump(), "1000 tags");

  ordered_json excludes = {{"type", "any_text"}};
  for (int i = 0; i < 3000; ++i) excludes["excludes"].push_back(absl::StrCat("text ", i));
  ExpectFormatError(excludes.dump(), "bytes");

  // Many schemas share one budget.
  ordered_json schemas = {{"type", "or"}};
  for (int i = 0; i < 2000; ++i) {
    ordered_json schema = {{"title", i}, {"maxProperties", 3}};
    for (int k = 0; k < 12; ++k) schema["properties"][absl::StrCat(k)] = ordered_json::object();
    schemas["elements"].push_back({{"type", "json_schema"}, {"json_schema", schema}});
  }
  EXPECT_FALSE(TagGrammar::Of(schemas.dump()).status().ok());

  // Texts that overlap in all ways.
  ordered_json overlaps = {{"type", "any_text"}};
  for (int i = 1; i < 120; ++i) overlaps["excludes"].push_back(std::string(i, 'a') + "b");
  TagGrammar grammar = TagGrammar::Of(overlaps.dump());
  EXPECT_TRUE(grammar.Accepts(std::string(1000, 'a')));
  EXPECT_FALSE(grammar.Accepts(std::string(1000, 'a') + "b"));
}

TEST(StructuralTagTest, EndsOfTagsAreBounded) {
  const ordered_json elements = ordered_json::array_t(9'000, {{"type", "any_text"}});
  ordered_json tag = {{"type", "tag"},
                      {"begin", "<"},
                      {"content", {{"type", "sequence"}, {"elements", elements}}},
                      {"end", ordered_json::array_t(400'000, "a")}};
  ExpectFormatError(tag.dump(), "bytes");
  tag["end"] = ordered_json::array_t(1'000, "a");
  ExpectFormatError(tag.dump(), "bytes");
  tag["content"] = {{"type", "any_text"}};
  TagGrammar grammar = TagGrammar::Of(tag.dump());
  EXPECT_TRUE(grammar.Accepts("<bba"));
  EXPECT_FALSE(grammar.Accepts("<baa"));
}

TEST(StructuralTagTest, OneTokenMayHoldProseTriggerAndContent) {
  const std::vector<std::string> bytes = {"",           "ok",      "ok<call=f>1",
                                          "k<call=f>x", "<call=f", "</call>a"};
  GrammarCompiler compiler({.tokens = {bytes.begin(), bytes.end()},
                            .end_ids = {TokenId{0}},
                            .encode = [](std::string_view) { return std::vector<TokenId>(); }});
  const auto grammar = *compiler.Compile({.kind = GrammarSpec::Kind::kStructuralTag,
                                          .schema = {{"format", ordered_json::parse(kCalls)}}},
                                         "");
  const TokenConstraint::State begin = grammar->Begin();
  EXPECT_TRUE(grammar->Allows(begin, TokenId{2}));
  EXPECT_FALSE(grammar->Allows(begin, TokenId{3}));
  EXPECT_TRUE(grammar->Allows(begin, TokenId{4}));
  const TokenConstraint::State in_call = grammar->Next(begin, TokenId{2});
  EXPECT_FALSE(grammar->Allows(in_call, TokenId{0}));
  EXPECT_TRUE(grammar->Allows(in_call, TokenId{5}));
  EXPECT_TRUE(grammar->Allows(grammar->Next(in_call, TokenId{5}), TokenId{0}));
}

TEST(StructuralTagTest, AgreesWithXgrammar) {
  std::ifstream file(SHORTLIST_SOURCE_DIR "/tests/reference/golden/structural_tags.json");
  const ordered_json cases = ordered_json::parse(file);
  for (const ordered_json& c : cases) {
    SCOPED_TRACE(c["document"].dump());
    TagGrammar grammar(c["document"]);
    for (const std::string text : c["accepted"]) EXPECT_TRUE(grammar.Accepts(text)) << text;
    for (const std::string text : c["rejected"]) EXPECT_FALSE(grammar.Accepts(text)) << text;
  }
}

TEST(StructuralTagTest, AgreesWithDefinition) {
  const uint32_t seed = 20261128;
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  int num_accepted = 0;
  for (int i = 0; i < 120; ++i) {
    const ordered_json format = RandomFormat(random, /*depth=*/3);
    SCOPED_TRACE(format.dump());
    TagGrammar grammar(ordered_json{{"format", format}});
    ASSERT_TRUE(grammar.status().ok()) << grammar.status();
    ForEachText(/*max_len=*/6, [&](const std::string& text) {
      const bool is_match = MatchesFormat(format, text);
      num_accepted += is_match ? 1 : 0;
      ASSERT_EQ(grammar.Accepts(text), is_match) << "text '" << text << "'";
    });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(num_accepted, 4'000);
}

}  // namespace
}  // namespace shortlist
