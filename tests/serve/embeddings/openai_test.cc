#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/serve/embeddings/encoder_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr char kPath[] = "/v1/embeddings";

class EmbeddingsTest : public EncoderTest {
 protected:
  EmbeddingsTest() {
    AddVectors("words");
    AddScores("judge");
  }
};

TEST_F(EmbeddingsTest, RepliesLikeOpenAi) {
  StartAll();
  EXPECT_EQ(Post(kPath, {{"model", "words"}, {"input", "the cat"}, {"user", "me"}}),
            json::parse(R"({
    "object": "list",
    "data": [{"object": "embedding", "index": 0, "embedding": [4, 74, 0.1, -2.5]}],
    "model": "words",
    "usage": {"prompt_tokens": 4, "total_tokens": 4}})"));
  EXPECT_EQ(Post(kPath, {{"input", {"the cat", "a"}}, {"dimensions", 1}}), json::parse(R"({
    "object": "list",
    "data": [{"object": "embedding", "index": 0, "embedding": [4]},
             {"object": "embedding", "index": 1, "embedding": [3]}],
    "model": "words",
    "usage": {"prompt_tokens": 7, "total_tokens": 7}})"));
}

TEST_F(EmbeddingsTest, AcceptsIdsUnchanged) {
  StartAll();
  const auto vectors = [](const json& reply) {
    json found = json::array();
    for (const json& entry : reply.at("data")) found.push_back(entry.at("embedding"));
    return found;
  };
  EXPECT_EQ(vectors(Post(kPath, {{"input", {7, 19'999}}})), json::parse("[[2, 40005, 0.1, -2.5]]"));
  EXPECT_EQ(vectors(Post(kPath, {{"input", {json::array({7}), "a", json::array({8, 1})}}})),
            json::parse("[[1, 7, 0.1, -2.5], [3, 29, 0.1, -2.5], [2, 10, 0.1, -2.5]]"));
}

TEST_F(EmbeddingsTest, Base64EncodesLittleEndianFloats) {
  StartAll();
  const json reply = Post(kPath, {{"input", "the cat"}, {"encoding_format", "base64"}});
  std::string bytes;
  ASSERT_TRUE(absl::Base64Unescape(reply.at("data")[0].at("embedding").get<std::string>(), &bytes));
  std::vector<float> values(4);
  ASSERT_EQ(bytes.size(), values.size() * sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  EXPECT_EQ(values, (std::vector<float>{4.0f, 74.0f, 0.1f, -2.5f}));
}

TEST_F(EmbeddingsTest, PromptPrecedesText) {
  StartAll();
  const json found = Post(kPath, {{"input", "find: a"}}).at("data");
  for (const json& how : {json{{"prompt_name", "query"}}, json{{"input_type", "search_query"}},
                          json{{"instruction", "find: "}}}) {
    json body = {{"input", "a"}};
    body.update(how);
    EXPECT_EQ(Post(kPath, body).at("data"), found) << how;
  }
}

TEST_F(EmbeddingsTest, AcceptsVoyageClientRequests) {
  StartAll();
  const json body = json::parse(R"({"input": ["the cat"], "model": "words", "input_type": "query",
      "truncation": true, "output_dtype": null, "output_dimension": 2,
      "encoding_format": "base64"})");
  std::string bytes;
  const json reply = Post(kPath, body);
  ASSERT_TRUE(absl::Base64Unescape(reply.at("data")[0].at("embedding").get<std::string>(), &bytes));
  EXPECT_EQ(bytes.size(), 2 * sizeof(float));
  json other = body;
  other["output_dtype"] = "int8";
  EXPECT_EQ(Post(kPath, other, 400).at("error").at("param"), "output_dtype");
  other = body;
  other["output_dimension"] = 5;
  EXPECT_EQ(Post(kPath, other, 400).at("error").at("param"), "output_dimension");
}

TEST_F(EmbeddingsTest, TruncatesOnRequest) {
  StartAll();
  std::string words;
  for (int i = 0; i < 30; ++i) absl::StrAppend(&words, "a ");
  const json refused = Post(kPath, {{"input", {"a", "b", "c", words}}}, 400).at("error");
  EXPECT_EQ(refused.at("param"), "input[3]");
  EXPECT_EQ(refused.at("code"), "context_length_exceeded");
  EXPECT_EQ(refused.at("message"),
            "input[3]: more than 16 tokens: this model's maximum context length is exceeded");
  for (const json& how : {json{{"truncate", true}}, json{{"truncate_prompt_tokens", -1}},
                          json{{"truncation", true}}}) {
    json body = {{"input", words}};
    body.update(how);
    EXPECT_EQ(Post(kPath, body).at("usage").at("total_tokens"), 16);
  }
  Post(kPath, {{"input", words}, {"truncation", false}}, 400);
  const json begin = Post(kPath, {{"input", "a bb"}, {"truncate_prompt_tokens", 2}});
  EXPECT_EQ(begin.at("data")[0].at("embedding")[1], 1 + 2 * 11);
  const json end =
      Post(kPath, {{"input", "a bb"}, {"truncate_prompt_tokens", 2}, {"truncation_side", "left"}});
  EXPECT_EQ(end.at("data")[0].at("embedding")[1], 12 + 2 * 2);
}

TEST_F(EmbeddingsTest, TruncationFieldsMustAgree) {
  StartAll();
  struct Case {
    json fields;
    const char* param;  // null: they agree
  };
  const Case cases[] = {
      {{{"truncate", true}, {"truncation", false}}, "truncation"},
      {{{"truncate", false}, {"truncation", true}}, "truncation"},
      {{{"truncate", true}, {"truncation", true}}, nullptr},
      {{{"truncate", nullptr}, {"truncation", false}}, nullptr},
      {{{"truncate", false}, {"truncate_prompt_tokens", 8}}, "truncate_prompt_tokens"},
      {{{"truncation", false}, {"truncate_prompt_tokens", -1}}, "truncate_prompt_tokens"},
      {{{"truncation", true}, {"truncate_prompt_tokens", 8}}, nullptr},
      {{{"truncation_side", "left"}, {"truncation_direction", "Right"}}, "truncation_direction"},
      {{{"truncation_side", "right"}, {"truncation_direction", "left"}}, "truncation_direction"},
      {{{"truncation_side", "left"}, {"truncation_direction", "Left"}}, nullptr},
      {{{"rid", "a"}, {"request_id", "b"}}, "request_id"},
      {{{"rid", "a"}, {"request_id", "a"}}, nullptr},
  };
  for (const Case& expected : cases) {
    json body = {{"input", "a bb"}};
    body.update(expected.fields);
    const json reply = Post(kPath, body, expected.param == nullptr ? 200 : 400);
    if (expected.param == nullptr) continue;
    EXPECT_EQ(reply.at("error").at("param"), expected.param) << expected.fields;
  }
}

TEST_F(EmbeddingsTest, RejectsBadInput) {
  StartAll();
  struct Case {
    json body;
    int status;
    std::string message, param;
  };
  const Case cases[] = {
      {{{"model", "words"}}, 400, "input: missing", "input"},
      {{{"input", json::array()}}, 400, "empty", "input"},
      {{{"input", 5}}, 400, "neither a text", "input"},
      {{{"input", {"a", 5}}}, 400, "neither a text", "input[1]"},
      {{{"input", {1, "a"}}}, 400, "not a token id in [0, 20000)", "input[1]"},
      {{{"input", {1, 20'000}}}, 400, "not a token id in [0, 20000)", "input[1]"},
      {json::parse(R"({"input": [[1], [-1]]})"), 400, "not a token id", "input[1][0]"},
      {json::parse(R"({"input": [[1], []]})"), 400, "empty", "input[1]"},
      {{{"input", "a"}, {"encoding_format", "md5"}},
       400,
       "Invalid value for 'encoding_format' = md5. Supported values: ['float', 'base64'].",
       "encoding_format"},
      {{{"input", "a"}, {"dimensions", 0}}, 400, "[1, 4]", "dimensions"},
      {{{"input", "a"}, {"dimensions", 5}}, 400, "[1, 4]", "dimensions"},
      {{{"input", "a"}, {"dimension", 2}}, 400, "did you mean \"dimensions\"?", "dimension"},
      {{{"input", "a"}, {"", 2}}, 400, "\"\": there is no such field", "\"\""},
      {{{"input", "a"}, {"prompt_name", "unknown"}}, 400, "document, query", "prompt_name"},
      {{{"input", "a"}, {"truncate_prompt_tokens", 17}}, 400, "[-1, 16]", "truncate_prompt_tokens"},
      {{{"input", "a"}, {"lora_path", "x"}}, 400, "not supported", "lora_path"},
      {{{"input", "a"}, {"model", "absent"}}, 404, "this server has `words`", "model"},
      {{{"input", "a"}, {"model", "demo"}}, 400, "`demo` generates text", "model"},
      {{{"input", "a"}, {"model", "judge"}}, 400, "`judge` makes scores", "model"},
  };
  for (const Case& refused : cases) {
    SCOPED_TRACE(refused.body.dump());
    const json error = Post(kPath, refused.body, refused.status).at("error");
    EXPECT_THAT(error.at("message").get<std::string>(), HasSubstr(refused.message));
    EXPECT_EQ(error.at("param"), refused.param);
  }
}

TEST_F(EmbeddingsTest, NanIsNeverReturned) {
  StartAll();
  const json error = Post(kPath, {{"input", {"a", "nan"}}}, 500).at("error");
  EXPECT_EQ(error.at("param"), "input[1]");
}

TEST_F(EmbeddingsTest, BatchOfAnySizeKeepsOrder) {
  StartAll();
  json input = json::array();
  for (int i = 0; i < 10'000; ++i) input.push_back({i, 1});
  const json reply = Post(kPath, {{"input", input}});
  ASSERT_EQ(reply.at("data").size(), 10'000);
  for (int i = 0; i < 10'000; ++i) {
    const json& entry = reply.at("data")[i];
    ASSERT_EQ(entry.at("index"), i);
    ASSERT_EQ(entry.at("embedding")[1], i + 2);
  }
  EXPECT_EQ(reply.at("usage").at("total_tokens"), 20'000);
}

TEST_F(EmbeddingsTest, FirstBadInputIsReported) {
  StartAll();
  std::vector<std::string> input(1000, "a");
  input[300] = input[900] = "a a a a a a a a a a a a a a a a a a a";
  EXPECT_EQ(Post(kPath, {{"input", input}}, 400).at("error").at("param"), "input[300]");
}

TEST_F(EmbeddingsTest, ResultIsIndependentOfBatch) {
  StartAll();
  std::vector<std::string> texts;
  for (int i = 0; i < 200; ++i) texts.push_back(std::string(1 + i, 'x') + " y");
  std::vector<std::string> shuffled = texts;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(1));
  const json data = Post(kPath, {{"input", shuffled}}).at("data");
  for (size_t i = 0; i < texts.size(); i += 17) {
    const auto at = std::find(shuffled.begin(), shuffled.end(), texts[i]) - shuffled.begin();
    EXPECT_EQ(Post(kPath, {{"input", texts[i]}}).at("data")[0].at("embedding"),
              data[at].at("embedding"));
  }
}

TEST_F(EmbeddingsTest, DisconnectedClientIsNotComputed) {
  StartAll();
  encoders_[0]->pass_us = 20'000;
  json input = json::array();
  for (int i = 0; i < 10'000; ++i) input.push_back({i, 1});
  {
    HttpClient client = Connect();
    client.ResetAtEnd();
    client.Send(PostRequest(kPath, json{{"input", input}}.dump()));
    ASSERT_TRUE(Await([&] { return encoders_[0]->num_inputs > 0; }));
  }
  EXPECT_TRUE(AwaitIdle());
  EXPECT_LT(encoders_[0]->num_inputs, 10'000);
}

TEST_F(EmbeddingsTest, BatchIsAbortedById) {
  StartAll();
  encoders_[0]->pass_us = 20'000;
  json input = json::array();
  for (int i = 0; i < 10'000; ++i) input.push_back({i, 1});
  HttpClient client = Connect();
  client.Send(PostRequest(kPath, json{{"input", input}, {"rid", "mine"}}.dump()));
  ASSERT_TRUE(Await([&] { return encoders_[0]->num_inputs > 0; }));
  EXPECT_EQ(Post("/abort_request", {{"rid", "mine"}}), (json{{"aborted", true}}));
  EXPECT_EQ(client.Receive().status, 499);
}

TEST_F(EmbeddingsTest, TextIsGeneratedConcurrently) {
  StartAll();
  const json reply = Post("/v1/completions", {{"model", "demo"}, {"prompt", "Once"}});
  EXPECT_EQ(reply.at("usage").at("completion_tokens"), 16);
  const json wrong = Post("/v1/completions", {{"model", "words"}, {"prompt", "Once"}}, 400);
  EXPECT_THAT(wrong.at("error").at("message").get<std::string>(), HasSubstr("makes embeddings"));
}

TEST_F(EmbeddingsTest, AllModelsAreListed) {
  StartAll();
  const json models = Connect().Get("/v1/models").Json().at("data");
  std::vector<std::string> names;
  for (const json& model : models) names.push_back(model.at("id"));
  EXPECT_EQ(names, (std::vector<std::string>{"demo", "words", "judge"}));
  EXPECT_EQ(Connect().Get("/v1/models/words").Json().at("max_model_len"), 16);
  EXPECT_EQ(Connect().Get("/v1/models/unknown").status, 404);
}

TEST_F(EmbeddingsTest, MetricsCountByModel) {
  StartAll();
  Post(kPath, {{"input", {"the cat", "a"}}});
  const std::string metrics = Connect().Get("/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("shortlist:encoded_inputs_total{model_name=\"words\"} 2"));
  EXPECT_THAT(metrics, HasSubstr("shortlist:encoded_tokens_total{model_name=\"words\"} 7"));
}

TEST_F(ServeTest, EmbeddingsWithoutEncoderNameFlag) {
  Start();
  const HttpReply reply = Connect().Post("/v1/embeddings", R"({"input": "a"})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(reply.body, HasSubstr("--embed-model"));
}

class TwoEmbeddersTest : public EncoderTest {
 protected:
  TwoEmbeddersTest() {
    AddVectors("first");
    AddVectors("org/second");
  }
};

TEST_F(TwoEmbeddersTest, NameSelectsModel) {
  StartAll();
  for (const auto& [asked, returned] : std::vector<std::pair<std::string, std::string>>{
           {"", "first"}, {"default", "first"}, {"second", "org/second"}}) {
    EXPECT_EQ(Post(kPath, {{"input", "a"}, {"model", asked}}).at("model"), returned);
  }
  const json error = Post(kPath, {{"input", "a"}, {"model", "third"}}, 404).at("error");
  EXPECT_EQ(error.at("code"), "model_not_found");
  EXPECT_THAT(error.at("message").get<std::string>(), HasSubstr("`first`, `org/second`"));
}

TEST_F(TwoEmbeddersTest, GenerationWithoutModelNamesFlag) {
  StartAll([](Server::Options& options) {
    options.generator.generates = false;
    options.service.model_name = "first";
  });
  const json error = Post("/v1/completions", {{"prompt", "Once"}}, 400).at("error");
  EXPECT_THAT(error.at("message").get<std::string>(), HasSubstr("--model"));
  EXPECT_EQ(Connect().Get("/health_generate").status, 200);
  EXPECT_EQ(Connect().Get("/v1/models").Json().at("data").size(), 2);
}

}  // namespace
}  // namespace shortlist
