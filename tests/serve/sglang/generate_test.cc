// /generate: its replies, whole and as a stream.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/serve/api_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class GenerateTest : public ApiTest {};

TEST_F(GenerateTest, RepliesLikeSglang) {
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

TEST_F(GenerateTest, DynamicTokenIdsReachEngine) {
  Start();
  HttpClient client = Connect();
  json body = {{"text", kPrompt}, {"dynamic_token_ids", {7, 3}}, {"sampling_params", {{"n", 2}}}};
  ASSERT_EQ(client.Post("/generate", body).status, 200);
  const auto arrivals = engine_.arrivals();
  ASSERT_EQ(arrivals.size(), 2u);
  for (const auto& arrival : arrivals) {
    EXPECT_EQ(RawIds(arrival.dynamic_token_ids), json({7, 3}));
  }
  const int64_t size = DemoTokenizer().size();
  for (const json& bad : {json({size}), json({-1}), json({1.5}), json("7"), json({"7"}),
                          json(std::vector<int>(4097, 1))}) {
    body["dynamic_token_ids"] = bad;
    const HttpReply reply = client.Post("/generate", body);
    EXPECT_EQ(reply.status, 400) << bad.dump().substr(0, 40);
    EXPECT_THAT(reply.body, HasSubstr("dynamic_token_ids"));
  }
}

TEST_F(GenerateTest, PromptLogprobsBeginAtRequestedPosition) {
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
      const json& logprobs = meta["input_token_logprobs"];
      ASSERT_EQ(std::ssize(logprobs), std::ssize(prompt) - start);
      ASSERT_EQ(logprobs.size(), meta["input_top_logprobs"].size());
      EXPECT_TRUE(logprobs[0][0].is_null() && meta["input_top_logprobs"][0].is_null());
      for (size_t i = 0; i < logprobs.size(); ++i) {
        EXPECT_EQ(logprobs[i][1], Raw(prompt[start + i]));
        EXPECT_TRUE(logprobs[i][2].is_string());
        if (i == 0) continue;
        EXPECT_EQ(logprobs[i][0], -1.0 * static_cast<double>(start + i));
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
  engine_.step_us = 3000;  // events that no reader waits for are joined
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
    EXPECT_EQ(meta["cached_tokens"], 1) << i;
  }
  const HttpReply beyond = client.Post(
      "/generate",
      json{{"text", kPrompt}, {"return_logprob", true}, {"logprob_start_len", prompt.size()}});
  EXPECT_EQ(beyond.status, 400);
  EXPECT_EQ(beyond.Json()["error"]["param"], "logprob_start_len");
}

TEST_F(GenerateTest, StreamsAreCumulative) {
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

TEST_F(GenerateTest, PlainRequestIsNeitherDraftedNorCounted) {
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

}  // namespace
}  // namespace shortlist
