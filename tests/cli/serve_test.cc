#include "cli/serve.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/cli/cli_testing.h"
#include "tests/cli/serve_process.h"
#include "tests/serve/http/client.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(ServeTest, DemoPairMatchesGenerateInEveryDialect) {
  const std::string prompt = "The `vector` class";
  const Outcome plain =
      RunGenerate(DemoTarget() + Args{"--prompt", prompt, "--max-new-tokens", "32", "--temperature",
                                      "0.8", "--seed", "5", "--json"});
  ASSERT_TRUE(plain.status.ok()) << plain.status;
  const std::string sampled = json::parse(plain.out)["text"];

  ServeProcess server({});
  const uint16_t port = server.AwaitPort();
  ASSERT_NE(port, 0);
  HttpClient client(port);
  const json params = {{"temperature", 0}, {"max_new_tokens", 32}};
  const json native =
      client.Post("/generate", json{{"text", prompt}, {"sampling_params", params}}).Json();
  const json openai =
      client
          .Post("/v1/completions",
                json{{"model", "demo"}, {"prompt", prompt}, {"temperature", 0}, {"max_tokens", 32}})
          .Json();
  EXPECT_FALSE(native["text"].get<std::string>().empty());
  EXPECT_EQ(native["text"], openai["choices"][0]["text"]);
  EXPECT_GT(native["meta_info"]["spec_verify_ct"], 0);
  // Drafted for, over HTTP: the bits of plain decoding with this seed.
  const json drafted =
      client
          .Post("/generate",
                json{{"text", prompt},
                     {"sampling_params",
                      {{"temperature", 0.8}, {"max_new_tokens", 32}, {"sampling_seed", 5}}}})
          .Json();
  EXPECT_EQ(drafted["text"], sampled);
  // The same again comes from the radix cache, and so does a whole stream.
  const HttpReply stream = client.Post(
      "/generate", json{{"text", prompt}, {"stream", true}, {"sampling_params", params}});
  const std::vector<std::string> events = stream.Events();
  ASSERT_GE(events.size(), 2u);
  EXPECT_EQ(json::parse(events[events.size() - 2])["text"], native["text"]);
  EXPECT_GT(json::parse(events[events.size() - 2])["meta_info"]["cached_tokens"], 0);
  EXPECT_EQ(server.Signal(SIGTERM), 0);
  EXPECT_THAT(server.Log(), testing::Not(HasSubstr("vector")));
  EXPECT_THAT(server.Log(), HasSubstr(absl::StrCat("url=http://127.0.0.1:", port, " ")));
  EXPECT_THAT(
      server.Log(),
      testing::ContainsRegex("event=serving model=.*demo/target. architecture=LlamaForCausalLM "
                             "weights=bf16 memory_mb=[1-9][0-9]* pool_tokens=[0-9]+ "
                             "context_length=1024 draft=.*demo/draft. rows=512 head_bytes=[0-9]+ "
                             "full_head_bytes=[0-9]+ successors=384 "
                             "dynamic_rows=128 list=.*demo.vocab.json. template=zero_shot"));
}

/// Returns a port that is probably free.
uint16_t FreePort() {
  const int probe = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(probe, any, size), 0);
  EXPECT_EQ(getsockname(probe, any, &size), 0);
  close(probe);
  return ntohs(address.sin_port);
}

bool AwaitHealth(uint16_t port) {
  for (int i = 0; i < 1500; ++i) {
    HttpClient client(port);
    if (client.connected() && client.Get("/health").status == 200) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

TEST(ServeTest, ModelMayRunWithoutDraft) {
  ServeProcess server({SourcePath("models/demo/target"), "--max-model-len", "512"});
  const uint16_t port = server.AwaitPort();
  ASSERT_NE(port, 0);
  HttpClient client(port);
  EXPECT_EQ(client.Get("/v1/models").Json()["data"][0]["id"], "target");
  EXPECT_EQ(server.Signal(SIGTERM), 0);
  EXPECT_THAT(server.Log(), HasSubstr(" context_length=512 draft=none template=zero_shot"));
}

TEST(ServeTest, UnreadStderrDelaysNeitherServingNorExit) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const std::string block(4096, 'x');
  while (write(ends[1], block.data(), block.size()) > 0) {
  }
  fcntl(ends[1], F_SETFL, 0);
  const uint16_t port = FreePort();
  // With a note, which is written before there is a log.
  ServeProcess server({"--vocab", "full", "--dynamic-rows", "5"}, "true", ends[1], port);
  EXPECT_TRUE(AwaitHealth(port));
  EXPECT_EQ(server.Signal(SIGTERM), 0);
  close(ends[0]);
  close(ends[1]);
}

TEST(ServeTest, BrokenStderrPipeIsHarmless) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  const uint16_t port = FreePort();
  ServeProcess server({"--vocab", "full", "--dynamic-rows", "5"}, "true", ends[1], port);
  EXPECT_TRUE(AwaitHealth(port));
  EXPECT_EQ(server.Signal(SIGTERM), 0);
  close(ends[1]);
}

TEST(ServeTest, ClosedStderrIsNotReusedAsSocket) {
  const uint16_t port = FreePort();
  ServeProcess server({}, "exec 0<&- 1>&- 2>&-", -1, port);
  EXPECT_TRUE(AwaitHealth(port));
  HttpClient client(port);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.Get("/health").status, 200);
  EXPECT_EQ(client.ReceiveSome(std::chrono::milliseconds(50)), "");  // no lines of the log
  EXPECT_EQ(server.Signal(SIGTERM), 0);
}

TEST(ServeTest, LogFileAndHealthPort) {
  const TempDir dir;
  const std::string health_port = std::to_string(FreePort());
  ServeProcess server({"--log-file", dir.Join("log"), "--health-port", health_port});
  EXPECT_TRUE(AwaitHealth(static_cast<uint16_t>(std::stoi(health_port))));
  const auto contents = [&] {
    std::ifstream in(dir.Join("log"), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_EQ(server.Signal(SIGTERM), 0);
  EXPECT_EQ(server.Log(), "");
  EXPECT_THAT(contents(), HasSubstr("event=ready"));
  EXPECT_THAT(contents(), HasSubstr(" health_port=" + health_port));
  EXPECT_THAT(contents(), HasSubstr("event=ended"));
}

TEST(ServeTest, OpenFileLimitBoundsConnections) {
  ServeProcess server({"--max-connections", "500"}, "ulimit -n 300");
  EXPECT_NE(server.AwaitPort(), 0);
  EXPECT_THAT(server.Log(), HasSubstr("--max-connections 500 and 144 more open files exceed the "
                                      "limit of 300 (ulimit -n): no more than 156"));
  EXPECT_EQ(server.Signal(SIGTERM), 0);
  ServeProcess refused({"--health-port", "1"}, "ulimit -n 256");
  EXPECT_EQ(refused.Signal(0), 2);
  EXPECT_THAT(refused.Log(), HasSubstr("the limit of 256 (ulimit -n)"));
}

/// No thread gets a stack of this size, which stands for `ulimit -u`: that does not bind root.
TEST(ServeTest, ThreadLimitIsReportedWithoutAbort) {
  for (const Args& args : {Args{}, Args{"--health-port", std::to_string(FreePort())}}) {
    ServeProcess server(args, "ulimit -s 68719476736");
    EXPECT_EQ(server.Signal(0), 2);
    EXPECT_THAT(server.Log(), HasSubstr("the system starts no more threads"));
  }
}

TEST(ServeTest, HangupIsIgnoredWithoutLogFile) {
  ServeProcess server({});
  const uint16_t port = server.AwaitPort();
  ASSERT_NE(port, 0);
  for (int i = 0; i < 3; ++i) server.Send(SIGHUP);
  EXPECT_EQ(HttpClient(port).Get("/health").status, 200);
  EXPECT_EQ(server.Signal(SIGTERM), 0);
}

TEST(ServeTest, ShutdownTimeoutAbortsRunningRequests) {
  ServeProcess server({"--shutdown-timeout", "0"});
  const uint16_t port = server.AwaitPort();
  ASSERT_NE(port, 0);
  HttpClient client(port);
  client.Send(PostRequest(
      "/generate", json{{"text", "A"},
                        {"stream", true},
                        {"sampling_params", {{"max_new_tokens", 1000}, {"ignore_eos", true}}}}
                       .dump()));
  EXPECT_THAT(client.ReceiveSome(), HasSubstr("200 OK"));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(server.Signal(SIGTERM), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(ServeTest, SignalDuringLoadEndsAtOnce) {
  // The warning comes before the model.
  ServeProcess server({"--max-connections", "500"}, "ulimit -n 300");
  for (int i = 0; i < 1000 && server.Log().empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(server.Signal(SIGTERM), 0);
}

TEST(ServeTest, SmallPoolLimitsAdvertisedContext) {
  ServeProcess server({"--max-total-tokens", "200"});
  const uint16_t port = server.AwaitPort();
  ASSERT_NE(port, 0);
  HttpClient client(port);
  EXPECT_EQ(client.Get("/v1/models").Json()["data"][0]["max_model_len"], 200);
  EXPECT_EQ(client.Get("/server_info").Json()["context_length"], 200);
  EXPECT_EQ(client.Post("/model_details", json::object()).Json()["context_length"], 200);
  const json asked = {{"prompt", "The `vector` class"}, {"max_new_tokens", 1024}};
  const json served = client.Post("/worker_generate", asked).Json();
  EXPECT_EQ(served["error_code"], 0) << served;
  EXPECT_LE(served["usage"]["total_tokens"], 200);
  const json chat =
      client
          .Post("/v1/chat/completions",
                json{{"model", "demo"},
                     {"messages", json::array({{{"role", "user"}, {"content", "A list?"}}})}})
          .Json();
  EXPECT_LE(chat["usage"]["total_tokens"], 200) << chat;
  EXPECT_THAT(server.Log(), HasSubstr("event=templates chat=\"zero_shot\""));
}

TEST(ServeTest, ModelSamplingIsUsedAndLogged) {
  const TempDir dir;
  std::filesystem::copy(SourcePath("models/demo/target"), dir.Join("m"));
  dir.Write("m/generation_config.json",
            R"({"do_sample": true, "temperature": 0.25, "top_k": 3, "max_new_tokens": 5})");
  ServeProcess server({"--model", dir.Join("m")});
  const uint16_t port = server.AwaitPort();
  ASSERT_NE(port, 0);
  const json asked = {{"messages", json::array({{{"role", "user"}, {"content", "A list?"}}})}};
  const json chat = HttpClient(port).Post("/v1/chat/completions", asked).Json();
  EXPECT_LE(chat["usage"]["completion_tokens"], 5) << chat;
  EXPECT_THAT(server.Log(), HasSubstr(" temperature=0.25 top_k=3 max_tokens=5"));
}

TEST(ServeTest, ControllerIsCheckedBeforeLoadingWeights) {
  const TempDir dir;
  std::filesystem::copy(SourcePath("models/demo/target"), dir.Join("m"));
  for (const auto& file : std::filesystem::directory_iterator(dir.Join("m"))) {
    if (file.path().extension() == ".safetensors") std::filesystem::remove(file.path());
  }
  const ProcessOutcome outcome =
      RunBinary({"serve", "--model", dir.Join("m"), "--controller", "http://127.0.0.1:1"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--conv-template"));
}

TEST(ServeTest, PoolHoldsSeveralContextsIfMemoryAllows) {
  ServeProcess server({});
  const uint16_t port = server.AwaitPort();
  ASSERT_NE(port, 0);
  HttpClient client(port);
  const json info = client.Get("/server_info").Json();
  EXPECT_EQ(info["context_length"], 1024);
  EXPECT_GE(info["max_total_num_tokens"], 1024);
  EXPECT_LE(info["max_total_num_tokens"], 16384);
}

/// Returns the error message of these flags; empty if they are valid.
std::string FlagError(const Args& args) {
  CLI::App app;
  ServeFlags flags;
  AddServeFlags(app, flags);
  try {
    app.parse(Args(args.rbegin(), args.rend()));
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(ServeTest, FlagsAreCheckedAndForeignOnesRejectedByName) {
  EXPECT_EQ(FlagError({"--port", "0", "--api-key", "k", "--max-connections", "5"}), "");
  const std::pair<const char*, const char*> cases[] = {{"--attn-backend", "flash_attention"},
                                                       {"--num-gpus", "2"},
                                                       {"--port", "65536"},
                                                       {"--port", "-1"},
                                                       {"--api-key", "a b"},
                                                       {"--admin-key", ""},
                                                       {"--health-port", "0"},
                                                       {"--health-host", "127.0.0.1"},
                                                       {"--max-body-bytes", "0"},
                                                       {"--device", "gpu"},
                                                       {"--schedule-policy", "x"}};
  for (const auto& [flag, value] : cases) {
    EXPECT_THAT(FlagError({flag, value}), HasSubstr(flag)) << value;
  }
  EXPECT_EQ(FlagError({"--api-key", "a", "--api-key", "b", "--health-port", "1"}), "");
  EXPECT_THAT(FlagError({"--api-key", "not told"}), testing::Not(HasSubstr("not told")));
  EXPECT_THAT(FlagError({"--cpu-offloading"}), HasSubstr("--cpu-offloading"));
}

TEST(ServeTest, ForeignFlagsGetSuggestion) {
  const std::pair<Args, const char*> cases[] = {
      {{"--tensor-parallel-size", "2"}, "no meaning"},
      {{"-tp", "2"}, ""},
      {{"--gpu-memory-utilization", "0.9"}, "--max-total-tokens N"},
      {{"--max-num-seqs", "8"}, "--max-running-requests N"},
      {{"--max-num-batched-tokens", "8"}, "--max-prefill-tokens N"},
      {{"--speculative-config", "{}"}, "--draft DIR|suffix and --num-draft-tokens N"},
      {{"--enable-prefix-caching"}, "always cached"},
      {{"--no-enable-prefix-caching"}, "--disable-radix-cache"},
      {{"--trust-remote-code"}, "no meaning"},
      {{"--swap-space", "4"}, "no meaning"},
      {{"--enforce-eager"}, "no meaning"},
      {{"--generation-config", "vllm"}, "generation_config.json"},
      {{"--enable-lora"}, "adapters"},
      {{"--tool-call-parser", "hermes"}, "tools"},
      {{"--schedule-heuristic", "lpm"}, "--schedule-policy lpm"},
      {{"--schedule-conservativeness", "1"}, "no meaning"},
      {{"--speculative-token-map", "f.pt"}, "--vocab FILE"},
      {{"--dimensions", "64"}, "\"dimensions\""},
      {{"--load-8bit"}, "--quantize int8"},
      {{"--gptq", "wbits=4", "groupsize=128"}, "seen from the checkpoint"},
      {{"--gptq-model", "m"}, "seen from the checkpoint"},
      {{"--awq", "wbits=4"}, "seen from the checkpoint"},
      {{"--awq-model", "m"}, "seen from the checkpoint"},
      {{"--max-gpu-memory", "20GiB"}, "no meaning"},
      {{"--n-gpu-layers", "99"}, "no meaning"},
      {{"-m", "model.gguf"}, "--model DIR"},
      {{"-c", "4096"}, "--context-length N"},
      {{"--model-draft", "d"}, "--draft DIR"},
      {{"--parallel", "4"}, "--max-running-requests N"},
      {{"--reranking"}, "--rerank-model DIR"},
  };
  for (const auto& [args, answer] : cases) {
    EXPECT_THAT(FlagError(args), HasSubstr(answer)) << args.front();
    EXPECT_NE(FlagError(args), "") << args.front();
  }
  // Flags of vLLM with the same names are accepted.
  EXPECT_EQ(FlagError({"--served-model-name", "n", "--dtype", "bfloat16", "--max-model-len", "64"}),
            "");
}

TEST(ServeTest, LogBeginsWithPendingSketch) {
  const TempDir dir;
  const char* const before = std::getenv("XDG_CACHE_HOME");
  const std::string cache = before == nullptr ? "" : before;
  setenv("XDG_CACHE_HOME", dir.path().c_str(), 1);
  ServeProcess server(DemoPair());
  setenv("XDG_CACHE_HOME", cache.c_str(), 1);  // empty: as if it were not set
  ASSERT_NE(server.AwaitPort(), 0);
  const std::string first = Lines(server.Log()).front();
  EXPECT_THAT(first, HasSubstr("event=serving"));
  EXPECT_THAT(first, HasSubstr("note=\"the draft scores its full head until a sketch"));
  EXPECT_THAT(first, HasSubstr("dynamic_rows=256"));
  EXPECT_THAT(first, HasSubstr("sketch=\"" + dir.Join("shortlist/sketches/draft-16384-")));
}

TEST(ServeTest, UnservableModelExitsWithTwo) {
  const std::string controller = "http://127.0.0.1:1";
  const std::pair<Args, const char*> cases[] = {
      {{"--conv-template", "none-such"}, "none-such"},
      {{"--controller", "localhost:21001"}, "localhost:21001"},
      {{"--controller", controller, "--api-key", "k"}, "--api-key"},
      {{"--controller", controller, "--host", "0.0.0.0"}, "--worker-address"},
      {{"--controller", controller, "--port", "0"}, "--worker-address"},
      {{"--controller", controller, "--worker-address", "ftp://a"}, "ftp://a"},
      {{"--worker-address", controller}, "--controller"},
      {DemoTarget() + Args{"--controller", controller}, "--conv-template"},
      {{"--api-key", "same", "--admin-key", "same"}, "the same key"},
      {{"--api-key-file", "/dev/null"}, "/dev/null"},
      {{"--log-file", "/nowhere/log"}, "/nowhere/log"},
      {{"--limit-worker-concurrency", "0"}, "--limit-worker-concurrency"},
  };
  for (const auto& [args, words] : cases) {
    const ProcessOutcome outcome = RunBinary(Args{"serve", "--threads", "1"} + args);
    EXPECT_EQ(outcome.exit_code, 2) << words;
    EXPECT_THAT(outcome.err, HasSubstr(words));
    EXPECT_TRUE(outcome.out.empty());
  }
}

}  // namespace
}  // namespace shortlist
