// What an output must follow, in the dialects' fields: the engine gets a grammar that accepts what
// the client asked for, and nothing else.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/serve/api_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class GrammarFieldsTest : public ApiTest {
 protected:
  /// True if the last request's grammar accepts `text` as a whole output.
  bool Accepts(const std::string& text) const {
    const auto grammar = engine_.arrivals().back().sampling.grammar;
    if (grammar == nullptr) return false;
    TokenConstraint::State state = grammar->Begin();
    std::vector<TokenId> bytes;  // each byte as a token: the demo vocabulary has them all
    for (const char c : text) bytes.push_back(ByteToken(c));
    for (const TokenId id : bytes) {
      if (!grammar->Allows(state, id)) return false;
      state = grammar->Next(state, id);
    }
    return grammar->Allows(state, *DemoTokenizer().eos());
  }
  static TokenId ByteToken(char byte) {
    const Tokenizer& tokenizer = DemoTokenizer();
    for (int32_t id = 0; id < tokenizer.size(); ++id) {
      if (tokenizer.TokenBytes(TokenId{id}) == std::string_view(&byte, 1)) return TokenId{id};
    }
    ADD_FAILURE() << "no token for byte " << static_cast<int>(byte);
    return TokenId{0};
  }
  void Send(const std::string& path, const json& members) {
    json body = members;
    if (path == "/generate") {
      body = {{"text", "a"}, {"sampling_params", members}};
    } else if (path == "/v1/responses") {
      body["input"] = "a";
    } else if (path == "/v1/completions") {
      body["prompt"] = "a";
    } else {
      body["messages"] = {{{"role", "user"}, {"content", "a"}}};
    }
    const HttpReply reply = Connect().Post(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
  }
};

TEST_F(GrammarFieldsTest, EveryDialectsFieldReachesTheEngine) {
  Start();
  const json schema = {{"type", "object"},
                       {"properties", {{"z", {{"type", "integer"}}}}},
                       {"required", {"z"}},
                       {"additionalProperties", false}};
  const json named = {{"name", "n"}, {"schema", schema}, {"strict", true}};
  const json flat = {{"type", "json_schema"}, {"name", "n"}, {"schema", schema}};
  const std::vector<std::pair<std::string, json>> schemas = {
      {"/v1/chat/completions",
       {{"response_format", {{"type", "json_schema"}, {"json_schema", named}}}}},
      {"/v1/chat/completions",
       {{"response_format", {{"type", "json_object"}, {"schema", schema}}}}},
      {"/v1/chat/completions", {{"guided_json", schema}}},
      {"/v1/chat/completions", {{"structured_outputs", {{"json", schema}}}}},
      {"/v1/completions", {{"structured_outputs", {{"json", schema.dump()}}}}},
      {"/v1/completions", {{"json_schema", schema}}},
      {"/v1/responses", {{"text", {{"format", flat}}}}},
      {"/generate", {{"json_schema", schema.dump()}}}};
  for (const auto& [path, members] : schemas) {
    Send(path, members);
    EXPECT_TRUE(Accepts(R"({"z": 12})")) << path << members;
    EXPECT_FALSE(Accepts(R"({"z": 1.5})")) << path << members;
    EXPECT_FALSE(Accepts(R"({"y": 12})")) << path << members;
  }
  for (const auto& [path, members] : std::vector<std::pair<std::string, json>>{
           {"/generate", {{"regex", "ab+"}}},
           {"/v1/completions", {{"regex", "ab+"}}},
           {"/v1/completions", {{"guided_regex", "ab+"}}},
           {"/generate", {{"ebnf", "root ::= \"a\" \"b\"+"}}},
           {"/v1/completions", {{"grammar", "root ::= \"a\" \"b\"+"}}},
           {"/v1/completions", {{"guided_grammar", "root ::= \"a\" \"b\"+"}}},
           {"/v1/completions", {{"guided_choice", {"ab", "abb"}}}},
           {"/v1/completions", {{"structured_outputs", {{"choice", {"ab", "abb"}}}}}}}) {
    Send(path, members);
    EXPECT_TRUE(Accepts("ab") && Accepts("abb")) << path << members;
    EXPECT_FALSE(Accepts("a") || Accepts("b") || Accepts("abc")) << path << members;
  }
  const json format = {
      {"type", "tag"}, {"begin", "<t>"}, {"content", {{"type", "any_text"}}}, {"end", "</t>"}};
  const json tag = {{"type", "structural_tag"}, {"format", format}};
  const json older = {
      {"type", "structural_tag"},
      {"structures", {{{"begin", "<t>"}, {"schema", {{"const", "so"}}}, {"end", "</t>"}}}},
      {"triggers", {"<t>"}},
      {"at_least_one", true}};
  for (const auto& [path, members] : std::vector<std::pair<std::string, json>>{
           {"/generate", {{"structural_tag", tag.dump()}}},
           {"/v1/completions", {{"structural_tag", tag}}},
           {"/v1/completions", {{"structured_outputs", {{"structural_tag", tag.dump()}}}}},
           {"/v1/chat/completions", {{"structured_outputs", {{"structural_tag", tag}}}}},
           {"/v1/responses", {{"text", {{"format", tag}}}}},
           {"/v1/chat/completions", {{"response_format", tag}}},
           {"/v1/chat/completions", {{"response_format", older}}}}) {
    Send(path, members);
    EXPECT_TRUE(Accepts("<t>\"so\"</t>")) << path << members;
    EXPECT_FALSE(Accepts("<t>") || Accepts("so")) << path << members;
  }
  Send("/v1/chat/completions", {{"response_format", {{"type", "json_object"}}}});
  EXPECT_TRUE(Accepts(R"({"a": [1, null]})"));
  EXPECT_FALSE(Accepts("[1]"));
  Send("/v1/chat/completions", {{"response_format", {{"type", "text"}}}});
  EXPECT_EQ(engine_.arrivals().back().sampling.grammar, nullptr);
}

TEST_F(GrammarFieldsTest, PropertiesComeInTheOrderOfTheText) {
  Start();
  const std::string body =
      R"({"messages": [{"role": "user", "content": "a"}], "guided_json": {"type": "object",
          "properties": {"z": {"const": 1}, "a": {"const": 2}}, "required": ["a", "z"]}})";
  const HttpReply reply = Connect().Post("/v1/chat/completions", body);
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_TRUE(Accepts(R"({"z": 1, "a": 2})"));
  EXPECT_FALSE(Accepts(R"({"a": 2, "z": 1})"));
}

TEST_F(GrammarFieldsTest, GenerationsOfOneRequestShareTheGrammar) {
  Start();
  Send("/v1/completions", {{"n", 3}, {"guided_regex", "a+"}});
  Send("/v1/completions", {{"guided_regex", "a+"}});
  const std::vector<FakeEngine::Arrival> arrivals = engine_.arrivals();
  ASSERT_EQ(arrivals.size(), 4u);
  for (const FakeEngine::Arrival& arrival : arrivals) {
    EXPECT_EQ(arrival.sampling.grammar, arrivals[0].sampling.grammar);
  }
}

TEST_F(GrammarFieldsTest, WhatCannotBeFollowedIsRejectedByName) {
  Start();
  HttpClient client = Connect();
  struct Case {
    json members;
    std::string param, words;
  };
  for (const Case& c : std::vector<Case>{
           {{{"guided_regex", "(a"}}, "guided_regex", "unclosed group"},
           {{{"guided_json", {{"type", "object"}, {"foo", 1}}}}, "guided_json", "foo"},
           {{{"guided_json", {{"$ref", "#"}}}}, "guided_json", "refers to itself"},
           {{{"guided_json", "{"}}, "guided_json", "guided_json"},
           {{{"guided_grammar", "root ::= root \"a\""}}, "guided_grammar", "root"},
           {{{"guided_regex", "a"}, {"guided_choice", {"a"}}},
            "guided_choice",
            "already follows guided_regex"},
           {{{"structured_outputs", json::object()}}, "structured_outputs", "is wanted"},
           {{{"structural_tag", {{"format", {{"type", "star"}}}}}},
            "structural_tag",
            "#/format: content is missing"},
           {{{"response_format", {{"type", "structural_tag"}}}},
            "response_format",
            "format is missing"},
           {{{"structured_outputs", {{"regex", "a"}, {"json_object", true}}}},
            "structured_outputs.json_object",
            "already follows"},
           {{{"response_format", {{"type", "json_schema"}}}}, "response_format.schema", "missing"},
           {{{"response_format",
              {{"type", "json_schema"}, {"json_schema", {{"name", "n"}, {"schema", "{"}}}}}},
            "response_format.json_schema.schema",
            "not valid JSON"},
           {{{"response_format", {{"type", "xml"}}}}, "response_format.type", "json_schema"}}) {
    json body = c.members;
    body["prompt"] = "a";
    const HttpReply reply = client.Post("/v1/completions", body);
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_EQ(reply.Json()["error"]["param"], c.param) << reply.body;
    EXPECT_THAT(reply.body, HasSubstr(c.words));
  }
  EXPECT_EQ(engine_.arrivals().size(), 0u);
}

}  // namespace
}  // namespace shortlist
