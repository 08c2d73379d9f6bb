// The dialects' answers, against what the engine behind them is known to give.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "serve/output_text.h"
#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ApiTest : public ServeTest {
 protected:
  /// The greedy output for a text prompt, and its text.
  std::vector<TokenId> Ids(const std::string& prompt, int64_t count) const {
    const auto ids = encoder_.Encode(prompt, {});
    EXPECT_TRUE(ids.ok()) << ids.status();
    return engine_.Output(*ids, /*seed=*/0, count);
  }
  std::string Text(const std::vector<TokenId>& ids) const {
    OutputText output(DemoTokenizer(), {});
    std::string text;
    for (const TokenId id : ids) output.Append(id, text);
    output.Finish(text);
    return text;
  }
  static json RawIds(const std::vector<TokenId>& ids) {
    json raw = json::array();
    for (const TokenId id : ids) raw.push_back(::shortlist::Raw(id));
    return raw;
  }
};

const char kPrompt[] = "Once upon a time";

TEST_F(ApiTest, GreedyTextIsTheSameInEveryDialect) {
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
  // BOS spelled out is no second one; behind it, as in transformers, a space is the text's own.
  const json spelled =
      client
          .Post("/generate",
                json{{"text", std::string("<s> ") + kPrompt},
                     {"sampling_params", {{"temperature", 0}, {"max_new_tokens", 24}}}})
          .Json();
  EXPECT_EQ(spelled["meta_info"]["prompt_tokens"], sglang["meta_info"]["prompt_tokens"]);
  EXPECT_EQ(spelled["text"], Text(ids));
}

TEST_F(ApiTest, GenerateTellsWhatSglangTells) {
  Start();
  const HttpReply reply = Connect().Post(
      "/generate", json{{"rid", "mine"},
                        {"text", kPrompt},
                        {"return_logprob", true},
                        {"top_logprobs_num", 2},
                        {"return_text_in_logprobs", true},
                        {"sampling_params", {{"temperature", 0}, {"max_new_tokens", 5}}}});
  ASSERT_EQ(reply.status, 200);
  const json meta = reply.Json()["meta_info"];
  EXPECT_EQ(meta["id"], "mine");
  EXPECT_EQ(meta["finish_reason"], (json{{"type", "length"}, {"length", 5}}));
  EXPECT_EQ(meta["completion_tokens"], 5);
  EXPECT_EQ(meta["cached_tokens"], 1);
  EXPECT_EQ(meta["output_token_logprobs"].size(), 5u);
  EXPECT_EQ(meta["output_token_logprobs"][0][0], -0.5);
  EXPECT_EQ(meta["output_token_logprobs"][0][1], Raw(Ids(kPrompt, 1)[0]));
  EXPECT_TRUE(meta["output_token_logprobs"][0][2].is_string());
  EXPECT_EQ(meta["output_top_logprobs"][4].size(), 2u);
  for (const char* name : {"e2e_latency", "spec_verify_ct", "spec_accept_length",
                           "spec_accept_rate", "spec_accept_histogram", "coverage"}) {
    EXPECT_TRUE(meta.contains(name)) << name;
  }
}

TEST_F(ApiTest, GenerateTellsThePromptsLogprobsFromWhereItIsAsked) {
  Start();
  HttpClient client = Connect();
  const std::vector<TokenId> prompt = *encoder_.Encode(kPrompt, {});
  for (const int64_t start : {int64_t{0}, int64_t{2}, std::ssize(prompt) - 1}) {
    for (const int64_t max_new_tokens : {0, 3}) {
      const json reply =
          client
              .Post("/generate", json{{"text", kPrompt},
                                      {"return_logprob", true},
                                      {"logprob_start_len", start},
                                      {"top_logprobs_num", 2},
                                      {"return_text_in_logprobs", true},
                                      {"sampling_params", {{"max_new_tokens", max_new_tokens}}}})
              .Json();
      const json& meta = reply["meta_info"];
      const json& told = meta["input_token_logprobs"];
      ASSERT_EQ(std::ssize(told), std::ssize(prompt) - start);
      ASSERT_EQ(told.size(), meta["input_top_logprobs"].size());
      EXPECT_TRUE(told[0][0].is_null() && meta["input_top_logprobs"][0].is_null());
      for (size_t i = 0; i < told.size(); ++i) {
        EXPECT_EQ(told[i][1], Raw(prompt[start + i]));
        EXPECT_TRUE(told[i][2].is_string());
        if (i == 0) continue;
        EXPECT_EQ(told[i][0], -1.0 * static_cast<double>(start + i));
        EXPECT_EQ(meta["input_top_logprobs"][i].size(), 2u);
        EXPECT_EQ(meta["input_top_logprobs"][i][1][1], Raw(prompt[start + i - 1]));
      }
      EXPECT_EQ(meta["output_token_logprobs"].size(), max_new_tokens);
      EXPECT_EQ(reply["output_ids"].size(), max_new_tokens);
      EXPECT_EQ(meta["completion_tokens"], max_new_tokens);
      EXPECT_EQ(meta["finish_reason"], (json{{"type", "length"}, {"length", max_new_tokens}}));
      EXPECT_EQ(reply["text"].get<std::string>().empty(), max_new_tokens == 0);
    }
  }
  engine_.step_us = 3000;  // events that nobody waits for are joined
  const HttpReply stream =
      client.Post("/generate", json{{"text", kPrompt},
                                    {"stream", true},
                                    {"return_logprob", true},
                                    {"logprob_start_len", 0},
                                    {"sampling_params", {{"max_new_tokens", 30}}}});
  const std::vector<std::string> events = stream.Events();
  ASSERT_FALSE(events.empty());
  for (size_t i = 0; i + 1 < events.size(); ++i) {  // with the first and the last
    const json meta = json::parse(events[i])["meta_info"];
    const bool is_told = i == 0 || !meta["finish_reason"].is_null();
    EXPECT_EQ(meta["input_token_logprobs"].size(), is_told ? prompt.size() : 0) << i;
  }
  const HttpReply beyond = client.Post(
      "/generate",
      json{{"text", kPrompt}, {"return_logprob", true}, {"logprob_start_len", prompt.size()}});
  EXPECT_EQ(beyond.status, 400);
  EXPECT_EQ(beyond.Json()["error"]["param"], "logprob_start_len");
}

TEST_F(ApiTest, EchoedPromptsComeWithTheirLogprobs) {
  Start();
  HttpClient client = Connect();
  // Text beyond ASCII, and a control token that someone spelled.
  const std::string texts[] = {"Once upon a time", "caf\u00e9 \u65e5\u672c <s>x"};
  for (const bool stream : {false, true}) {
    for (const int64_t max_tokens : {0, 1, 4}) {
      const HttpReply reply = client.Post("/v1/completions", json{{"model", "demo"},
                                                                  {"prompt", texts},
                                                                  {"echo", true},
                                                                  {"logprobs", 1},
                                                                  {"temperature", 0},
                                                                  {"stream", stream},
                                                                  {"max_tokens", max_tokens}});
      ASSERT_EQ(reply.status, 200) << reply.body;
      json choices = json::array({json{{"text", ""}, {"logprobs", nullptr}}, {}});
      choices[1] = choices[0];
      if (!stream) {
        choices = reply.Json()["choices"];
        EXPECT_EQ(reply.Json()["usage"]["completion_tokens"], 2 * max_tokens);
      } else {
        for (const std::string& event : reply.Events()) {
          if (event == "[DONE]") continue;
          const json part = json::parse(event)["choices"][0];
          json& whole = choices[part["index"].get<size_t>()];
          whole["text"] = whole["text"].get<std::string>() + part["text"].get<std::string>();
          for (const auto& [name, list] : part["logprobs"].items()) {
            for (const json& entry : list) whole["logprobs"][name].push_back(entry);
          }
        }
      }
      for (size_t i = 0; i < 2; ++i) {
        const std::vector<TokenId> prompt = *encoder_.Encode(texts[i], {});
        const std::string want = texts[i] + Text(engine_.Output(prompt, /*seed=*/0, max_tokens));
        EXPECT_EQ(choices[i]["text"], want);
        const json& logprobs = choices[i]["logprobs"];
        const size_t count = prompt.size() + max_tokens;
        for (const char* name : {"tokens", "token_logprobs", "top_logprobs", "text_offset"}) {
          ASSERT_EQ(logprobs[name].size(), count) << name;
        }
        // lm-evaluation-harness takes a token for greedy that equals the largest of its top.
        EXPECT_TRUE(logprobs["token_logprobs"][0].is_null());
        EXPECT_TRUE(logprobs["top_logprobs"][0].is_null());
        for (size_t t = 1; t < prompt.size(); ++t) {
          EXPECT_EQ(logprobs["token_logprobs"][t], -static_cast<double>(t));
          EXPECT_EQ(logprobs["top_logprobs"][t].begin().value(), logprobs["token_logprobs"][t]);
        }
        if (i > 0) continue;
        // Offsets of ASCII text are bytes.
        EXPECT_EQ(logprobs["text_offset"][1], 0);  // behind BOS, which is no text
        for (size_t t = 1; t < prompt.size(); ++t) {
          const std::string token = logprobs["tokens"][t];
          const size_t first = token.find_first_not_of(' ');
          const size_t offset = logprobs["text_offset"][t];
          EXPECT_EQ(want.substr(offset).find(token.substr(first)), t == 1 ? 0 : first) << token;
        }
        if (max_tokens > 0) {
          EXPECT_EQ(logprobs["text_offset"][prompt.size()], texts[0].size());
        }
      }
    }
  }
}

TEST_F(ApiTest, SglangStreamsAreCumulativeAndEndWithTheWhole) {
  Start();
  const std::string text = Text(Ids(kPrompt, 40));
  const HttpReply reply = Connect().Post(
      "/generate", json{{"text", kPrompt},
                        {"stream", true},
                        {"return_token_infos", true},
                        {"sampling_params", {{"temperature", 0}, {"max_new_tokens", 40}}}});
  EXPECT_THAT(reply.headers.at("content-type"), HasSubstr("text/event-stream"));
  const std::vector<std::string> events = reply.Events();
  ASSERT_GE(events.size(), 2u);
  EXPECT_EQ(events.back(), "[DONE]");
  std::string before, from_tokens;
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    const json event = json::parse(events[i]);
    const std::string so_far = event["text"];
    EXPECT_TRUE(so_far.starts_with(before));
    EXPECT_EQ(event["meta_info"]["finish_reason"].is_null(), i + 2 < events.size());
    for (const json& info : event["token_infos"]) from_tokens += info["text"];
    before = so_far;
  }
  EXPECT_EQ(before, text);
  EXPECT_EQ(from_tokens, text);
}

TEST_F(ApiTest, OpenAiStreamsJoinToTheWhole) {
  Start();
  HttpClient client = Connect();
  const std::string text = Text(Ids(kPrompt, 40));
  const HttpReply reply =
      client.Post("/v1/completions", json{{"model", "demo"},
                                          {"prompt", kPrompt},
                                          {"temperature", 0},
                                          {"max_tokens", 40},
                                          {"stream", true},
                                          {"stream_options", {{"include_usage", true}}}});
  const std::vector<std::string> events = reply.Events();
  ASSERT_GE(events.size(), 3u);
  std::string joined;
  for (size_t i = 0; i + 2 < events.size(); ++i) {
    const json chunk = json::parse(events[i]);
    EXPECT_EQ(chunk["object"], "text_completion");
    EXPECT_TRUE(chunk["usage"].is_null());
    joined += chunk["choices"][0]["text"];
  }
  EXPECT_EQ(joined, text);
  const json usage = json::parse(events[events.size() - 2]);
  EXPECT_TRUE(usage["choices"].empty());
  EXPECT_EQ(usage["usage"]["completion_tokens"], 40);
  EXPECT_EQ(events.back(), "[DONE]");
}

TEST_F(ApiTest, StopTextsCutWhereverTheyFall) {
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

TEST_F(ApiTest, AStopTokenIsNotWritten) {
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

TEST_F(ApiTest, ChoicesAndBatchesKeepTheirPlaces) {
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

TEST_F(ApiTest, ChatsAreRenderedAndAnswered) {
  Start();
  HttpClient client = Connect();
  json body = {{"model", "demo"},
               {"temperature", 0},
               {"max_tokens", 8},
               {"logprobs", true},
               {"top_logprobs", 2},
               {"messages",
                {{{"role", "system"}, {"content", "Be brief."}},
                 {{"role", "user"}, {"content", {{{"type", "text"}, {"text", "Hello"}}}}}}}};
  const json reply = client.Post("/v1/chat/completions", body).Json();
  const json choice = reply["choices"][0];
  EXPECT_EQ(reply["object"], "chat.completion");
  EXPECT_EQ(choice["message"]["role"], "assistant");
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(choice["logprobs"]["content"].size(), 8u);
  EXPECT_EQ(choice["logprobs"]["content"][0]["top_logprobs"].size(), 2u);
  body["stream"] = true;
  const HttpReply stream = client.Post("/v1/chat/completions", body);
  std::string joined;
  const std::vector<std::string> events = stream.Events();
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    const json chunk = json::parse(events[i]);
    EXPECT_EQ(chunk["object"], "chat.completion.chunk");
    EXPECT_EQ(chunk["choices"][0]["delta"].contains("role"), i == 0);
    joined += chunk["choices"][0]["delta"]["content"];
  }
  EXPECT_EQ(joined, choice["message"]["content"]);
}

TEST_F(ApiTest, TemplatesSeeKeysInTheOrderOfTheRequest) {
  auto chat_template = ChatTemplate::Create(
      {{"default", "{{ docs | tojson }} {{ messages[0].annotations | tojson }}"}}, {});
  ASSERT_TRUE(chat_template.ok()) << chat_template.status();
  const PromptEncoder encoder(DemoTokenizer(), *std::move(chat_template),
                              **FindConversation("zero_shot"));
  Start([&](Server::Options& options) { options.generator.prompt_encoder = &encoder; });
  HttpClient client = Connect();
  const std::string body =
      R"({"model": "demo", "temperature": 0, "max_tokens": 8,
          "messages": [{"role": "user", "annotations": {"z": 1, "a": {"y": 2, "b": 3}},
                        "content": "x"}],
          "chat_template_kwargs": {"docs": [{"title": "t", "body": "b"}]}})";
  const json chat = client.Post("/v1/chat/completions", body).Json();
  const std::string prompt = R"([{"title": "t", "body": "b"}] {"z": 1, "a": {"y": 2, "b": 3}})";
  const auto ids = DemoTokenizer().Encode(prompt, {.add_special_tokens = false});
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(chat["choices"][0]["message"]["content"], Text(engine_.Output(*ids, 0, 8)));
  Stop();  // before the encoder goes
}

TEST_F(ApiTest, WithoutMaxTokensAChatFillsTheContext) {
  Start();
  const json reply =
      Connect()
          .Post("/v1/chat/completions", json{{"model", "demo"},
                                             {"messages", {{{"role", "user"}, {"content", "Hi"}}}},
                                             {"stop", json::array()}})
          .Json();
  const int64_t total = reply["usage"]["total_tokens"];
  EXPECT_LE(total, 1024);
  if (reply["choices"][0]["finish_reason"] == "length") {
    EXPECT_EQ(total, 1024);
  }
}

TEST_F(ApiTest, WhatDoesNotFitTheContextIsRefusedInWordsThatClientsLookFor) {
  Start();
  HttpClient client = Connect();
  const auto error = [&](const std::string& path, const json& body) {
    const HttpReply reply = client.Post(path, body);
    EXPECT_EQ(reply.status, 400) << path;
    json told = reply.Json()["error"];
    EXPECT_EQ(told["code"], "context_length_exceeded") << path;
    EXPECT_EQ(told["type"], "invalid_request_error") << path;
    return told;
  };
  const std::string prompt_len = std::to_string(encoder_.Encode("a b c", {})->size());
  const std::string total = std::to_string(encoder_.Encode("a b c", {})->size() + 1024);
  const auto message_of = [&](const std::string& field) {
    return "This model's maximum context length is 1024 tokens. However, you requested " + total +
           " tokens (" + prompt_len + " in the " + field +
           ", 1024 in the completion): context_length_exceeded. Please reduce the " + field +
           " or the completion.";
  };
  const json completion =
      error("/v1/completions", {{"model", "demo"}, {"prompt", "a b c"}, {"max_tokens", 1024}});
  EXPECT_EQ(completion["message"], message_of("prompt"));
  EXPECT_EQ(completion["param"], "prompt");
  const json generated =
      error("/generate", {{"text", "a b c"}, {"sampling_params", {{"max_new_tokens", 1024}}}});
  EXPECT_EQ(generated["message"], message_of("text"));
  EXPECT_EQ(generated["param"], "text");
  // Counted no further than the context.
  std::string text;
  for (int i = 0; i < 2000; ++i) text += " word";
  const json stream = error("/generate", {{"text", text}, {"stream", true}});
  EXPECT_THAT(stream["message"],
              HasSubstr("at least 1153 tokens (more than 1024 in the text, 128"));
  const json message = {{"role", "user"}, {"content", text}};
  const json chat = error("/v1/chat/completions", {{"messages", json::array({message})}});
  EXPECT_THAT(chat["message"], HasSubstr("more than 1024 in the messages, 1 in the completion"));
  EXPECT_EQ(chat["param"], "messages");
}

TEST_F(ApiTest, WhatTheSchedulerCannotPlaceIsRefusedWithTheSameCode) {
  Start();
  engine_.max_total_tokens = 100;
  HttpClient client = Connect();
  const HttpReply reply = client.Post(
      "/v1/completions", json{{"model", "demo"}, {"prompt", "a b c"}, {"max_tokens", 100}});
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.Json()["error"]["code"], "context_length_exceeded");
  EXPECT_THAT(reply.body, HasSubstr("KV slots"));
  const json worker =
      client.Post("/worker_generate", json{{"prompt", "a b c"}, {"max_new_tokens", 100}}).Json();
  EXPECT_EQ(worker["error_code"], 40303);
}

TEST_F(ApiTest, AWorkersRequestGetsWhatTheContextHasRoomFor) {
  Start();
  HttpClient client = Connect();
  const json reply =
      client
          .Post("/worker_generate",
                json{{"prompt", "a b c"}, {"max_new_tokens", 100'000}, {"temperature", 0}})
          .Json();
  EXPECT_EQ(reply["error_code"], 0) << reply;
  EXPECT_LE(reply["usage"]["total_tokens"], 1024);
  std::string text;
  for (int i = 0; i < 2000; ++i) text += " word";
  EXPECT_EQ(client.Post("/worker_generate", json{{"prompt", text}}).Json()["error_code"], 40303);
}

TEST_F(ApiTest, ModelsAreKnownByName) {
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

TEST_F(ApiTest, ARepositoryIsServedUnderItsNameAndTheLastPartOfIt) {
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

TEST_F(ApiTest, AFullQueueIsToldBeforeAnyStream) {
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

TEST_F(ApiTest, RequestsAreAbortedByTheirNames) {
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

TEST_F(ApiTest, TokenizeAndBack) {
  Start();
  HttpClient client = Connect();
  const json one = client.Post("/tokenize", json{{"prompt", kPrompt}}).Json();
  EXPECT_EQ(one["tokens"], RawIds(*encoder_.Encode(kPrompt, {})));
  EXPECT_EQ(one["count"], one["tokens"].size());
  EXPECT_EQ(one["max_model_len"], 1024);
  const json two =
      client.Post("/v1/tokenize", json{{"prompt", {"a", "b c"}}, {"add_special_tokens", false}})
          .Json();
  EXPECT_EQ(two["tokens"].size(), 2u);
  EXPECT_EQ(client.Post("/detokenize", json{{"tokens", one["tokens"]}}).Json()["text"], kPrompt);
  EXPECT_EQ(
      client.Post("/detokenize", json{{"tokens", one["tokens"]}, {"skip_special_tokens", false}})
          .Json()["text"],
      std::string("<s>") + kPrompt);
  EXPECT_EQ(client.Post("/detokenize", json{{"tokens", two["tokens"]}}).Json()["text"],
            (json{"a", "b c"}));
}

TEST_F(ApiTest, AConversationIsTokenizedAsTheChatRouteDoes) {
  Start();
  HttpClient client = Connect();
  const json messages = {{{"role", "user"}, {"content", "Hi"}}};
  const json tokenized = client.Post("/tokenize", json{{"messages", messages}}).Json();
  const json chat =
      client.Post("/v1/chat/completions", json{{"messages", messages}, {"max_tokens", 1}}).Json();
  EXPECT_EQ(tokenized["count"], chat["usage"]["prompt_tokens"]);
  EXPECT_EQ(tokenized["tokens"].size(), tokenized["count"]);
  std::string text;
  for (int i = 0; i < 2000; ++i) text += " word";
  const HttpReply reply =
      client.Post("/tokenize", json{{"messages", {{{"role", "user"}, {"content", text}}}}});
  EXPECT_EQ(reply.Json()["error"]["code"], "context_length_exceeded");
  EXPECT_EQ(client.Post("/tokenize", json{{"messages", 1}}).Json()["error"]["param"], "messages");
}

// What lm_eval.utils.RemoteTokenizer asks for.
TEST_F(ApiTest, LmEvalsTokenizerFindsItsRoutes) {
  Start();
  HttpClient client = Connect();
  const json info = client.Get("/tokenizer_info").Json();
  EXPECT_EQ(info["eos_token"], "</s>");
  EXPECT_EQ(info["bos_token"], "<s>");
  EXPECT_TRUE(info.contains("pad_token"));
  const json eos =
      client.Post("/tokenize", json{{"prompt", info["eos_token"]}, {"add_special_tokens", false}})
          .Json();
  EXPECT_EQ(eos["tokens"], json{2});
  const json ids =
      client.Post("/tokenize", json{{"prompt", kPrompt}, {"add_special_tokens", false}}).Json();
  EXPECT_EQ(client.Post("/detokenize", json{{"tokens", ids["tokens"]}}).Json()["prompt"], kPrompt);
}

TEST_F(ApiTest, VersionAndPingNeedNoKey) {
  Start([](Server::Options& options) { options.keys.api = {{"", "key"}}; });
  HttpClient client = Connect();
  EXPECT_EQ(client.Get("/version").Json()["version"], "test");
  EXPECT_EQ(client.Get("/ping").status, 200);
  EXPECT_EQ(client.Post("/ping", "", "").status, 200);
  EXPECT_EQ(client.Get("/tokenizer_info").status, 401);
}

TEST_F(ApiTest, GatewaysFindWhatTheyAskFor) {
  Start();
  HttpClient client = Connect();
  EXPECT_EQ(client.Get("/health_generate").status, 200);
  for (const char* path : {"/model_info", "/get_model_info"}) {
    EXPECT_EQ(client.Get(path).Json()["is_generation"], true) << path;
  }
  for (const char* path : {"/server_info", "/get_server_info"}) {
    const json info = client.Get(path).Json();
    EXPECT_EQ(info["served_model_name"], "demo") << path;
    EXPECT_EQ(info["dp_size"], 1) << path;
    EXPECT_EQ(info["max_total_num_tokens"], 10'000) << path;
  }
  const json loads = client.Get("/v1/loads?include=core,queues").Json();
  EXPECT_EQ(loads["dp_rank_count"], 1);
  EXPECT_EQ(loads["loads"][0]["num_running_reqs"], 0);
  EXPECT_EQ(client.Get("/get_load").Json()[0]["num_reqs"], 0);
  client.Post("/generate", json{{"text", "a"}});
  const std::string metrics = client.Get("/metrics").body;
  for (const char* name :
       {"sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:token_usage",
        "sglang:generation_tokens_total", "sglang:time_to_first_token_seconds_bucket",
        "shortlist:coverage", "shortlist:http_requests_total"}) {
    EXPECT_THAT(metrics, HasSubstr(name));
  }
}

/// The value of a metric without labels of its own.
double Metric(const std::string& text, const std::string& name) {
  const size_t line = text.find("\n" + name + "{");
  EXPECT_NE(line, text.npos) << name;
  return std::stod(text.substr(text.find("} ", line) + 2));
}

TEST_F(ApiTest, AcceptLengthAndCoverageAreTheSameEverywhere) {
  Start();
  HttpClient client = Connect();
  const json reply =
      client
          .Post("/generate",
                json{{"text", kPrompt},
                     {"return_token_infos", true},
                     {"sampling_params", {{"temperature", 0}, {"max_new_tokens", 40}}}})
          .Json();
  double num_escapes = 0;
  for (const json& token : reply["token_infos"]) num_escapes += token["escape"].get<bool>();
  const json meta = reply["meta_info"];
  const double num_step_tokens = 39;  // the first comes of the prompt's pass
  EXPECT_DOUBLE_EQ(meta["coverage"], 1.0 - num_escapes / num_step_tokens);
  EXPECT_DOUBLE_EQ(meta["spec_accept_length"],
                   num_step_tokens / meta["spec_verify_ct"].get<double>());
  const json state = client.Get("/server_info").Json()["internal_states"][0];
  EXPECT_EQ(state["avg_spec_accept_length"], meta["spec_accept_length"]);
  EXPECT_EQ(state["coverage"], meta["coverage"]);
  const std::string metrics = client.Get("/metrics").body;
  EXPECT_NEAR(Metric(metrics, "sglang:spec_accept_length"), meta["spec_accept_length"], 1e-4);
  EXPECT_NEAR(Metric(metrics, "shortlist:coverage"), meta["coverage"], 1e-4);
  // What the page makes of counters.
  EXPECT_EQ(Metric(metrics, "shortlist:step_tokens_total"), num_step_tokens);
  EXPECT_EQ(Metric(metrics, "sglang:spec_verify_calls_total"),
            meta["spec_verify_ct"].get<double>());
  EXPECT_EQ(Metric(metrics, "shortlist:escapes_total"), num_escapes);
}

TEST_F(ApiTest, APlainRequestIsNotDraftedForAndNotCounted) {
  Start();
  HttpClient client = Connect();
  json body = {{"text", kPrompt}, {"sampling_params", {{"temperature", 0}, {"max_new_tokens", 9}}}};
  const json drafted = client.Post("/generate", body).Json();
  EXPECT_GT(drafted["meta_info"]["decode_throughput"], 0.0);
  const json before = client.Get("/server_info").Json()["internal_states"];
  body["speculate"] = false;
  const json plain = client.Post("/generate", body).Json();
  EXPECT_EQ(engine_.num_plain, 1);
  EXPECT_EQ(plain["text"], drafted["text"]);
  EXPECT_FALSE(plain["meta_info"].contains("spec_accept_length"));
  EXPECT_GT(plain["meta_info"]["decode_throughput"], 0.0);
  const json after = client.Get("/server_info").Json()["internal_states"];
  for (const char* name : {"avg_spec_accept_length", "coverage"}) {
    EXPECT_EQ(before[0][name], after[0][name]) << name;
  }
}

TEST_F(ApiTest, WithoutADraftNoAcceptLengthIsTold) {
  Start([](Server::Options& options) { options.service.num_draft_tokens = 0; });
  const json state = Connect().Get("/server_info").Json()["internal_states"][0];
  EXPECT_FALSE(state.contains("avg_spec_accept_length"));
  EXPECT_FALSE(state.contains("coverage"));
}

TEST_F(ApiTest, WaitingTokensAreThoseOfTheQueueAndThoseOnTheirWayToIt) {
  Start();
  HttpClient client = Connect(), first = Connect(), second = Connect();
  EXPECT_EQ(client.Get("/get_load").Json()[0]["num_pending_tokens"], 0);
  engine_.num_waiting_tokens = 10;
  // A step that takes long, during which another request comes.
  const json body = {{"text", kPrompt}, {"sampling_params", {{"max_new_tokens", 4}}}};
  const int64_t prompt_len = std::ssize(*encoder_.Encode(kPrompt, {}));
  engine_.holds = true;
  first.Send(PostRequest("/generate", body.dump()));
  ASSERT_TRUE(Await([this] { return engine_.num_held == 1; }));
  second.Send(PostRequest("/generate", body.dump()));
  const auto loads = [&] { return client.Get("/v1/loads").Json()["loads"][0]; };
  // The held step has not told of the first one, nor of the queue.
  EXPECT_TRUE(Await([&] { return loads()["num_waiting_tokens"] == 2 * prompt_len; })) << loads();
  EXPECT_EQ(loads()["num_waiting_uncached_tokens"], 2 * prompt_len);
  engine_.holds = false;
  EXPECT_EQ(first.Receive().status, 200);
  EXPECT_EQ(second.Receive().status, 200);
  EXPECT_TRUE(Await([&] { return loads()["num_waiting_tokens"] == 10; })) << loads();
  EXPECT_EQ(loads()["num_waiting_uncached_tokens"], 5);
  const json load = client.Get("/get_load").Json()[0];
  EXPECT_EQ(load["num_pending_tokens"], 5);
  EXPECT_EQ(load["num_tokens"], 10);
}

TEST_F(ApiTest, TheOpenApiDocumentNamesEveryRoute) {
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
