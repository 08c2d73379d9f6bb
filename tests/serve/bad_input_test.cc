// Invalid values for every field of every route with a body.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;

struct Field {
  const char* name;                // of the body, or "sampling_params.x"
  std::vector<const char*> wrong;  // JSON texts; each is refused, and the refusal names the field
};

struct RouteCase {
  const char* path;
  json good;
  std::vector<Field> fields;
};

const std::vector<const char*> kNoBool = {"1", "\"true\"", "[]", "{}"};
const std::vector<const char*> kNoName = {"1", "true", "[]", "{}"};
const std::vector<const char*> kNoUnit = {"-0.1", "1.1", "1e300", "\"1\"", "[]", "true"};
const std::vector<const char*> kNoPenalty = {"-2.1", "2.1", "1e300", "\"1\"", "[]", "{}"};
const std::vector<const char*> kNoCount = {"0",     "-1", "1.5", "1e300", "18446744073709551616",
                                           "\"1\"", "[]", "{}",  "true"};
const std::vector<const char*> kNoStops = {"1", "{}", "[1]", "\"\"", "[\"\"]", "[null]"};
const std::vector<const char*> kNoIds = {"1",       "{}",      "[\"a\"]", "[-1]",
                                         "[16384]", "[1e300]", "[[1]]"};
const std::vector<const char*> kNoAllowedIds = {"1",    "{}",      "[]",      "[\"a\"]",
                                                "[-1]", "[16384]", "[1e300]", "[[1]]"};
const std::vector<const char*> kNoWords = {"1", "{}", "[1]", "\"\"", "[\"a\", \"\"]", "[null]"};
const std::vector<const char*> kNoBias = {"1",
                                          "[]",
                                          "{\"a\": 1}",
                                          "{\"-1\": 1}",
                                          "{\"16384\": 1}",
                                          "{\"1\": 101}",
                                          "{\"1\": null}",
                                          "{\"1\": []}",
                                          "{\"1\": \"1\"}",
                                          "{\"99999999999\": 1}"};

std::vector<Field> OpenAiFields() {
  return {{"model", {"1", "true", "[]"}},
          {"max_tokens", kNoCount},
          {"max_completion_tokens", kNoCount},
          {"temperature", {"-0.1", "2.1", "1e300", "\"1\"", "[]", "true"}},
          {"top_p", {"0", "-1", "1.1", "\"1\"", "[]"}},
          {"top_k", {"-2", "1.5", "\"1\"", "[]", "1e300"}},
          {"min_p", kNoUnit},
          {"n", {"0", "-1", "129", "1.5", "\"1\"", "[]", "1e300", "true"}},
          {"presence_penalty", kNoPenalty},
          {"frequency_penalty", kNoPenalty},
          {"repetition_penalty", {"0", "-1", "2.1", "\"1\""}},
          {"logit_bias", kNoBias},
          {"stop", kNoStops},
          {"stop_token_ids", kNoIds},
          {"ignore_eos", kNoBool},
          {"skip_special_tokens", kNoBool},
          {"seed", {"1.5", "\"1\"", "[]", "1e300", "18446744073709551616"}},
          {"sampling_seed", {"1.5", "\"1\"", "1e300"}},
          {"min_tokens", {"-1", "\"1\"", "1.5"}},
          {"best_of", {"0", "2", "\"1\""}},
          {"bad_words", kNoWords},
          {"allowed_token_ids", kNoAllowedIds},
          {"truncate_prompt_tokens", {"0", "-2", "1.5", "\"1\"", "[]", "1e300", "1025"}},
          {"include_stop_str_in_output", kNoBool},
          {"request_id", kNoName},
          {"stream", kNoBool},
          {"rid", kNoName},
          {"priority", {"\"1\"", "1e300", "[]"}},
          {"cache_salt", kNoName},
          {"stream_options", {"1", "[]", "\"a\""}},
          {"response_format", {"1", "\"text\"", "{\"type\": \"xml\"}", "{\"type\": 1}"}},
          {"tools", {"[1]", "{\"a\": 1}"}},
          {"tool_choice", {"\"required\"", "{}", "1"}},
          {"functions", {"[1]"}},
          {"modalities", {"[\"audio\"]", "\"text\"", "1"}},
          {"regex", {"1", "\"(\"", "[\"a\"]"}},
          {"structural_tag", {"1", "\"{\"", "{}", "{\"format\": {\"type\": \"token\"}}"}},
          {"guided_choice", {"1", "[1]"}},
          {"guided_json", {"1", "\"{\"", "{\"a\": 1}"}}};
}

std::vector<RouteCase> Routes() {
  std::vector<Field> completions = OpenAiFields();
  completions.push_back({"prompt",
                         {"1", "{}", "[]", "[null]", "[1, \"a\"]", "[-1]", "[16384]", "[1e300]",
                          "[[1], \"a\", {}]", "true"}});
  completions.push_back({"logprobs", {"-1", "21", "true", "\"1\""}});
  completions.push_back({"echo", kNoBool});
  completions.push_back({"suffix", {"\"a\"", "1"}});
  std::vector<Field> chat = OpenAiFields();
  chat.push_back(
      {"messages",
       {"1", "{}", "[]", "\"a\"", "[1]", "[{}]", "[{\"role\": \"user\"}]",
        "[{\"role\": 1, \"content\": \"a\"}]", "[{\"content\": \"a\"}]",
        "[{\"role\": \"user\", \"content\": 1}]", "[{\"role\": \"user\", \"content\": []}]",
        "[{\"role\": \"user\", \"content\": [{\"type\": \"image_url\"}]}]",
        "[{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": 1}]}]"}});
  chat.push_back({"logprobs", kNoBool});
  chat.push_back({"top_logprobs", {"-1", "21", "1", "\"1\""}});
  chat.push_back({"chat_template_kwargs", {"1", "[]"}});
  chat.push_back({"documents", {"1", "{}", "\"a\""}});
  chat.push_back({"continue_final_message", {"1", "\"a\"", "true"}});  // the user's is the last
  chat.push_back({"add_generation_prompt", kNoBool});
  return {
      {"/v1/completions", {{"model", "demo"}, {"prompt", "a"}, {"max_tokens", 2}}, completions},
      {"/v1/chat/completions",
       {{"model", "demo"}, {"messages", {{{"role", "user"}, {"content", "a"}}}}, {"max_tokens", 2}},
       chat},
      {"/generate",
       {{"text", "a"}, {"sampling_params", {{"max_new_tokens", 2}}}},
       {{"text", {"1", "{}", "[]", "[1]", "[null]", "true"}},
        {"rid", kNoName},
        {"stream", kNoBool},
        {"return_logprob", kNoBool},
        {"top_logprobs_num", {"-1", "21", "\"1\"", "1.5"}},
        {"return_token_infos", kNoBool},
        {"speculate", kNoBool},
        {"priority", {"\"1\"", "1e300", "[]"}},
        {"cache_salt", kNoName},
        {"extra_key", kNoName},
        {"lora_path", {"\"a\""}},
        {"custom_logit_processor", {"\"a\""}},
        {"image_data", {"\"a\""}},
        {"data_parallel_rank", {"1"}},
        {"sampling_params", {"1", "\"a\"", "[1]", "[{}, {}]"}},
        {"logprob_start_len", {"-2", "1.5", "1e300", "\"1\"", "[]", "true"}},
        {"sampling_params.max_new_tokens", {"-1", "1.5", "1e300", "\"1\"", "[]", "{}", "true"}},
        {"sampling_params.temperature", {"-0.1", "101", "\"1\"", "[]"}},
        {"sampling_params.top_p", {"0", "-1", "1.1", "\"1\""}},
        {"sampling_params.top_k", {"-2", "1.5", "\"1\""}},
        {"sampling_params.min_p", kNoUnit},
        {"sampling_params.frequency_penalty", kNoPenalty},
        {"sampling_params.presence_penalty", kNoPenalty},
        {"sampling_params.repetition_penalty", {"0", "2.1", "\"1\""}},
        {"sampling_params.min_new_tokens", {"-1", "3", "\"1\""}},
        {"sampling_params.n", {"0", "129", "1.5", "\"1\""}},
        {"sampling_params.stop", kNoStops},
        {"sampling_params.stop_token_ids", kNoIds},
        {"sampling_params.ignore_eos", kNoBool},
        {"sampling_params.no_stop_trim", kNoBool},
        {"sampling_params.logit_bias", kNoBias},
        {"sampling_params.bad_words", kNoWords},
        {"sampling_params.allowed_token_ids", kNoAllowedIds},
        {"sampling_params.include_stop_str_in_output", kNoBool},
        {"sampling_params.seed", {"1.5", "\"1\"", "1e300"}},
        {"sampling_params.sampling_seed", {"1.5", "\"1\"", "1e300"}},
        {"sampling_params.json_schema", {"\"{\"", "{\"a\": 1}"}},
        {"sampling_params.ebnf", {"\"a\"", "1"}},
        {"sampling_params.regex", {"\"(\"", "1"}}}},
      {"/tokenize",
       {{"prompt", "a"}},
       {{"prompt", {"1", "{}", "[]", "[1]", "true"}}, {"add_special_tokens", kNoBool}}},
      {"/detokenize",
       {{"tokens", {1}}},
       {{"tokens", {"1", "{}", "\"a\"", "[-1]", "[16384]", "[1e300]", "[\"a\"]", "[[1], 1]"}},
        {"skip_special_tokens", kNoBool}}},
      {"/abort_request", {{"rid", "a"}}, {{"rid", {"1", "[]", "\"\""}}, {"abort_all", {"true"}}}},
  };
}

/// `good` with one member set to the JSON text `value`.
std::string With(const json& good, const std::string& name, const std::string& value) {
  json body = good;
  const size_t dot = name.find('.');
  (dot == name.npos ? body[name] : body[name.substr(0, dot)][name.substr(dot + 1)]) = "@@";
  std::string text = body.dump();
  text.replace(text.find("\"@@\""), 4, value);
  return text;
}

class BadInputTest : public ServeTest {};

TEST_F(BadInputTest, EveryFieldRejectsBadValueByName) {
  Start();
  HttpClient client = Connect();
  for (const RouteCase& route : Routes()) {
    ASSERT_EQ(client.Post(route.path, route.good).status, 200) << route.path;
    for (const Field& field : route.fields) {
      // Null is as good as missing.
      const int with_null = client.Post(route.path, With(route.good, field.name, "null")).status;
      EXPECT_LT(with_null, 500) << route.path << " " << field.name;
      for (const char* value : field.wrong) {
        const HttpReply reply = client.Post(route.path, With(route.good, field.name, value));
        EXPECT_EQ(reply.status, 400) << route.path << " " << field.name << " " << value;
        const std::string name = field.name;
        EXPECT_THAT(reply.Json()["error"]["message"].dump(),
                    testing::HasSubstr(name.substr(name.find('.') + 1)))
            << route.path << " " << value;
      }
    }
  }
}

TEST_F(BadInputTest, MissingFieldsAreNamed) {
  Start();
  HttpClient client = Connect();
  const std::pair<const char*, const char*> cases[] = {
      {"/v1/completions", "prompt"}, {"/v1/chat/completions", "messages"},
      {"/generate", "text"},         {"/tokenize", "prompt"},
      {"/detokenize", "tokens"},     {"/abort_request", "rid"}};
  for (const auto& [path, name] : cases) {
    const HttpReply reply = client.Post(path, "{}");
    EXPECT_EQ(reply.status, 400) << path;
    EXPECT_EQ(reply.Json()["error"]["param"], name) << path;
  }
  EXPECT_EQ(client.Post("/v1/completions", R"({"model": "demo"})").Json()["error"]["param"],
            "prompt");
  EXPECT_EQ(client.Post("/generate", R"({"text": "a", "input_ids": [1]})").status, 400);
}

TEST_F(BadInputTest, NonJsonBodyGetsErrorOfDialect) {
  Start();
  HttpClient client = Connect();
  const std::string deep(100'000, '[');
  for (const RouteCase& route : Routes()) {
    for (const std::string& body :
         {std::string(), std::string("{"), std::string("[]"), std::string("null"), deep,
          std::string("{\"a\": NaN}"), std::string("{\"a\": 1, \"a\": 2}"),
          std::string("{\"text\": \"\xc3\x28\"}"), std::string("{\"text\": \"\\ud800\"}"),
          std::string("{}\0", 3)}) {
      const HttpReply reply = client.Post(route.path, body);
      EXPECT_EQ(reply.status, 400) << route.path << " " << body.substr(0, 40);
      EXPECT_TRUE(reply.Json()["error"]["message"].is_string()) << route.path;
    }
  }
}

TEST_F(BadInputTest, HugeRequestsAreRejectedEarly) {
  Start();
  HttpClient client = Connect();
  json prompts = json::array();
  for (int i = 0; i < 200; ++i) prompts.push_back("a");
  EXPECT_EQ(client.Post("/generate", json{{"text", prompts}}).status, 400);
  prompts.erase(prompts.begin() + 100, prompts.end());
  EXPECT_EQ(
      client.Post("/generate", json{{"text", prompts}, {"sampling_params", {{"n", 100}}}}).status,
      400);
  const HttpReply copies =
      client.Post("/v1/completions",
                  json{{"model", "demo"}, {"prompt", std::string(1 << 20, 'a')}, {"n", 128}});
  EXPECT_EQ(copies.status, 400);
  EXPECT_EQ(copies.Json()["error"]["param"], "n");
  const std::string long_text(1 << 20, 'a');
  for (const json& scored :
       {json{{"text", long_text},
             {"return_logprob", true},
             {"logprob_start_len", 0},
             {"top_logprobs_num", 20}},
        json{{"model", "demo"}, {"prompt", long_text}, {"echo", true}, {"logprobs", 2}}}) {
    const char* path = scored.contains("model") ? "/v1/completions" : "/generate";
    const HttpReply reply = client.Post(path, scored);
    EXPECT_EQ(reply.status, 400);
    EXPECT_THAT(reply.body, testing::HasSubstr("log-probabilities"));
  }
  // Fields that each event would repeat.
  const json cumulative = {{"text", "a"},
                           {"stream", true},
                           {"return_logprob", true},
                           {"top_logprobs_num", 20},
                           {"sampling_params", {{"max_new_tokens", 4000}}}};
  EXPECT_EQ(client.Post("/generate", cumulative).Json()["error"]["param"], "top_logprobs_num");
  json biases = json::object();
  for (int i = 0; i < 2000; ++i) biases[std::to_string(i)] = 1;
  EXPECT_EQ(
      client
          .Post("/v1/completions", json{{"model", "demo"}, {"prompt", "a"}, {"logit_bias", biases}})
          .status,
      400);
  json stops = json::array();
  for (int i = 0; i < 20; ++i) stops.push_back("s");
  EXPECT_EQ(
      client.Post("/v1/completions", json{{"model", "demo"}, {"prompt", "a"}, {"stop", stops}})
          .status,
      400);
  EXPECT_EQ(
      client.Post("/v1/completions", json{{"model", std::string(100'000, 'm')}, {"prompt", "a"}})
          .status,
      400);
  EXPECT_EQ(engine_.num_tokens, 0);
}

}  // namespace
}  // namespace shortlist
