#include "serve/fastchat/worker.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "serve/http/api_error.h"
#include "serve/output.h"
#include "tests/serve/fake_generator.h"

namespace shortlist {
namespace {

namespace asio = boost::asio;
using nlohmann::json;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

OutputToken Token(int32_t id, std::string text, float logprob) {
  return {.id = TokenId{id}, .text = std::move(text), .info = {.logprob = logprob}};
}

/// One token that brings `text`, the `num_tokens`-th of the output.
GenerationEvent Piece(std::string text, int64_t num_tokens) {
  return {.text = text,
          .tokens = {Token(static_cast<int32_t>(num_tokens), text, -0.5f)},
          .prompt_tokens = 3,
          .completion_tokens = num_tokens};
}

GenerationEvent End(FinishReason reason, int64_t num_tokens) {
  return {.prompt_tokens = 3,
          .completion_tokens = num_tokens,
          .finished = true,
          .finish_reason = reason};
}

GenerationEvent Failure(absl::Status status) {
  return {.prompt_tokens = 3, .finished = true, .status = std::move(status)};
}

class FastchatWorkerTest : public ::testing::Test {
 protected:
  /// An answer on its way.
  struct Call {
    HttpRequest http;
    FakeResponse response;
    asio::cancellation_signal gone;
    std::optional<absl::Status> status;  // what the handler returned
    bool threw = false;
  };

  void SetUp() override {
    auto tokenizer = OpenTokenizerFile("models/demo/target/tokenizer.model");
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    tokenizer_ = *std::move(tokenizer);
    encoder_.emplace(*tokenizer_, std::nullopt, **FindConversation("zero_shot"));
    generator_ = std::make_unique<FakeGenerator>(
        io_.get_executor(),
        Generator::Options{
            .tokenizer = tokenizer_.get(), .prompt_encoder = &*encoder_, .context_length = 512});
    service_.generator = generator_.get();
    service_.workers = &workers_;
    FastchatFrame frame{.conversation = **FindConversation("vicuna_v1.1")};
    frame.marked_system = "[none]";
    frame.no_system = "Once";
    worker_ =
        std::make_unique<FastchatWorker>(io_.get_executor(), service_,
                                         FastchatWorker::Options{.model_names = {"demo", "also"},
                                                                 .frame = std::move(frame),
                                                                 .limit_worker_concurrency = 2,
                                                                 .keep_alive = milliseconds(5)});
    ASSERT_TRUE(worker_->AddRoutes(routes_).ok());
  }

  std::unique_ptr<Call> Begin(const std::string& path, std::string body) {
    auto call = std::make_unique<Call>();
    call->http.method = "POST";
    call->http.path = path;
    call->http.body = std::move(body);
    const RouteTable::Match match = routes_.Find("POST", path);
    if (match.route == nullptr) {
      ADD_FAILURE() << path;
      return call;
    }
    asio::co_spawn(io_, match.route->handler(call->http, call->response),
                   asio::bind_cancellation_slot(
                       call->gone.slot(), [c = call.get()](std::exception_ptr e, absl::Status s) {
                         c->threw = e != nullptr;
                         c->status = std::move(s);
                       }));
    return call;
  }

  std::unique_ptr<Call> Do(const std::string& path, std::string body) {
    auto call = Begin(path, std::move(body));
    Finish(*call);
    return call;
  }

  void Finish(Call& call) {
    ASSERT_TRUE(RunUntil([&] { return call.status.has_value(); }));
  }

  /// Runs until `holds`; false after 20 s.
  bool RunUntil(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      io_.restart();
      io_.run_one_for(milliseconds(20));
    }
    return true;
  }

  /// The client of `call` goes, wherever its handler is.
  bool Leave(Call& call) {
    return RunUntil([&] {
      call.gone.emit(asio::cancellation_type::terminal);
      return call.status.has_value();
    });
  }

  /// The objects of a stream without keep-alives; every one ends with a zero byte.
  static std::vector<json> Objects(const Call& call) {
    std::vector<json> objects;
    for (const std::string& write : call.response.writes) {
      EXPECT_TRUE(write.ends_with('\0'));
      EXPECT_EQ(write.find('\0'), write.size() - 1);
      if (write.size() > 1) objects.push_back(json::parse(write.substr(0, write.size() - 1)));
    }
    return objects;
  }

  static std::string Body(const char* members = "") {
    return std::string(R"({"prompt": "Once")") + members + "}";
  }

  asio::io_context io_;
  WorkerThreads workers_{1};
  std::unique_ptr<Tokenizer> tokenizer_;
  std::optional<PromptEncoder> encoder_;
  std::unique_ptr<FakeGenerator> generator_;
  Service service_;
  std::unique_ptr<FastchatWorker> worker_;
  RouteTable routes_;
};

TEST_F(FastchatWorkerTest, StreamsCumulativeTextThenFinishReason) {
  generator_->scripts.push_back({.events = {Piece(" upon", 1), Piece(" a", 2), Piece(" time", 3),
                                            Piece(",", 4), End(FinishReason::kLength, 4)}});
  const auto call = Do("/worker_generate_stream", Body());
  EXPECT_TRUE(call->status->ok());
  EXPECT_EQ(call->response.status, 200);
  const std::vector<json> objects = Objects(*call);
  ASSERT_EQ(objects.size(), 4u);  // first token, two more, all of them, the reason
  EXPECT_EQ(objects[0]["text"], " upon");
  EXPECT_EQ(objects[1]["text"], " upon a time");
  EXPECT_EQ(objects[2]["text"], " upon a time,");
  EXPECT_EQ(objects[2]["finish_reason"], nullptr);
  EXPECT_EQ(objects[3], json::parse(R"({"text": " upon a time,", "error_code": 0, "logprobs": null,
      "finish_reason": "length",
      "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}})"));
  EXPECT_EQ(call->response.record().completion_tokens, 4);
}

TEST_F(FastchatWorkerTest, StreamIntervalSetsEventRate) {
  generator_->scripts.push_back({.events = {Piece("a", 1), Piece("b", 2), Piece("c", 3),
                                            Piece("d", 4), End(FinishReason::kStop, 4)}});
  const auto call = Do("/worker_generate_stream", Body(R"(, "stream_interval": 1)"));
  EXPECT_EQ(Objects(*call).size(), 6u);
  EXPECT_EQ(Objects(*call).back()["finish_reason"], "stop");
}

TEST_F(FastchatWorkerTest, RepliesOnceWithoutStream) {
  generator_->scripts.push_back({.events = {Piece(" upon", 1), End(FinishReason::kStop, 2)}});
  const auto call = Do("/worker_generate", Body(R"(, "echo": true)"));
  EXPECT_FALSE(call->response.streams);
  const json object = json::parse(call->response.body);
  EXPECT_EQ(object["text"], "Once upon");
  EXPECT_EQ(object["finish_reason"], "stop");
  EXPECT_EQ(object["usage"]["total_tokens"], 5);
}

TEST_F(FastchatWorkerTest, DefaultsMatchFastchat) {
  generator_->scripts.resize(2, {.events = {End(FinishReason::kStop, 1)}});
  Do("/worker_generate", Body());
  // Null counts as missing; what the API server sends of a chat.
  Do("/worker_generate", Body(R"(, "model": "x", "temperature": null, "logprobs": null,
      "top_p": null, "top_k": -1, "presence_penalty": 0.0, "frequency_penalty": 0.0,
      "max_new_tokens": null, "echo": false, "stop_token_ids": null, "stop": [], "best_of": null,
      "use_beam_search": false, "unheard_of": {"a": 1})"));
  ASSERT_EQ(generator_->started.size(), 2u);
  for (const GenerateRequest& request : generator_->started) {
    EXPECT_EQ(std::get<std::string>(request.prompt->prompt()), "Once");
    EXPECT_EQ(request.sampling.temperature, 0.7);
    EXPECT_EQ(request.sampling.top_p, 1);
    EXPECT_EQ(request.sampling.top_k, 0);
    EXPECT_EQ(request.sampling.repetition_penalty, 1);
    EXPECT_EQ(request.sampling.num_logprobs, -1);
    EXPECT_TRUE(request.sampling.stop_token_ids.empty());
    EXPECT_EQ(request.max_new_tokens, 256);
    EXPECT_TRUE(request.stop.empty());
  }
  EXPECT_NE(generator_->started[0].sampling.seed, generator_->started[1].sampling.seed);
}

TEST_F(FastchatWorkerTest, AcceptsItsFields) {
  generator_->scripts.push_back({.events = {End(FinishReason::kStop, 1)}});
  Do("/worker_generate", Body(R"(, "temperature": 0.000001, "top_p": 0, "top_k": 5,
      "repetition_penalty": 1.2, "presence_penalty": -1, "frequency_penalty": 2,
      "max_new_tokens": 7, "stop": ["###", "", "</s>"], "stop_token_ids": [2, 2000000],
      "logprobs": 1, "best_of": 1)"));
  const GenerateRequest& request = generator_->started.at(0);
  EXPECT_TRUE(request.sampling.greedy());
  EXPECT_GT(request.sampling.top_p, 0);
  EXPECT_LE(request.sampling.top_p, 1e-5);
  EXPECT_EQ(request.sampling.top_k, 5);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.2);
  EXPECT_EQ(request.sampling.presence_penalty, -1);
  EXPECT_EQ(request.sampling.frequency_penalty, 2);
  EXPECT_EQ(request.max_new_tokens, 7);
  EXPECT_EQ(request.stop, (std::vector<std::string>{"###", "</s>"}));
  EXPECT_EQ(request.sampling.stop_token_ids, std::vector<TokenId>{TokenId{2}});
  EXPECT_EQ(request.sampling.num_logprobs, 1);
}

TEST_F(FastchatWorkerTest, LogprobsUseTokenSpelling) {
  const std::vector<TokenId> ids = *encoder_->Encode("Once upon a", {.add_special_tokens = false});
  ASSERT_GE(ids.size(), 3u);
  GenerationEvent event = Piece(" é", 1);
  event.tokens[0] = {.id = ids[1], .text = " é", .info = {.logprob = -0.5f}};
  event.tokens[0].info.top = {{ids[2], -0.25f}};
  event.tokens.push_back({.id = ids[2], .text = " a", .info = {.logprob = -1.5f}});
  event.tokens[1].info.top = {{ids[2], -1.5f}, {ids[1], -std::numeric_limits<float>::infinity()}};
  generator_->scripts.push_back({.events = {event, End(FinishReason::kStop, 2)}});
  const auto call = Do("/worker_generate", Body(R"(, "logprobs": 1)"));
  const json logprobs = json::parse(call->response.body)["logprobs"];
  const std::string first = TokenText(*tokenizer_, ids[1]), second = TokenText(*tokenizer_, ids[2]);
  EXPECT_TRUE(first.starts_with(' ')) << first;
  EXPECT_EQ(logprobs["tokens"], json({first, second}));
  EXPECT_EQ(logprobs["token_logprobs"], json({-0.5, -1.5}));
  EXPECT_EQ(logprobs["text_offset"], json({0, 2}));
  // The token itself is among the likeliest.
  EXPECT_EQ(logprobs["top_logprobs"],
            json({json{{first, -0.5}, {second, -0.25}}, json{{second, -1.5}, {first, -9999.0}}}));
}

TEST_F(FastchatWorkerTest, EchoedPromptsHaveLogprobs) {
  const std::vector<TokenId> ids = *encoder_->Encode("Once", {});
  ASSERT_GE(ids.size(), 2u);
  GenerationEvent event = Piece(" x", 1);
  event.prompt.push_back({.id = ids[0]});
  for (size_t i = 1; i < ids.size(); ++i) {
    event.prompt.push_back({.id = ids[i], .info = {.logprob = -2.0f}});
  }
  generator_->scripts.push_back({.events = {event, End(FinishReason::kStop, 1)}});
  const auto call = Do("/worker_generate", Body(R"(, "echo": true, "logprobs": 0)"));
  EXPECT_EQ(generator_->started[0].sampling.prompt_logprobs_start, 0);
  const json reply = json::parse(call->response.body);
  EXPECT_EQ(reply["text"], "Once x");
  const json& logprobs = reply["logprobs"];
  ASSERT_EQ(logprobs["tokens"].size(), ids.size() + 1);
  EXPECT_EQ(logprobs["token_logprobs"][0], nullptr);
  EXPECT_EQ(logprobs["top_logprobs"][0], nullptr);
  EXPECT_EQ(logprobs["token_logprobs"][1], -2.0);
  EXPECT_EQ(logprobs["text_offset"][0], 0);
  EXPECT_EQ(logprobs["text_offset"][ids.size()], 4);  // after "Once"
  // Without an echo the prompt is not scored.
  generator_->scripts.push_back({.events = {End(FinishReason::kStop, 1)}});
  Do("/worker_generate", Body(R"(, "logprobs": 0)"));
  EXPECT_EQ(generator_->started[1].sampling.prompt_logprobs_start, -1);
}

TEST_F(FastchatWorkerTest, PromptIsReadThroughFrame) {
  generator_->scripts.push_back({.events = {End(FinishReason::kStop, 1)}});
  Do("/worker_generate", R"({"prompt": "[none] upon"})");
  EXPECT_EQ(std::get<std::string>(generator_->started[0].prompt->prompt()), "Once upon");
  EXPECT_EQ(Do("/count_token", R"({"prompt": "[none]"})")->response.body,
            Do("/count_token", R"({"prompt": "Once"})")->response.body);
}

TEST_F(FastchatWorkerTest, FailedStreamHasOpenAiError) {
  generator_->scripts.push_back(
      {.events = {Piece("a", 1), Failure(ContextLengthExceeded(512, "prompt", 500, 256))}});
  const auto call = Do("/worker_generate_stream", Body());
  const json last = Objects(*call).back();
  EXPECT_EQ(last["error_code"], 40303);
  EXPECT_EQ(last["error"]["code"], "context_length_exceeded");
  EXPECT_EQ(last["error"]["message"], last["text"]);
}

TEST_F(FastchatWorkerTest, WithoutFrameTemplateIsRejected) {
  FastchatWorker worker(io_.get_executor(), service_, {.model_names = {"demo"}});
  RouteTable routes;
  ASSERT_TRUE(worker.AddRoutes(routes).ok());
  HttpRequest http;
  FakeResponse response;
  std::optional<absl::Status> status;
  asio::co_spawn(io_,
                 routes.Find("POST", "/worker_get_conv_template").route->handler(http, response),
                 [&](std::exception_ptr, absl::Status s) { status = std::move(s); });
  ASSERT_TRUE(RunUntil([&] { return status.has_value(); }));
  EXPECT_EQ(status->code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status->message()), HasSubstr("--conv-template"));
}

TEST_F(FastchatWorkerTest, ErrorsAreStatus200WithACode) {
  const struct {
    const char* what;
    std::string body;
    FakeGenerator::Script script;
    int error_code;
    const char* words;
  } kCases[] = {
      {"no JSON", "{", {}, 40001, "request body"},
      {"empty", "", {}, 40001, "request body"},
      {"array", "[]", {}, 40001, "object"},
      {"cut off", R"({"prompt": "a)", {}, 40001, "request body"},
      {"invalid UTF-8", "{\"prompt\": \"\xff\"}", {}, 40001, "request body"},
      {"repeated key", R"({"prompt": "a", "prompt": "b"})", {}, 40001, "prompt"},
      {"deep",
       R"({"prompt": "a", "x": )" + std::string(9999, '[') + std::string(9999, ']') + "}",
       {},
       40001,
       "request body"},
      {"no prompt", "{}", {}, 40302, "prompt"},
      {"null prompt", R"({"prompt": null})", {}, 40302, "prompt"},
      {"number as prompt", R"({"prompt": 5})", {}, 40302, "prompt"},
      {"list as prompt", R"({"prompt": ["a"]})", {}, 40302, "prompt"},
      {"hot", Body(R"(, "temperature": 2.1)"), {}, 40302, "temperature"},
      {"cold", Body(R"(, "temperature": -0.1)"), {}, 40302, "temperature"},
      {"temperature as text", Body(R"(, "temperature": "0.7")"), {}, 40302, "temperature"},
      {"NaN", Body(R"(, "temperature": NaN)"), {}, 40001, "request body"},
      {"infinite", Body(R"(, "temperature": 1e999)"), {}, 40001, "request body"},
      {"top_p", Body(R"(, "top_p": 1.01)"), {}, 40302, "top_p"},
      {"top_k", Body(R"(, "top_k": -2)"), {}, 40302, "top_k"},
      {"top_k", Body(R"(, "top_k": 1.5)"), {}, 40302, "top_k"},
      {"repetition", Body(R"(, "repetition_penalty": 0)"), {}, 40302, "repetition_penalty"},
      {"presence", Body(R"(, "presence_penalty": 3)"), {}, 40302, "presence_penalty"},
      {"frequency", Body(R"(, "frequency_penalty": -3)"), {}, 40302, "frequency_penalty"},
      {"none asked for", Body(R"(, "max_new_tokens": 0)"), {}, 40302, "max_new_tokens"},
      {"below none", Body(R"(, "max_new_tokens": -5)"), {}, 40302, "max_new_tokens"},
      {"huge", Body(R"(, "max_new_tokens": 99999999999999999999)"), {}, 40302, "max_new_tokens"},
      {"stop", Body(R"(, "stop": 1)"), {}, 40302, "stop"},
      {"stop", Body(R"(, "stop": [1])"), {}, 40302, "stop[0]"},
      {"stop ids", Body(R"(, "stop_token_ids": [-1])"), {}, 40302, "stop_token_ids[0]"},
      {"stop ids", Body(R"(, "stop_token_ids": "2")"), {}, 40302, "stop_token_ids"},
      {"logprobs", Body(R"(, "logprobs": 21)"), {}, 40302, "logprobs"},
      {"logprobs", Body(R"(, "logprobs": true)"), {}, 40302, "logprobs"},
      {"logprobs of a long prompt",
       R"({"prompt": ")" + std::string(70'000, 'a') + R"(", "echo": true, "logprobs": 0})",
       {},
       40302,
       "logprobs"},
      {"logprobs of many",
       Body(R"(, "logprobs": 20, "max_new_tokens": 4000)"),
       {},
       40302,
       "logprobs"},
      {"echo", Body(R"(, "echo": "yes")"), {}, 40302, "echo"},
      {"interval", Body(R"(, "stream_interval": 0)"), {}, 40302, "stream_interval"},
      {"best_of", Body(R"(, "best_of": 2)"), {}, 40302, "best_of"},
      {"beams", Body(R"(, "use_beam_search": true)"), {}, 40302, "use_beam_search"},
      {"images", Body(R"(, "images": ["x"])"), {}, 40302, "images"},
      {"queue",
       Body(),
       {.start = absl::ResourceExhaustedError("the queue is full")},
       42903,
       "queue is full"},
      {"going down", Body(), {.start = absl::UnavailableError("shutting down")}, 42903, "shutting"},
      {"context",
       Body(),
       {.events = {Failure(ContextLengthExceeded(512, "prompt", 500, 256))}},
       40303,
       "512"},
      {"memory",
       Body(),
       {.events = {Failure(absl::ResourceExhaustedError("out of memory"))}},
       50002,
       "out of memory"},
      {"broken", Body(), {.events = {Failure(absl::InternalError("it broke"))}}, 50001, "it broke"},
      {"NaN logits", Body(), {.events = {End(FinishReason::kError, 0)}}, 50001, "logit"},
      {"in the middle",
       Body(),
       {.events = {Piece("a", 1), Failure(absl::InternalError("it broke"))}},
       50001,
       "it broke"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.what);
    for (const char* path : {"/worker_generate_stream", "/worker_generate"}) {
      generator_->scripts = {c.script};
      const auto call = Do(path, c.body);
      EXPECT_TRUE(call->status->ok());
      EXPECT_EQ(call->response.status, 200);
      const json object =
          call->response.streams ? Objects(*call).back() : json::parse(call->response.body);
      EXPECT_EQ(object["error_code"], c.error_code);
      EXPECT_THAT(object["text"].get<std::string>(), HasSubstr(c.words));
      EXPECT_FALSE(call->response.record().error_code.empty());
      EXPECT_EQ(worker_->queue_length(), 0);
      EXPECT_EQ(generator_->num_alive, 0);
    }
  }
}

TEST_F(FastchatWorkerTest, KeepsSilentStreamsAlive) {
  generator_->scripts.push_back(
      {.events = {Piece("a", 1), End(FinishReason::kStop, 1)}, .num_pauses = 3});
  const auto call = Do("/worker_generate_stream", Body());
  ASSERT_GE(call->response.writes.size(), 4u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call->response.writes[i], std::string(1, '\0'));
  EXPECT_EQ(Objects(*call).back()["text"], "a");
}

TEST_F(FastchatWorkerTest, QueueLengthCountsRunningAndQueuedRequests) {
  generator_->scripts.resize(5, {.hangs = true});
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 5; ++i) calls.push_back(Begin("/worker_generate_stream", Body()));
  // Two run; the others wait, alive.
  ASSERT_TRUE(RunUntil([&] { return !calls[4]->response.writes.empty(); }));
  EXPECT_EQ(calls[4]->response.writes.front(), std::string(1, '\0'));
  EXPECT_EQ(generator_->num_alive, 2);  // limit_worker_concurrency
  EXPECT_EQ(worker_->queue_length(), 5);
  EXPECT_EQ(json::parse(Do("/worker_get_status", "")->response.body),
            json::parse(R"({"model_names": ["demo", "also"], "speed": 1, "queue_length": 5})"));

  ASSERT_TRUE(Leave(*calls[3]));  // while it waits
  EXPECT_TRUE(calls[3]->threw);
  EXPECT_EQ(worker_->queue_length(), 4);
  ASSERT_TRUE(Leave(*calls[0]));  // while it runs; the next one takes its turn
  EXPECT_EQ(worker_->queue_length(), 3);
  ASSERT_TRUE(RunUntil([&] { return generator_->started.size() == 3; }));
  EXPECT_EQ(generator_->num_alive, 2);
  for (const size_t i : {1, 2, 4}) ASSERT_TRUE(Leave(*calls[i]));
  EXPECT_EQ(worker_->queue_length(), 0);
  EXPECT_EQ(generator_->num_alive, 0);
}

TEST_F(FastchatWorkerTest, QueueLengthIncludesOtherDialects) {
  generator_->num_alive = 3;
  EXPECT_EQ(json::parse(Do("/worker_get_status", "")->response.body)["queue_length"], 3);
  generator_->num_alive = 0;
}

TEST_F(FastchatWorkerTest, CountsTokens) {
  const size_t count = encoder_->Encode("Once", {})->size();
  EXPECT_EQ(json::parse(Do("/count_token", Body())->response.body),
            (json{{"count", count}, {"error_code", 0}}));
  EXPECT_EQ(json::parse(Do("/count_token", R"({"prompt": ""})")->response.body)["count"], 0);
  for (const char* body : {"{", "{}", R"({"prompt": 1})"}) {
    const auto call = Do("/count_token", body);
    EXPECT_EQ(call->response.status, 200);
    const json reply = json::parse(call->response.body);
    EXPECT_EQ(reply["count"], 0);
    EXPECT_NE(reply["error_code"], 0) << body;
    EXPECT_NE(reply["text"], "") << body;
  }
}

TEST_F(FastchatWorkerTest, DescribesModelForAnyBody) {
  for (const char* body : {"", "{", R"({"model": "any"})"}) {
    EXPECT_EQ(json::parse(Do("/model_details", body)->response.body),
              json::parse(R"({"context_length": 512})"));
    const json conv = json::parse(Do("/worker_get_conv_template", body)->response.body)["conv"];
    EXPECT_EQ(conv["name"], "vicuna_v1.1");
    EXPECT_EQ(conv["roles"], json({"USER", "ASSISTANT"}));
  }
}

}  // namespace
}  // namespace shortlist
