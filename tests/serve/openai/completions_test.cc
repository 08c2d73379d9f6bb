// /v1/completions: echoes with log-probabilities, streams.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/serve/api_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;

class CompletionsTest : public ApiTest {};

TEST_F(CompletionsTest, EchoedPromptsHaveLogprobs) {
  Start();
  HttpClient client = Connect();
  // Text beyond ASCII, and a spelled-out control token.
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
        EXPECT_EQ(logprobs["text_offset"][1], 0);  // after BOS, which is not text
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

/// The bytes of a code point that no token finishes are U+FFFD before the next token's text.
TEST_F(CompletionsTest, OffsetsFollowUnfinishedCodePoints) {
  Start();
  constexpr int kByteE2 = 229, kThe = 265;
  const json body = {{"prompt", {1, kByteE2, kThe, kByteE2, kByteE2, kThe}},
                     {"echo", true},
                     {"logprobs", 0},
                     {"max_tokens", 0}};
  const json choice = Connect().Post("/v1/completions", body).Json()["choices"][0];
  EXPECT_EQ(choice["text"], "\uFFFD the\uFFFD\uFFFD the");
  EXPECT_EQ(choice["logprobs"]["text_offset"], json({0, 0, 1, 5, 6, 7}));
  // Tokens with the same text are apart.
  EXPECT_EQ(choice["logprobs"]["tokens"][1], "bytes:\\xe2");
  EXPECT_EQ(choice["logprobs"]["top_logprobs"][3],
            json({{"bytes:\\xe2", choice["logprobs"]["token_logprobs"][3]}}));
}

/// Statistics of speculation, in vLLM's shape and as /generate reports them.
TEST_F(CompletionsTest, RepliesReportSpeculation) {
  Start();
  const json params = {{"temperature", 0}, {"max_new_tokens", 40}};
  const json meta = Connect()
                        .Post("/generate", json{{"text", kPrompt}, {"sampling_params", params}})
                        .Json()["meta_info"];
  json body = {{"prompt", kPrompt}, {"temperature", 0}, {"max_tokens", 40}};
  const json whole = Connect().Post("/v1/completions", body).Json();
  const json stats = whole["metrics"]["speculative_decoding"];
  EXPECT_EQ(stats["num_spec_steps"], meta["spec_verify_ct"]);
  EXPECT_EQ(stats["num_accepted_draft_tokens"], meta["spec_accepted_drafts"]);
  EXPECT_EQ(stats["num_draft_tokens"], meta["spec_proposed_drafts"]);
  EXPECT_EQ(stats["num_spec_tokens"], 8);
  EXPECT_EQ(stats["acceptance_histogram"].size(), 9u);
  int64_t num_steps = 0;
  for (const json& count : stats["acceptance_histogram"]) num_steps += count.get<int64_t>();
  EXPECT_EQ(num_steps, stats["num_spec_steps"]);
  const double accepted = stats["num_accepted_draft_tokens"];
  EXPECT_DOUBLE_EQ(stats["mean_acceptance_length"],
                   1.0 + accepted / static_cast<double>(num_steps));
  EXPECT_EQ(stats["draft_acceptance_rate"], meta["spec_accept_rate"]);

  // A stream reports them once: with the usage, else with the last choice.
  for (const bool with_usage : {false, true}) {
    body["stream"] = true;
    body["stream_options"] = {{"include_usage", with_usage}};
    const std::vector<std::string> events = Connect().Post("/v1/completions", body).Events();
    ASSERT_EQ(events.back(), "[DONE]");
    for (size_t i = 0; i + 1 < events.size(); ++i) {
      const json event = json::parse(events[i]);
      EXPECT_EQ(event.contains("metrics"), i + 2 == events.size()) << event;
      if (event.contains("metrics")) {
        EXPECT_EQ(event["metrics"], whole["metrics"]);
      }
    }
  }
}

TEST_F(CompletionsTest, SeveralChoicesAndPlainDecodingReportNoSpeculation) {
  Start();
  json body = {{"prompt", kPrompt}, {"max_tokens", 10}, {"n", 2}};
  EXPECT_FALSE(Connect().Post("/v1/completions", body).Json().contains("metrics"));
  body = {{"prompt", {kPrompt, "b"}}, {"max_tokens", 10}};
  EXPECT_FALSE(Connect().Post("/v1/completions", body).Json().contains("metrics"));
  body = {{"prompt", kPrompt}, {"max_tokens", 1}};  // no step after the prompt's pass
  EXPECT_FALSE(Connect().Post("/v1/completions", body).Json().contains("metrics"));
}

TEST_F(CompletionsTest, StreamPiecesJoinToWholeText) {
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

}  // namespace
}  // namespace shortlist
