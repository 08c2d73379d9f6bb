// Which fields of a request are done, accepted without an effect, and refused; and what those that
// are done do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/output.h"
#include "serve/output_text.h"
#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

const json kMessages = json::array({{{"role", "user"}, {"content", "Hello"}}});
const json kChat = {{"model", "demo"}, {"messages", kMessages}, {"max_tokens", 2}};
const json kCompletion = {{"model", "demo"}, {"prompt", "Hello"}, {"max_tokens", 2}};
const json kGenerate = {{"text", "Hello"}, {"sampling_params", {{"max_new_tokens", 2}}}};

class RequestFieldsTest : public ServeTest {
 protected:
  void ExpectRefused(const char* path, const json& body, const std::string& param,
                     const std::string& words = "") {
    const HttpReply reply = Connect().Post(path, body);
    ASSERT_EQ(reply.status, 400) << path << " " << param << " " << reply.body;
    const json error = reply.Json()["error"];
    EXPECT_EQ(error["param"], param) << path;
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr(words)) << path;
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr(param)) << path;
  }
  json Ok(const char* path, const json& body) {
    const HttpReply reply = Connect().Post(path, body);
    EXPECT_EQ(reply.status, 200) << path << " " << body << " " << reply.body;
    return reply.status == 200 && !body.value("stream", false) ? reply.Json() : json();
  }
  FakeEngine::Arrival Last() const { return engine_.arrivals().back(); }
};

json With(json body, const json& more) {
  body.update(more, /*merge_objects=*/true);
  return body;
}

TEST_F(RequestFieldsTest, UnknownNamesAreRejectedAtAnyDepth) {
  Start();
  const struct {
    const char* path;
    json body;
    const char* param;
    const char* words;
  } kCases[] = {
      {"/v1/chat/completions", With(kChat, {{"no_field", 0}}), "no_field", "no such field"},
      {"/v1/completions", With(kCompletion, {{"no_field", false}}), "no_field", "no such field"},
      {"/generate", With(kGenerate, {{"no_field", ""}}), "no_field", "no such field"},
      {"/generate", With(kGenerate, {{"sampling_params", {{"temprature", 0}}}}),
       "sampling_params.temprature", "did you mean \"temperature\"?"},
      {"/v1/chat/completions", With(kChat, {{"max_token", 5}}), "max_token",
       "did you mean \"max_tokens\"?"},
      {"/v1/completions", With(kCompletion, {{"stop_words", "a"}}), "stop_words", "no such field"},
      {"/v1/chat/completions", With(kChat, {{"stream_options", {{"include_usag", true}}}}),
       "stream_options.include_usag", "did you mean \"include_usage\"?"},
      {"/v1/chat/completions",
       With(kChat, {{"response_format", {{"type", "text"}, {"schema", 1}}}}),
       "response_format.schema", "no such field"},
      {"/v1/chat/completions",
       With(kChat, {{"messages", {{{"role", "user"}, {"content", "a"}, {"weight", 1}}}}}),
       "messages[0].weight", "no such field"},
      {"/v1/chat/completions",
       With(kChat, {{"messages",
                     {{{"role", "user"},
                       {"content", {{{"type", "text"}, {"text", "a"}, {"lang", "en"}}}}}}}}),
       "messages[0].content.lang", "no such field"},
  };
  for (const auto& [path, body, param, words] : kCases) ExpectRefused(path, body, param, words);
  // An empty object asks for the defaults of what is not done; null asks for nothing.
  for (const char* name : {"structured_outputs", "web_search_options"}) {
    ExpectRefused("/v1/chat/completions", With(kChat, {{name, json::object()}}), name, "");
  }
  ExpectRefused("/tokenize", {{"prompt", "a"}, {"add_specail_tokens", false}}, "add_specail_tokens",
                "add_special_tokens");
  ExpectRefused("/tokenize", {{"messages", kMessages}, {"tools", json::array({1})}}, "tools");
  ExpectRefused("/detokenize", {{"tokens", {5}}, {"skip_special_tokenz", true}},
                "skip_special_tokenz", "skip_special_tokens");
  ExpectRefused("/abort_request", {{"rid", "a"}, {"abort_al", true}}, "abort_al", "abort_all");
  ExpectRefused("/v1/chat/completions", With(kChat, {{"max_tokens", 2}, {"min_tokens", 9}}),
                "min_tokens", "9");
  Ok("/v1/chat/completions", With(kChat, {{"no_field", nullptr}}));
  EXPECT_EQ(engine_.arrivals().size(), 1u);
}

TEST_F(RequestFieldsTest, FieldsThatChangeOutputAreRejectedByName) {
  Start();
  const json everywhere = {{"stop_regex", "a"},
                           {"guided_whitespace_pattern", " "},
                           {"use_beam_search", true},
                           {"prompt_logprobs", 0},
                           {"timeout", 5},
                           {"lora_path", "a"},
                           {"logits_processors", {"a"}},
                           {"spaces_between_special_tokens", false},
                           {"return_hidden_states", true}};
  json openai = With(everywhere, {{"tools", {{{"type", "function"}}}},
                                  {"tool_choice", "required"},
                                  {"best_of", 2},
                                  {"verbosity", "low"},
                                  {"modalities", {"text", "audio"}},
                                  {"audio", {{"voice", "a"}}},
                                  {"prediction", {{"type", "content"}}},
                                  {"web_search_options", {{"a", 1}}}});
  for (const auto& [name, value] : openai.items()) {
    ExpectRefused("/v1/chat/completions", With(kChat, {{name, value}}), name);
    ExpectRefused("/v1/completions", With(kCompletion, {{name, value}}), name);
  }
  const json chat = {{"chat_template", "{{ messages }}"},
                     {"add_special_tokens", true},
                     {"echo", true},
                     {"input_ids", {1, 2}}};
  for (const auto& [name, value] : chat.items()) {
    ExpectRefused("/v1/chat/completions", With(kChat, {{name, value}}), name);
  }
  ExpectRefused("/v1/completions", With(kCompletion, {{"add_special_tokens", false}}),
                "add_special_tokens");
  ExpectRefused("/v1/completions", With(kCompletion, {{"reasoning_effort", "low"}}),
                "reasoning_effort");
  for (const auto& [name, value] : everywhere.items()) {
    ExpectRefused("/generate", With(kGenerate, {{"sampling_params", {{name, value}}}}),
                  "sampling_params." + name);
  }
  // Fields of sampling_params are reported as such for any value.
  for (const char* name :
       {"seed", "max_tokens", "temperature", "top_p", "stop", "max_new_tokens"}) {
    ExpectRefused("/generate", With(kGenerate, {{name, 0}}), name, "sampling_params");
  }
  ExpectRefused("/generate", With(kGenerate, {{"sampling_params", {{"max_tokens", 5}}}}),
                "sampling_params.max_tokens", "max_new_tokens");
  EXPECT_TRUE(engine_.arrivals().empty());
}

TEST_F(RequestFieldsTest, BothNamesOfFieldMustAgree) {
  Start();
  for (const char* path : {"/v1/chat/completions", "/v1/completions"}) {
    const json body = path == std::string("/v1/completions") ? kCompletion : kChat;
    ExpectRefused(path, With(body, {{"max_tokens", 2}, {"max_completion_tokens", 3}}),
                  "max_completion_tokens", "max_tokens has another value");
    ExpectRefused(path, With(body, {{"rid", "a"}, {"request_id", "b"}}), "request_id",
                  "rid has another value");
    ExpectRefused(path, With(body, {{"seed", 1}, {"sampling_seed", 2}}), "sampling_seed");
    Ok(path, With(body, {{"max_tokens", 2}, {"max_completion_tokens", 2}}));
    Ok(path, With(body, {{"rid", "a"}, {"request_id", "a"}}));
    Ok(path, With(body, {{"rid", "b"}, {"request_id", ""}}));
  }
}

TEST_F(RequestFieldsTest, IntegralNumbersAreTokenIds) {
  Start();
  Ok("/v1/completions", json::parse(R"({"prompt": [300.0, 3.01e2, 302], "max_tokens": 1})"));
  EXPECT_EQ(Last().input_ids, (std::vector<TokenId>{TokenId{300}, TokenId{301}, TokenId{302}}));
  Ok("/generate", json::parse(R"({"input_ids": [[300.0]], "dynamic_token_ids": [301.0],
      "sampling_params": {"max_new_tokens": 1, "stop_token_ids": [302.0],
                          "allowed_token_ids": [303.0, 304]}})"));
  EXPECT_EQ(Last().input_ids, std::vector<TokenId>{TokenId{300}});
  EXPECT_EQ(Last().dynamic_token_ids, std::vector<TokenId>{TokenId{301}});
  EXPECT_EQ(Last().sampling.stop_token_ids.front(), TokenId{302});
  Ok("/detokenize", json::parse(R"({"tokens": [300.0]})"));
  for (const char* id : {"300.5", "-1.0", "-0.5", "1e300", "16384.0", "true", "null", "\"300\""}) {
    const std::string body = std::string(R"({"max_tokens": 1, "prompt": [300, )") + id + "]}";
    ExpectRefused("/v1/completions", json::parse(body), "prompt[1]", "no token id");
  }
}

TEST_F(RequestFieldsTest, BiasKeyMustBeCanonicalTokenId) {
  Start();
  for (const char* key : {"0300", "00", "+300", " 300", "300 ", "-0", "300.0", "3e2", "0x10"}) {
    ExpectRefused("/v1/completions", With(kCompletion, {{"logit_bias", {{key, 1}}}}), "logit_bias");
  }
  ExpectRefused("/v1/completions", With(kCompletion, {{"logit_bias", {{"300", 1}, {"0300", 2}}}}),
                "logit_bias", "\"0300\"");
  Ok("/v1/completions", With(kCompletion, {{"logit_bias", {{"300", 1}, {"0", 2}}}}));
  EXPECT_EQ(Last().sampling.logit_bias.size(), 2u);
}

/// All schemas of strings with a bound, below `schema`.
void CollectBounded(const json& schema, std::vector<json>& found) {
  if (schema.is_object() && schema.contains("maxLength")) found.push_back(schema);
  if (!schema.is_structured()) return;
  for (const json& member : schema) CollectBounded(member, found);
}

TEST_F(RequestFieldsTest, OpenApiCharacterBoundsFitByteBounds) {
  Start();
  std::vector<json> bounded;
  CollectBounded(Connect().Get("/openapi.json").Json(), bounded);
  EXPECT_GT(bounded.size(), 20u);
  for (const json& schema : bounded) {
    const int64_t num_bytes = 4 * schema["maxLength"].get<int64_t>();
    EXPECT_EQ(schema.value("description", ""), std::to_string(num_bytes) + " bytes of UTF-8")
        << schema;
  }
  const auto repeated = [](const std::string& character, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += character;
    return text;
  };
  for (const char* name : {"rid", "cache_salt", "extra_key", "stop"}) {
    Ok("/v1/completions", With(kCompletion, {{name, repeated("\xF0\x9F\x98\x80", 64)}}));
    Ok("/v1/completions", With(kCompletion, {{name, repeated("x", 256)}}));
    ExpectRefused("/v1/completions", With(kCompletion, {{name, repeated("\xF0\x9F\x98\x80", 65)}}),
                  name);
  }
}

TEST_F(RequestFieldsTest, AcceptsCommonClientRequests) {
  Start();
  const json chats[] = {
      // openai-python's parameters that change nothing, or ask for the default
      {{"user", "u"},
       {"metadata", {{"a", "b"}}},
       {"store", true},
       {"service_tier", "auto"},
       {"safety_identifier", "s"},
       {"prompt_cache_key", "k"},
       {"prompt_cache_retention", "24h"},
       {"parallel_tool_calls", true},
       {"modalities", json::array({"text"})},
       {"tools", json::array()},
       {"tool_choice", "none"},
       {"function_call", "none"},
       {"functions", json::array()},
       {"response_format", {{"type", "text"}}},
       {"n", 1},
       {"logprobs", nullptr},
       {"stream_options", {{"include_usage", true}, {"include_obfuscation", false}}}},
      // sglang-router's chat request, whose members are always there
      {{"logprobs", false},
       {"stream", false},
       {"no_stop_trim", false},
       {"ignore_eos", false},
       {"continue_final_message", false},
       {"skip_special_tokens", true},
       {"separate_reasoning", true},
       {"stream_reasoning", true},
       {"return_hidden_states", false}},
      // guidellm and vLLM's own benchmark
      {{"stream", true},
       {"max_completion_tokens", 2},
       {"ignore_eos", true},
       {"stream_options", {{"include_usage", true}, {"continuous_usage_stats", true}}}},
      // vLLM's defaults
      {{"use_beam_search", false},
       {"length_penalty", 1.0},
       {"include_reasoning", true},
       {"spaces_between_special_tokens", true},
       {"add_special_tokens", false},
       {"echo", false},
       {"bad_words", json::array()},
       {"request_id", "mine"},
       {"min_tokens", 0},
       {"best_of", 1}},
      // langchain-openai and llm
      {{"stream", false}, {"temperature", 0.7}, {"frequency_penalty", 0.0}, {"stop", {"x"}}},
      // replies that come back: OpenAI's, litellm's, SGLang's
      {{"messages",
        {{{"role", "system"}, {"content", "Be brief."}},
         {{"role", "user"},
          {"content",
           {{{"type", "text"}, {"text", "a"}, {"cache_control", {{"type", "ephemeral"}}}}}}},
         {{"role", "assistant"},
          {"content", "b"},
          {"refusal", nullptr},
          {"annotations", json::array()},
          {"audio", nullptr},
          {"function_call", nullptr},
          {"tool_calls", json::array()}},
         {{"role", "user"}, {"content", "c"}, {"name", "me"}},
         {{"role", "assistant"},
          {"content", "d"},
          {"reasoning_content", nullptr},
          {"provider_specific_fields", {{"refusal", nullptr}}}},
         {{"role", "user"}, {"content", "e"}}}}},
  };
  for (const json& more : chats) Ok("/v1/chat/completions", With(kChat, more));
  const json completions[] = {
      // lm-evaluation-harness, log-likelihoods and generation
      {{"temperature", 0}, {"max_tokens", 1}, {"logprobs", 1}, {"seed", 1234}, {"echo", true}},
      {{"temperature", 0}, {"stop", {"\n"}}, {"seed", 1234}},
      // SGLang's bench_serving
      {{"temperature", 0.0}, {"best_of", 1}, {"stream", true}, {"ignore_eos", true}},
      // vLLM's benchmark
      {{"repetition_penalty", 1.0},
       {"logprobs", nullptr},
       {"stream", true},
       {"stream_options", {{"include_usage", true}}}},
      // langchain-openai's OpenAI
      {{"temperature", 0.7},
       {"top_p", 1.0},
       {"frequency_penalty", 0.0},
       {"presence_penalty", 0.0},
       {"n", 1},
       {"seed", nullptr},
       {"logprobs", nullptr},
       {"logit_bias", json::object()}},
      // sglang-router
      {{"stream", false},
       {"echo", false},
       {"no_stop_trim", false},
       {"ignore_eos", false},
       {"skip_special_tokens", true},
       {"return_hidden_states", false},
       {"sampling_seed", 7}},
  };
  for (const json& more : completions) Ok("/v1/completions", With(kCompletion, more));
  const json generates[] = {
      // SGLang's bench_serving
      {{"stream", true},
       {"lora_path", nullptr},
       {"return_logprob", false},
       {"logprob_start_len", -1},
       {"sampling_params", {{"temperature", 0.0}, {"ignore_eos", true}}}},
      {{"stream", true}, {"lora_path", ""}, {"image_data", nullptr}},
      // sglang-router
      {{"return_text_in_logprobs", false},
       {"stream", false},
       {"log_metrics", true},
       {"return_hidden_states", false},
       {"background", false},
       {"no_logs", false},
       {"return_bytes", false},
       {"return_entropy", false},
       {"model", "demo"}},
      // SGLang's client of its own language
      {{"sampling_params",
        {{"stop", json::array()},
         {"stop_token_ids", nullptr},
         {"top_k", -1},
         {"min_p", 0.0},
         {"n", 1},
         {"spaces_between_special_tokens", true},
         {"json_schema", nullptr},
         {"custom_params", nullptr},
         {"stream_interval", nullptr},
         {"logit_bias", nullptr}}}},
  };
  for (const json& more : generates) Ok("/generate", With(kGenerate, more));
}

TEST_F(RequestFieldsTest, SeedHasTwoNames) {
  Start();
  Ok("/generate", With(kGenerate, {{"sampling_params", {{"seed", 11}}}}));
  EXPECT_EQ(Last().sampling.seed, 11u);
  Ok("/generate", With(kGenerate, {{"sampling_params", {{"sampling_seed", 12}}}}));
  EXPECT_EQ(Last().sampling.seed, 12u);
  Ok("/v1/completions", With(kCompletion, {{"sampling_seed", 13}, {"seed", 13}}));
  EXPECT_EQ(Last().sampling.seed, 13u);
  ExpectRefused("/v1/completions", With(kCompletion, {{"sampling_seed", 13}, {"seed", 14}}),
                "sampling_seed");
}

TEST_F(RequestFieldsTest, BadWordsAreEncodedLikeVllm) {
  Start();
  const Tokenizer& tokenizer = DemoTokenizer();
  const auto encode = [&](const std::string& text) {
    return *tokenizer.Encode(text, {.add_special_tokens = false});
  };
  std::vector<std::vector<TokenId>> expected;
  for (const std::string& word : {std::string("time"), std::string("Once upon")}) {
    expected.push_back(encode(word));
    const std::vector<TokenId> behind_a_space = encode(" " + word);
    if (behind_a_space.size() == expected.back().size() &&
        behind_a_space.front() != expected.back().front()) {
      expected.push_back(behind_a_space);
    }
  }
  const json words = {"time", "  Once upon"};
  Ok("/v1/chat/completions", With(kChat, {{"bad_words", words}}));
  EXPECT_EQ(Last().sampling.bans->bad_words(), expected);
  Ok("/generate", With(kGenerate, {{"sampling_params", {{"bad_words", words}}}}));
  EXPECT_EQ(Last().sampling.bans->bad_words(), expected);
}

TEST_F(RequestFieldsTest, OpenAiDefaultsToModelSampling) {
  Start([](Server::Options& options) {
    options.service.sampling = {
        .temperature = 0.6, .top_k = 20, .top_p = 0.9, .min_p = 0.05, .repetition_penalty = 1.1};
    options.service.max_new_tokens = 3;
  });
  const auto expect = [&](double temperature, int64_t top_k, double top_p, double min_p,
                          double repetition_penalty) {
    const SamplingParams sampling = Last().sampling;
    EXPECT_EQ(sampling.temperature, temperature);
    EXPECT_EQ(sampling.top_k, top_k);
    EXPECT_EQ(sampling.top_p, top_p);
    EXPECT_EQ(sampling.min_p, min_p);
    EXPECT_EQ(sampling.repetition_penalty, repetition_penalty);
  };
  for (const char* path : {"/v1/chat/completions", "/v1/completions"}) {
    Ok(path, path[4] == 'c' && path[5] == 'h' ? kChat : kCompletion);
    expect(0.6, 20, 0.9, 0.05, 1.1);
  }
  Ok("/v1/responses", {{"input", "Hello"}});
  expect(0.6, 20, 0.9, 0.05, 1.1);
  EXPECT_EQ(Last().sampling.max_new_tokens, 3);
  // Given fields override the default, each separately.
  Ok("/v1/completions", With(kCompletion, {{"temperature", 0}, {"top_k", -1}, {"min_p", 0}}));
  expect(0, 0, 0.9, 0, 1.1);
  Ok("/v1/chat/completions", json{{"messages", kMessages}});
  EXPECT_EQ(Last().sampling.max_new_tokens, 3);
  // The model's own length does not bound the requested length.
  Ok("/v1/chat/completions", json{{"messages", kMessages}, {"min_tokens", 8}});
  EXPECT_EQ(Last().sampling.min_new_tokens, 8);
  EXPECT_EQ(Last().sampling.max_new_tokens, 8);
  // SGLang's own route keeps the defaults of its dialect.
  Ok("/generate", kGenerate);
  expect(1, 0, 1, 0, 1);
}

TEST_F(RequestFieldsTest, AllowedIdsArriveInOrder) {
  Start();
  Ok("/v1/completions", With(kCompletion, {{"allowed_token_ids", {9, 300, 9, 2}}}));
  EXPECT_THAT(Last().sampling.bans->allowed_token_ids(),
              ElementsAre(TokenId{2}, TokenId{9}, TokenId{300}));
  Ok("/v1/completions", kCompletion);
  EXPECT_EQ(Last().sampling.bans, nullptr);
}

TEST_F(RequestFieldsTest, BothNamesKeepStopTextInStreamsToo) {
  Start();
  HttpClient client = Connect();
  const json body = With(kCompletion, {{"temperature", 0}, {"max_tokens", 60}});
  const std::string text = Ok("/v1/completions", body)["choices"][0]["text"];
  const auto whole_from = [&text](size_t i) {
    while (i < text.size() && (text[i] & 0xC0) == 0x80) ++i;
    return i;
  };
  const size_t begin = whole_from(text.size() / 2);
  const std::string stop = text.substr(begin, whole_from(begin + 9) - begin);
  const std::string want = text.substr(0, text.find(stop)) + stop;
  for (const char* name : {"include_stop_str_in_output", "no_stop_trim"}) {
    const json stopped = With(body, {{"stop", stop}, {name, true}});
    EXPECT_EQ(Ok("/v1/completions", stopped)["choices"][0]["text"], want);
    std::string joined;
    const HttpReply stream = client.Post("/v1/completions", With(stopped, {{"stream", true}}));
    for (const std::string& event : stream.Events()) {
      if (event != "[DONE]") joined += json::parse(event)["choices"][0]["text"];
    }
    EXPECT_EQ(joined, want) << name;
    const json native = {
        {"text", "Hello"},
        {"sampling_params",
         {{"temperature", 0}, {"max_new_tokens", 60}, {"stop", stop}, {name, true}}}};
    EXPECT_EQ(Ok("/generate", native)["text"], want) << name;
  }
}

TEST_F(RequestFieldsTest, StopTextNamesMustAgree) {
  Start();
  for (const bool keeps : {false, true}) {
    const json same = {{"no_stop_trim", keeps}, {"include_stop_str_in_output", keeps}};
    Ok("/v1/completions", With(kCompletion, same));
    const json other = {{"no_stop_trim", keeps}, {"include_stop_str_in_output", !keeps}};
    ExpectRefused("/v1/completions", With(kCompletion, other), "no_stop_trim",
                  "include_stop_str_in_output has another value");
    const json none = {{"no_stop_trim", keeps}, {"include_stop_str_in_output", nullptr}};
    Ok("/v1/completions", With(kCompletion, none));
  }
}

TEST_F(RequestFieldsTest, TruncationKeepsEndOfPrompt) {
  Start();
  std::string text;
  for (int i = 0; i < 1000; ++i) text += " word" + std::to_string(i);  // beyond the context
  const std::vector<TokenId> whole = *encoder_.Encode(text, {});
  ASSERT_GT(whole.size(), 1024u);
  ASSERT_LT(whole.size(), 8 * 1024u);
  const auto expect_end = [&](const std::vector<TokenId>& ids, size_t count, bool with_bos) {
    std::vector<TokenId> expected(whole.end() - static_cast<std::ptrdiff_t>(count), whole.end());
    if (with_bos) expected.front() = whole.front();
    EXPECT_EQ(ids, expected);
  };
  // The begin-of-text token that a text gets counts and stays; ids are cut as they are.
  const json reply =
      Ok("/v1/completions", With(kCompletion, {{"prompt", text}, {"truncate_prompt_tokens", 100}}));
  expect_end(Last().input_ids, 100, /*with_bos=*/true);
  EXPECT_EQ(reply["usage"]["prompt_tokens"], 100);
  json ids = json::array();
  for (const TokenId id : whole) ids.push_back(Raw(id));
  Ok("/v1/completions", With(kCompletion, {{"prompt", ids}, {"truncate_prompt_tokens", 100}}));
  expect_end(Last().input_ids, 100, /*with_bos=*/false);
  Ok("/v1/completions", With(kCompletion, {{"prompt", text}, {"truncate_prompt_tokens", 1}}));
  EXPECT_THAT(Last().input_ids, ElementsAre(whole.front()));
  // To what leaves room for the output.
  Ok("/v1/completions",
     With(kCompletion, {{"prompt", text}, {"truncate_prompt_tokens", -1}, {"max_tokens", 24}}));
  expect_end(Last().input_ids, 1000, /*with_bos=*/true);
  Ok("/v1/completions", With(kCompletion, {{"truncate_prompt_tokens", 100}}));
  EXPECT_EQ(Last().input_ids, *encoder_.Encode("Hello", {}));
  const json chat = {{{"role", "user"}, {"content", text}}};
  Ok("/v1/chat/completions", With(kChat, {{"messages", chat}, {"truncate_prompt_tokens", 50}}));
  EXPECT_EQ(Last().input_ids.size(), 50u);
  // Some contexts long, but not any length.
  std::string huge;
  for (int i = 0; i < 20; ++i) huge += text;
  const HttpReply refused = Connect().Post(
      "/v1/completions", With(kCompletion, {{"prompt", huge}, {"truncate_prompt_tokens", 100}}));
  EXPECT_EQ(refused.Json()["error"]["code"], "context_length_exceeded");
  EXPECT_THAT(refused.Json()["error"]["message"].get<std::string>(),
              HasSubstr("more than 8192 tokens, 8 contexts"));
  ExpectRefused("/v1/completions",
                With(kCompletion, {{"truncate_prompt_tokens", 9}, {"echo", true}}),
                "truncate_prompt_tokens");
}

TEST_F(RequestFieldsTest, ChatContinuesAssistantMessage) {
  Start();
  json messages = kMessages;
  messages.push_back({{"role", "assistant"}, {"content", "The answer is"}});
  const json body = With(kChat, {{"messages", messages}, {"continue_final_message", true}});
  Ok("/v1/chat/completions", body);
  const std::string prompt = DemoTokenizer().Decode(Last().input_ids);
  EXPECT_TRUE(prompt.ends_with("### Human: Hello\n### Assistant: The answer is")) << prompt;
  Ok("/v1/chat/completions", With(body, {{"add_generation_prompt", false}}));
  ExpectRefused("/v1/chat/completions", With(body, {{"add_generation_prompt", true}}),
                "continue_final_message", "add_generation_prompt");
  ExpectRefused("/v1/chat/completions", With(body, {{"messages", kMessages}}),
                "continue_final_message", "assistant");
  // Without a chat template there is nothing that reads variables.
  for (const char* name : {"chat_template_kwargs", "documents"}) {
    const json value = *name == 'd' ? json::array({{{"title", "a"}}}) : json{{"a", 1}};
    const HttpReply reply = Connect().Post("/v1/chat/completions", With(kChat, {{name, value}}));
    EXPECT_EQ(reply.status, 400);
    EXPECT_THAT(reply.body, HasSubstr(name));
  }
}

TEST_F(RequestFieldsTest, ZeroLogprobsReturnsTokenOnly) {
  Start();
  const json reply = Ok("/v1/completions", With(kCompletion, {{"logprobs", 0}}));
  const json& logprobs = reply["choices"][0]["logprobs"];
  ASSERT_EQ(logprobs["tokens"].size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const json expected = {
        {logprobs["tokens"][i].get<std::string>(), logprobs["token_logprobs"][i]}};
    EXPECT_EQ(logprobs["top_logprobs"][i], expected);
  }
  const json chat = Ok("/v1/chat/completions", With(kChat, {{"logprobs", true}}));
  EXPECT_TRUE(chat["choices"][0]["logprobs"]["content"][0]["top_logprobs"].empty());
}

TEST(TopWithChosenTest, ChosenTokenIsAlwaysIncluded) {
  const TokenInfo info{.logprob = -3.0f, .top = {{TokenId{4}, -0.5f}, {TokenId{7}, -1.0f}}};
  EXPECT_EQ(TopWithChosen(TokenId{7}, info), info.top);
  EXPECT_THAT(TopWithChosen(TokenId{9}, info),
              ElementsAre(std::pair(TokenId{4}, -0.5f), std::pair(TokenId{7}, -1.0f),
                          std::pair(TokenId{9}, -3.0f)));
}

TEST_F(RequestFieldsTest, ContinuousUsageCountsTokensSoFar) {
  Start();
  const json body = With(kCompletion, {{"max_tokens", 30},
                                       {"stream", true},
                                       {"stream_options", {{"continuous_usage_stats", true}}}});
  const HttpReply stream = Connect().Post("/v1/completions", body);
  int64_t before = 0;
  const std::vector<std::string> events = stream.Events();
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    const json usage = json::parse(events[i])["usage"];
    EXPECT_EQ(usage["prompt_tokens"], encoder_.Encode("Hello", {})->size());
    EXPECT_GE(usage["completion_tokens"], before);
    before = usage["completion_tokens"];
  }
  EXPECT_EQ(before, 30);
}

}  // namespace
}  // namespace shortlist
