// The dialects' replies, compared with the known output of their engine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/serve/api_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST_F(ApiTest, GreedyTextIsEqualInEveryDialect) {
  Start();
  HttpClient client = Connect();
  const std::vector<TokenId> ids = Ids(kPrompt, 24);
  const json sglang =
      client
          .Post("/generate",
                json{{"text", kPrompt},
                     {"sampling_params", {{"temperature", 0}, {"max_new_tokens", 24}}}})
          .Json();
  EXPECT_EQ(sglang["text"], Text(ids));
  EXPECT_EQ(sglang["output_ids"], RawIds(ids));
  const json openai =
      client
          .Post(
              "/v1/completions",
              json{{"model", "demo"}, {"prompt", kPrompt}, {"temperature", 0}, {"max_tokens", 24}})
          .Json();
  EXPECT_EQ(openai["choices"][0]["text"], Text(ids));
  EXPECT_EQ(openai["usage"]["prompt_tokens"], sglang["meta_info"]["prompt_tokens"]);
  // By ids, BOS included, as by text.
  const json by_ids =
      client
          .Post("/generate",
                json{{"input_ids", RawIds(*encoder_.Encode(kPrompt, {}))},
                     {"sampling_params", {{"temperature", 0}, {"max_new_tokens", 24}}}})
          .Json();
  EXPECT_EQ(by_ids["text"], Text(ids));
  // A spelled-out BOS is not repeated; a space after it is kept, as in transformers.
  const json spelled =
      client
          .Post("/generate",
                json{{"text", std::string("<s> ") + kPrompt},
                     {"sampling_params", {{"temperature", 0}, {"max_new_tokens", 24}}}})
          .Json();
  EXPECT_EQ(spelled["meta_info"]["prompt_tokens"], sglang["meta_info"]["prompt_tokens"]);
  EXPECT_EQ(spelled["text"], Text(ids));
}

TEST_F(ApiTest, StopTextsCutAnywhere) {
  Start();
  HttpClient client = Connect();
  const std::string text = Text(Ids(kPrompt, 60));
  // A text from the middle of the output, across tokens.
  const auto whole_from = [&text](size_t i) {
    while (i < text.size() && (text[i] & 0xC0) == 0x80) ++i;
    return i;
  };
  const size_t begin = whole_from(text.size() / 2);
  const std::string stop = text.substr(begin, whole_from(begin + 9) - begin);
  ASSERT_GE(stop.size(), 9u);
  const std::string want = text.substr(0, text.find(stop));
  for (const bool stream : {false, true}) {
    const HttpReply reply = client.Post(
        "/generate",
        json{{"text", kPrompt},
             {"stream", stream},
             {"sampling_params", {{"temperature", 0}, {"max_new_tokens", 60}, {"stop", stop}}}});
    json last = reply.Json();
    if (stream) {
      const std::vector<std::string> events = reply.Events();
      for (size_t i = 0; i + 1 < events.size(); ++i) {
        last = json::parse(events[i]);
        EXPECT_TRUE(want.starts_with(std::string(last["text"])));
      }
    }
    EXPECT_EQ(last["text"], want);
    EXPECT_EQ(last["meta_info"]["finish_reason"], (json{{"type", "stop"}, {"matched", stop}}));
    EXPECT_LT(last["meta_info"]["completion_tokens"], 60);
  }
  const json kept = client
                        .Post("/generate", json{{"text", kPrompt},
                                                {"sampling_params",
                                                 {{"temperature", 0},
                                                  {"max_new_tokens", 60},
                                                  {"no_stop_trim", true},
                                                  {"stop", stop}}}})
                        .Json();
  EXPECT_EQ(kept["text"], want + stop);
  const json openai = client
                          .Post("/v1/completions", json{{"model", "demo"},
                                                        {"prompt", kPrompt},
                                                        {"temperature", 0},
                                                        {"max_tokens", 60},
                                                        {"stop", json::array({"~~~~", stop})}})
                          .Json();
  EXPECT_EQ(openai["choices"][0]["text"], want);
  EXPECT_EQ(openai["choices"][0]["finish_reason"], "stop");
}

TEST_F(ApiTest, MinTokensDelayStopTextsLikeVllm) {
  Start();
  const std::vector<TokenId> ids = Ids(kPrompt, 20);
  // A text that ends with the fourth token, and one that ends later.
  const std::string four = Text({ids.begin(), ids.begin() + 4}), whole = Text(ids);
  const std::string early = four.substr(four.size() - 2), late = whole.substr(whole.size() - 4);
  HttpClient client = Connect();
  const auto complete = [&](int64_t min_tokens, const std::string& stop) {
    return client
        .Post("/v1/completions", json{{"prompt", kPrompt},
                                      {"temperature", 0},
                                      {"max_tokens", 20},
                                      {"min_tokens", min_tokens},
                                      {"stop", stop}})
        .Json()["choices"][0];
  };
  const auto expected = [&](const std::string& stop, size_t num_passed) {
    const size_t passed = Text({ids.begin(), ids.begin() + num_passed}).size();
    const size_t from = passed < stop.size() ? 0 : passed - stop.size() + 1;
    return whole.substr(0, whole.find(stop, num_passed == 0 ? 0 : from));
  };
  for (const std::string& stop : {early, late}) {
    for (const size_t min_tokens : {0, 3, 4, 7, 19, 20}) {
      EXPECT_EQ(complete(min_tokens, stop)["text"], expected(stop, min_tokens)) << min_tokens;
    }
  }
  EXPECT_NE(expected(early, 3), expected(early, 4));
  const json generated = client
                             .Post("/generate", json{{"text", kPrompt},
                                                     {"sampling_params",
                                                      {{"temperature", 0},
                                                       {"max_new_tokens", 20},
                                                       {"min_new_tokens", 20},
                                                       {"stop", early}}}})
                             .Json();
  EXPECT_EQ(generated["text"], expected(early, 0));
}

TEST_F(ApiTest, StopTokenIsNotReturned) {
  Start();
  const std::vector<TokenId> ids = Ids(kPrompt, 10);
  const json reply = Connect()
                         .Post("/generate", json{{"text", kPrompt},
                                                 {"sampling_params",
                                                  {{"temperature", 0},
                                                   {"max_new_tokens", 10},
                                                   {"stop_token_ids", {Raw(ids[6])}}}}})
                         .Json();
  EXPECT_EQ(reply["text"], Text({ids.begin(), ids.begin() + 6}));
  EXPECT_EQ(reply["output_ids"].size(), 7u);
  EXPECT_EQ(reply["meta_info"]["finish_reason"],
            (json{{"type", "stop"}, {"matched", Raw(ids[6])}}));
}

TEST_F(ApiTest, ChoicesAndBatchesKeepTheirOrder) {
  Start();
  HttpClient client = Connect();
  const json body = {{"model", "demo"}, {"prompt", {"first prompt", "second prompt"}},
                     {"n", 3},          {"max_tokens", 6},
                     {"seed", 11},      {"echo", true}};
  const json reply = client.Post("/v1/completions", body).Json();
  ASSERT_EQ(reply["choices"].size(), 6u);
  std::set<std::string> texts;
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(reply["choices"][i]["index"], i);
    const std::string text = reply["choices"][i]["text"];
    EXPECT_TRUE(text.starts_with(i < 3 ? "first prompt" : "second prompt")) << text;
    texts.insert(text);
  }
  EXPECT_EQ(texts.size(), 6u);
  EXPECT_EQ(reply["usage"]["completion_tokens"], 36);
  EXPECT_EQ(client.Post("/v1/completions", body).Json()["choices"], reply["choices"]);

  const json batch =
      client
          .Post("/generate",
                json{{"text", {"a", "b"}},
                     {"sampling_params",
                      {{{"max_new_tokens", 2}, {"n", 2}}, {{"max_new_tokens", 3}, {"n", 2}}}}})
          .Json();
  ASSERT_EQ(batch.size(), 4u);
  EXPECT_EQ(batch[1]["meta_info"]["completion_tokens"], 2);
  EXPECT_EQ(batch[2]["meta_info"]["completion_tokens"], 3);
}

TEST_F(ApiTest, ModelsAreFoundByName) {
  Start();
  HttpClient client = Connect();
  const json models = client.Get("/v1/models").Json();
  EXPECT_EQ(models["data"][0]["id"], "demo");
  EXPECT_EQ(models["data"][0]["owned_by"], "sglang");
  EXPECT_EQ(models["data"][0]["max_model_len"], 1024);
  EXPECT_EQ(client.Get("/v1/models/demo").status, 200);
  EXPECT_EQ(client.Get("/v1/models/other").status, 404);
  const HttpReply other = client.Post("/v1/completions", json{{"model", "other"}, {"prompt", "a"}});
  EXPECT_EQ(other.status, 404);
  EXPECT_EQ(other.Json()["error"]["code"], "model_not_found");
  EXPECT_EQ(other.Json()["error"]["param"], "model");
  EXPECT_THAT(other.Json()["error"]["message"], HasSubstr("`demo`"));
}

TEST_F(ApiTest, RepositoryIsServedUnderFullAndShortName) {
  Start([](Server::Options& options) { options.service.model_name = "Org/Name"; });
  HttpClient client = Connect();
  json body = {{"prompt", "a"}, {"max_tokens", 1}};
  EXPECT_EQ(client.Post("/v1/completions", body).Json()["model"], "Org/Name");
  for (const char* name : {"Org/Name", "Name", "default", ""}) {
    body["model"] = name;
    EXPECT_EQ(client.Post("/v1/completions", body).status, 200) << name;
  }
  for (const char* name : {"Org", "name", "Other/Name", "Org/Name/"}) {
    body["model"] = name;
    EXPECT_EQ(client.Post("/v1/completions", body).status, 404) << name;
  }
  EXPECT_EQ(client.Get("/v1/models/Org/Name").Json()["id"], "Org/Name");
  EXPECT_EQ(client.Get("/v1/models/Name").Json()["id"], "Org/Name");
  EXPECT_EQ(client.Post("/worker_get_status", "{}").Json()["model_names"],
            (json{"Org/Name", "Name"}));
}

TEST_F(ApiTest, FullQueueIsReportedBeforeStreaming) {
  engine_.max_running = 0;
  Start();
  for (const char* stream : {"false", "true"}) {
    const HttpReply reply =
        Connect().Post("/generate", std::string(R"({"text": "a", "stream": )") + stream + "}");
    EXPECT_EQ(reply.status, 429);
    EXPECT_EQ(reply.headers.count("retry-after"), 1u);
    EXPECT_EQ(reply.Json()["error"]["code"], "overloaded");
  }
  engine_.max_running = 10;
}

TEST_F(ApiTest, RequestsAreAbortedById) {
  engine_.step_us = 5000;
  Start();
  HttpClient first = Connect(), second = Connect(), third = Connect();
  const json body = {{"rid", "x"},
                     {"text", "a"},
                     {"sampling_params", {{"max_new_tokens", 1000}, {"ignore_eos", true}}}};
  first.Send(PostRequest("/generate", body.dump()));
  ASSERT_TRUE(Await([this] { return engine_.num_live == 1; }));
  const HttpReply duplicate = second.Post("/generate", body);
  EXPECT_EQ(duplicate.status, 400);
  EXPECT_THAT(duplicate.body, HasSubstr("Duplicate request ID"));
  EXPECT_EQ(third.Post("/abort_request", json{{"rid", "y"}}).Json()["aborted"], false);
  EXPECT_EQ(third.Post("/abort_request", json{{"rid", "x"}}).Json()["aborted"], true);
  const HttpReply reply = first.Receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Json()["meta_info"]["finish_reason"]["type"], "abort");
  EXPECT_TRUE(AwaitIdle());
  EXPECT_EQ(second.Post("/generate", json{{"rid", "x"}, {"text", "a"}}).status, 200);
}

TEST_F(ApiTest, OpenApiDocumentListsEveryRoute) {
  Start();
  const json document = Connect().Get("/openapi.json").Json();
  ASSERT_TRUE(document.is_object());
  EXPECT_TRUE(document["openapi"].get<std::string>().starts_with("3.1"));
  for (const char* path : {"/generate", "/v1/completions", "/v1/chat/completions"}) {
    EXPECT_TRUE(document["paths"][path]["post"].contains("requestBody")) << path;
  }
  EXPECT_EQ(document["paths"]["/v1/models/{id}"]["get"]["parameters"][0]["in"], "path");
}

}  // namespace
}  // namespace shortlist
