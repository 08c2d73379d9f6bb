#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/serve/embeddings/encoder_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// With the query "q": a document of n words makes n + 4 tokens, hence the logit n - 2.
class RerankTest : public EncoderTest {
 protected:
  RerankTest() {
    AddVectors("words");
    AddScores("judge");
  }
  const json body_ = {
      {"query", "q"}, {"documents", {"a", "b b b", "c c"}}, {"raw_scores", true}, {"rid", "r"}};
};

TEST_F(RerankTest, ServerInfoListsEmbeddersAndRerankers) {
  AddStates();  // which no request names
  StartAll();
  EXPECT_EQ(Connect().Get("/server_info").Json().at("encoders"),
            json::parse(R"([{"name": "words", "makes": "vectors"},
                            {"name": "judge", "makes": "scores"}])"));
}

TEST_F(RerankTest, V1ReturnsArrayLikeSglang) {
  StartAll();
  json reply = Post("/v1/rerank", body_);
  for (json& entry : reply) entry.at("meta_info").erase("e2e_latency");
  EXPECT_EQ(reply, json::parse(R"([
    {"score": 1, "document": "b b b", "index": 1, "meta_info": {"id": "r-1", "prompt_tokens": 7}},
    {"score": 0, "document": "c c", "index": 2, "meta_info": {"id": "r-2", "prompt_tokens": 6}},
    {"score": -1, "document": "a", "index": 0, "meta_info": {"id": "r-0", "prompt_tokens": 5}}])"));
}

TEST_F(RerankTest, V2RepliesLikeCohereAndJina) {
  StartAll();
  json body = body_;
  body["top_n"] = 2;
  body["documents"][2] = {{"text", "c c"}};
  const json expected = json::parse(R"({
    "id": "rerank-r", "object": "list", "model": "judge",
    "results": [{"index": 1, "document": {"text": "b b b"}, "relevance_score": 1},
                {"index": 2, "document": {"text": "c c"}, "relevance_score": 0}],
    "usage": {"prompt_tokens": 18, "total_tokens": 18},
    "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1},
             "tokens": {"input_tokens": 18}}})");
  EXPECT_EQ(Post("/v2/rerank", body), expected);
  body["return_documents"] = false;
  EXPECT_FALSE(Post("/v2/rerank", body).at("results")[0].contains("document"));
  body.erase("raw_scores");
  EXPECT_EQ(Post("/rerank", body), Post("/v2/rerank", body));
}

TEST_F(RerankTest, DocumentsAndRawScoresSelectInfinity) {
  StartAll();
  json body = body_;
  body.update(json::parse(R"({"return_documents": true, "model": "default/not-specified",
                              "top_n": null, "documents": ["a", "b b b"]})"));
  EXPECT_EQ(Post("/rerank", body), json::parse(R"({
    "id": "rerank-r", "object": "rerank", "model": "judge",
    "results": [{"index": 1, "document": "b b b", "relevance_score": 1},
                {"index": 0, "document": "a", "relevance_score": -1}],
    "usage": {"prompt_tokens": 12, "total_tokens": 12}})"));
  body["return_documents"] = false;
  EXPECT_FALSE(Post("/rerank", body).at("results")[0].contains("document"));
}

TEST_F(RerankTest, InfinityRouteNeedsNoRawScores) {
  StartAll();
  // Requests of LiteLLM to Infinity and to vLLM.
  const json body = json::parse(R"({"model": "judge", "query": "q", "documents": ["a", "b b b"],
                                    "return_documents": true, "top_n": 1})");
  EXPECT_EQ(Post("/infinity/rerank", body).at("results")[0].at("document"), "b b b");
  EXPECT_EQ(Post("/rerank", body).at("results")[0].at("document"), (json{{"text", "b b b"}}));
}

TEST_F(RerankTest, TruncationSelectsVoyage) {
  StartAll();
  json body = {{"query", "q"},
               {"documents", {"a", "b b b"}},
               {"truncation", true},
               {"top_k", nullptr},
               {"rid", "r"}};
  const json reply = Post("/v1/rerank", body);
  EXPECT_EQ(reply.at("object"), "list");
  EXPECT_EQ(reply.at("usage").at("total_tokens"), 12);
  ASSERT_EQ(reply.at("data").size(), 2);
  EXPECT_EQ(reply.at("data")[0].at("index"), 1);
  EXPECT_FALSE(reply.at("data")[0].contains("document"));
  EXPECT_EQ(Post("/rerank", body), reply);
  body["return_documents"] = true;
  EXPECT_EQ(Post("/rerank", body).at("data")[1].at("document"), "a");

  std::string words;
  for (int i = 0; i < 30; ++i) words += "a ";
  body["documents"][0] = words;
  EXPECT_EQ(Post("/rerank", body).at("data").size(), 2);
  body["truncation"] = false;
  for (const char* path : {"/rerank", "/v1/rerank"}) {
    EXPECT_THAT(Connect().Post(path, body.dump()).body, HasSubstr("documents[0]")) << path;
  }
  EXPECT_EQ(Post("/v2/rerank", {{"query", "q"}, {"documents", {words}}}).at("results").size(), 1);
}

TEST_F(RerankTest, TruncationFieldsMustAgreeOnEveryRoute) {
  StartAll();
  const json contradictions[] = {{{"truncate", false}, {"truncate_prompt_tokens", 8}},
                                 {{"truncation_side", "left"}, {"truncation_direction", "right"}}};
  for (const json& fields : contradictions) {
    for (const char* path : {"/rerank", "/v1/rerank", "/v2/rerank"}) {
      json body = body_;
      body.update(fields);
      Post(path, body, 400);
    }
    json texts = {{"query", "q"}, {"texts", {"a"}}}, inputs = {{"inputs", "a"}};
    texts.update(fields);
    inputs.update(fields);
    Post("/rerank", texts, 400);
    Post("/embed", inputs, 400);
    Post("/predict", inputs, 400);
  }
  json body = body_;
  body.update({{"truncate", true}, {"truncation", false}});
  Post("/v2/rerank", body, 400);
}

TEST_F(RerankTest, TextsSelectTei) {
  StartAll();
  json body = {{"query", "q"}, {"texts", {"a", "b b b"}}, {"raw_scores", true}};
  EXPECT_EQ(Post("/rerank", body),
            json::parse(R"([{"index": 1, "score": 1}, {"index": 0, "score": -1}])"));
  body["return_text"] = true;
  body["raw_scores"] = false;
  const json reply = Post("/rerank", body);
  EXPECT_EQ(reply[0].at("text"), "b b b");
  EXPECT_NEAR(reply[0].at("score").get<double>(), 0.7310586, 1e-6);
}

TEST_F(RerankTest, MissingFieldsGetTeiError) {
  StartAll();
  EXPECT_EQ(Post("/rerank", {{"query", "q"}}, 400), (json{{"detail", "texts: missing"},
                                                          {"error", "texts: missing"},
                                                          {"error_type", "Validation"}}));
}

TEST_F(RerankTest, TopCountWorksInEveryDialect) {
  StartAll();
  const json texts = {{"query", "q"}, {"texts", {"a", "b b b"}}};
  for (const char* name : {"top_n", "top_k"}) {
    json body = body_, tei = texts;
    body[name] = tei[name] = 1;
    EXPECT_EQ(Post("/v1/rerank", body).size(), 1) << name;
    EXPECT_EQ(Post("/v2/rerank", body).at("results").size(), 1) << name;
    EXPECT_EQ(Post("/rerank", tei).size(), 1) << name;
    body[name] = 100;
    EXPECT_EQ(Post("/v1/rerank", body).size(), 3) << name;
  }
}

TEST_F(RerankTest, VoyageErrorsHaveDetail) {
  StartAll();
  const json body = {{"query", "q"}, {"documents", json::array()}, {"truncation", true}};
  const json error = Post("/v1/rerank", body, 400);
  EXPECT_EQ(error.at("detail"), error.at("error").at("message"));
  EXPECT_EQ(Post("/rerank", body, 400).at("detail"), error.at("detail"));
  const json missing = Post("/v1/embeddings", {{"truncation", true}}, 400);
  EXPECT_EQ(missing.at("detail"), missing.at("error").at("message"));
}

TEST_F(RerankTest, BothCountNamesMustAgree) {
  StartAll();
  json body = body_;
  body["top_n"] = body["top_k"] = 2;
  EXPECT_EQ(Post("/v2/rerank", body).at("results").size(), 2);
  body["top_k"] = 1;
  for (const char* path : {"/v1/rerank", "/v2/rerank"}) {
    const json error = Post(path, body, 400).at("error");
    EXPECT_EQ(error.at("param"), "top_n") << path;
    EXPECT_EQ(error.at("message"),
              "top_n: 2 differs from top_k, which is 1: they are two names of one field");
  }
}

TEST_F(RerankTest, SglangRouterPlaceholderMeansNoModel) {
  StartAll();
  json body = body_;
  body["model"] = "unknown";
  EXPECT_EQ(Post("/v1/rerank", body).size(), 3);
  EXPECT_EQ(Post("/v1/embeddings", {{"model", "unknown"}, {"input", "a"}}).at("model"), "words");
}

TEST_F(RerankTest, EqualScoresKeepDocumentOrder) {
  StartAll();
  const json reply = Post("/v2/rerank", {{"query", "q"}, {"documents", {"a", "b", "c"}}});
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(reply.at("results")[i].at("index"), i);
}

TEST_F(RerankTest, RejectsBadInput) {
  StartAll();
  struct Case {
    json change;
    std::string message;
  };
  const Case cases[] = {
      {{{"query", nullptr}}, "query: missing"},
      {{{"query", json::array({1})}}, "query"},
      {{{"documents", nullptr}}, "documents: missing"},
      {{{"documents", json::array()}}, "documents"},
      {{{"documents", {"a", 5}}}, "documents[1]: not a text"},
      {json::parse(R"({"documents": [{"txt": "a"}]})"), "documents[0].text: missing"},
      {{{"top_n", 0}}, "top_n"},
      {{{"top_nn", 1}}, "did you mean \"top_n\"?"},
      {{{"instruct", "x"}}, "instruct: `judge` reads pairs without an instruction"},
      {{{"max_tokens_per_doc", 0}}, "max_tokens_per_doc"},
      {{{"model", "words"}}, "`words` makes embeddings"},
  };
  for (const Case& refused : cases) {
    json body = body_;
    body.update(refused.change);
    SCOPED_TRACE(body.dump());
    const json error = Post("/v1/rerank", body, 400).at("error");
    EXPECT_THAT(error.at("message").get<std::string>(), HasSubstr(refused.message));
  }
  const json tei = Post("/rerank", {{"query", "q"}, {"texts", json::array()}}, 400);
  EXPECT_EQ(tei.at("error_type"), "Validation");
}

TEST_F(RerankTest, LongDocumentsFollowDialect) {
  StartAll();
  json body = body_;
  body["documents"][1] = "b b b b b b b b b b b b b b b b b b b";
  EXPECT_EQ(Post("/v1/rerank", body, 400).at("error").at("param"), "documents[1]");
  EXPECT_EQ(Post("/v2/rerank", body).at("results")[0].at("relevance_score"), 10);
}

TEST_F(RerankTest, TeiEmbed) {
  StartAll();
  EXPECT_EQ(Post("/embed", {{"inputs", "the cat"}, {"normalize", false}}),
            json::parse("[[4, 74, 0.1, -2.5]]"));
  const json unit = Post("/embed", {{"inputs", {"a", json::array({3, 4})}}, {"dimensions", 1}});
  EXPECT_EQ(unit, json::parse("[[1], [1]]"));
  EXPECT_EQ(Post("/embed", {{"inputs", 5}}, 400).at("error_type"), "Validation");
  // huggingface_hub's client sends the second to /predict.
  EXPECT_THAT(Post("/embed", {{"inputs", "a"}, {"parameters", {{"top_k", 1}}}}, 400).dump(),
              HasSubstr("parameters: not supported"));
  EXPECT_EQ(Post("/embed", {{"inputs", "a"}, {"parameters", json::object()}}).size(), 1);
}

TEST_F(RerankTest, FastchatWorker) {
  StartAll();
  const json reply =
      Post("/worker_get_embeddings", {{"model", "anything"}, {"input", {"a", "b b"}}});
  EXPECT_EQ(reply.at("embedding").size(), 2);
  EXPECT_EQ(reply.at("token_num"), 7);
  EXPECT_NE(Post("/worker_get_embeddings", {{"input", 5}}).at("error_code"), 0);
}

TEST_F(RerankTest, SglangEncode) {
  StartAll();
  json reply = Post("/encode", {{"text", "the cat"}, {"rid", "r"}});
  EXPECT_EQ(reply.at("embedding"), json::parse("[4, 74, 0.1, -2.5]"));
  EXPECT_EQ(reply.at("meta_info").at("id"), "r");
  EXPECT_EQ(reply.at("meta_info").at("prompt_tokens"), 4);
  reply = Post("/encode", json::parse(R"({"input_ids": [[7], [8]]})"));
  ASSERT_EQ(reply.size(), 2);
  EXPECT_EQ(reply[1].at("embedding")[1], 8);
  reply = Post(
      "/encode",
      json::parse(R"({"text": [["q", "a"], ["q", "b b"]], "is_cross_encoder_request": true})"));
  ASSERT_EQ(reply.size(), 2);
  EXPECT_EQ(reply[1].at("embedding"), 0.5);
  // SGLang's compatibility fields are ignored; unknown fields are rejected.
  reply = Post("/encode", {{"text", "a"}, {"sampling_params", {{"temperature", 0.5}}}});
  EXPECT_EQ(reply.at("embedding")[0], 3);
  const auto refused = [&](const json& params, const std::string& param) {
    const json body = {{"text", "a"}, {"sampling_params", params}};
    EXPECT_EQ(Post("/encode", body, 400).at("error").at("param"), param);
  };
  refused({{"temprature", 0.5}}, "sampling_params.temprature");
  refused(json::parse(R"([{}, {"dimensions": 2}])"), "sampling_params[1].dimensions");
  refused(5, "sampling_params");
  EXPECT_THAT(Post("/encode", {{"text", "a"}, {"image_data", "x"}}, 400).dump(),
              HasSubstr("image_data: `words` reads texts, and no pictures"));
  EXPECT_THAT(Post("/encode", {{"text", "a"}, {"input_ids", json::array({1})}}, 400).dump(),
              HasSubstr("exactly one"));
}

TEST_F(RerankTest, VllmScore) {
  StartAll();
  json reply = Post(
      "/v1/score", {{"text_1", "q"}, {"text_2", {"a", "b b"}}, {"raw_scores", true}, {"rid", "r"}});
  reply.erase("created");
  EXPECT_EQ(reply, json::parse(R"({
    "id": "score-r", "object": "list", "model": "judge",
    "data": [{"index": 0, "object": "score", "score": -1},
             {"index": 1, "object": "score", "score": 0}],
    "usage": {"prompt_tokens": 11, "total_tokens": 11}})"));
  EXPECT_EQ(Post("/score", {{"queries", {"q", "q"}}, {"documents", {"a", "b"}}}).at("data").size(),
            2);
  EXPECT_THAT(Post("/score", {{"text_1", {"q", "q"}}, {"text_2", "a"}}, 400).dump(),
              HasSubstr("1 text for 2 in text_1"));
  EXPECT_THAT(Post("/score", {{"documents", "a"}}, 400).dump(), HasSubstr("queries: missing"));
  EXPECT_THAT(Post("/score", {{"query", "q"}, {"items", "a"}, {"apply_softmax", true}}, 400).dump(),
              HasSubstr("apply_softmax: for \\\"label_token_ids\\\""));
  EXPECT_THAT(
      Post("/score", {{"query", "q"}, {"items", "a"}, {"label_token_ids", json::array({1})}}, 400)
          .dump(),
      HasSubstr("no model that generates text is loaded: give one with --model"));
}

class NextTokensTest : public EncoderTest {
 protected:
  NextTokensTest() {
    AddScores("judge");
    AddStates();
  }
  json Ask(const json& change, int status = 200) const {
    json body = {{"query", "q"}, {"items", {"a", "b b"}}, {"label_token_ids", {100, 300}}};
    body.update(change);
    return Post("/v1/score", body, status);
  }
};

TEST_F(NextTokensTest, SglangScoreIsNextTokenProbabilityOfLabels) {
  StartAll();
  EXPECT_EQ(Ask(json::object()), json::parse(R"({
    "object": "scoring", "model": "demo", "scores": [[0.1, 0.3], [0.1, 0.3]],
    "usage": {"prompt_tokens": 5, "total_tokens": 5}})"));
  EXPECT_EQ(Ask({{"apply_softmax", true}, {"items", "a"}}).at("scores"),
            json::parse("[[0.25, 0.75]]"));
  // "qa" and "qb b", or "aq" and "b bq"; as ids what is given is what is read.
  EXPECT_EQ(Ask({{"item_first", true}, {"model", "demo"}}).at("usage").at("prompt_tokens"), 5);
  const json ids = {{"query", json::array({5, 6})}, {"items", {{7}, {8, 9}}}};
  EXPECT_EQ(Ask(ids).at("usage").at("prompt_tokens"), 7);
}

TEST_F(NextTokensTest, RejectsBadInput) {
  StartAll();
  const auto refusal = [&](const json& change) { return Ask(change, 400).dump(); };
  EXPECT_THAT(refusal({{"label_token_ids", json::array()}}), HasSubstr("a list that is empty"));
  EXPECT_THAT(refusal({{"label_token_ids", json::array({20'000})}}), HasSubstr("19999"));
  EXPECT_THAT(refusal({{"label_token_ids", json::array({-1})}}), HasSubstr("label_token_ids"));
  EXPECT_THAT(refusal({{"label_token_ids", std::vector<int>(1025, 1)}}), HasSubstr("1024"));
  EXPECT_THAT(refusal({{"query", {"a", "b"}}}), HasSubstr("one query is wanted"));
  EXPECT_THAT(refusal({{"items", {"a", json::array({1})}}}), HasSubstr("items[1]"));
  EXPECT_THAT(refusal({{"items", json::array()}}), HasSubstr("items"));
  EXPECT_THAT(refusal({{"query", nullptr}}), HasSubstr("query: missing"));
  EXPECT_THAT(refusal({{"return_pooled_hidden_states", true}}), HasSubstr("not supported"));
  EXPECT_THAT(refusal({{"model", "judge"}}), HasSubstr("`judge` makes scores"));
  EXPECT_THAT(refusal({{"items", {"a", "b b b b b b b b b b b b b b b b b b"}}}),
              HasSubstr("items[1]"));
}

TEST_F(ServeTest, ScoresWithoutClassifierNameFlag) {
  Start();
  for (const char* path :
       {"/v1/rerank", "/v2/rerank", "/rerank", "/predict", "/score", "/classify"}) {
    const HttpReply reply = Connect().Post(path, "{}");
    EXPECT_EQ(reply.status, 400) << path;
    EXPECT_THAT(reply.body, HasSubstr("--rerank-model")) << path;
  }
  for (const char* path : {"/embed", "/encode"}) {
    EXPECT_THAT(Connect().Post(path, "{}").body, HasSubstr("--embed-model")) << path;
  }
}

class ClassifierTest : public EncoderTest {
 protected:
  ClassifierTest() { AddScores("moods", /*num_labels=*/2); }
};

TEST_F(ClassifierTest, TeiPredict) {
  StartAll();
  const json expected = json::parse(R"([{"score": -1, "label": "LABEL_0"},
                                        {"score": -2, "label": "LABEL_1"}])");
  EXPECT_EQ(Post("/predict", {{"inputs", "a b c"}, {"raw_scores", true}}), expected);
  EXPECT_EQ(Post("/predict", {{"inputs", {"a", "b"}}, {"raw_scores", true}}), expected);
  EXPECT_EQ(
      Post("/predict", json::parse(R"({"inputs": [["a b c"], ["a", "b"]], "raw_scores": true})")),
      json::array({expected, expected}));
  EXPECT_EQ(Post("/predict", json::parse(R"({"inputs": [["a", "b", "c"]]})"), 400).at("error_type"),
            "Validation");
}

TEST_F(ClassifierTest, VllmClassify) {
  StartAll();
  const json reply = Post("/classify", {{"input", {"a b c", "a"}}, {"raw_scores", true}});
  EXPECT_EQ(reply.at("data"), json::parse(R"([
    {"index": 0, "label": "LABEL_0", "probs": [-1, -2], "num_classes": 2},
    {"index": 1, "label": "LABEL_0", "probs": [-3, -4], "num_classes": 2}])"));
}

TEST_F(ClassifierTest, DocumentsAreRankedByOneLabel) {
  StartAll();
  EXPECT_THAT(Post("/v1/rerank", {{"query", "q"}, {"documents", json::array({"a"})}}, 400).dump(),
              HasSubstr("2 labels"));
}

}  // namespace
}  // namespace shortlist
