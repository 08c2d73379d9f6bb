// Measures the cost of HTTP: the same requests through a Router in this process, and through a
// whole server over it, alternating. Prints one line of JSON for each round, and the ratio of the
// medians.

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/check.h"
#include "base/status_macros.h"
#include "bench/stream_client.h"
#include "cli/session.h"
#include "nlohmann/json.hpp"
#include "router/scheduler.h"
#include "runtime/engine.h"
#include "runtime/models.h"
#include "serve/server.h"
#include "text/chat/prompt_encoder.h"
#include "text/tokenizer.h"

namespace shortlist {
namespace {

using Clock = std::chrono::steady_clock;

struct Flags {
  RunFlags run;
  int64_t num_streams = 8, num_prompt_words = 32, max_tokens = 64, num_rounds = 5;
};

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The prompt that CompletionBody sends.
std::string PromptOf(const std::string& body) {
  return nlohmann::json::parse(body)["prompt"].get<std::string>();
}

/// Tokens per second of all requests together, directly from the router. The server over it must be
/// idle.
double RunDirectly(const Flags& flags, const Session& session, const PromptEncoder& encoder,
                   Router& router, int64_t round) {
  std::vector<RouterMessage> messages;
  for (int64_t i = 0; i < flags.num_streams; ++i) {
    TokenizedGenerateReqInput input;
    input.rid = std::to_string(i);
    const std::string body =
        CompletionBody("model", 1000 * round + i, flags.num_prompt_words, flags.max_tokens);
    input.input_ids = *encoder.Encode(PromptOf(body), {});
    input.sampling_params.max_new_tokens = flags.max_tokens;
    input.max_tail_rows = session.flags().dynamic_rows;
    messages.push_back(std::move(input));
  }
  const Clock::time_point begin = Clock::now();
  int64_t num_tokens = 0;
  do {
    for (const BatchTokenIdOut::Row& row : router.ExposedStep(std::exchange(messages, {})).rows) {
      SHORTLIST_CHECK(row.status.ok());
      num_tokens += std::ssize(row.token_ids);
    }
  } while (!router.idle());
  return static_cast<double>(num_tokens) / SecondsSince(begin);
}

/// Tokens per second over HTTP, each request in its own stream.
double RunOverHttp(const Flags& flags, uint16_t port, int64_t round) {
  const Clock::time_point begin = Clock::now();
  std::vector<std::unique_ptr<StreamClient>> clients;
  for (int64_t i = 0; i < flags.num_streams; ++i) {
    clients.push_back(std::make_unique<StreamClient>(
        port, CompletionBody("model", 1000 * round + i, flags.num_prompt_words, flags.max_tokens)));
  }
  int64_t num_open = flags.num_streams;
  while (num_open > 0) {
    std::vector<pollfd> polled;
    for (const auto& client : clients) {
      if (client->state() == StreamClient::State::kOpen)
        polled.push_back({client->fd(), POLLIN, 0});
    }
    poll(polled.data(), polled.size(), /*timeout=*/1000);
    num_open = 0;
    for (const auto& client : clients) {
      if (client->state() == StreamClient::State::kOpen) client->Read(size_t{16} << 10);
      SHORTLIST_CHECK(client->state() <= StreamClient::State::kDone);
      if (client->state() == StreamClient::State::kOpen) ++num_open;
    }
  }
  return static_cast<double>(flags.num_streams * flags.max_tokens) / SecondsSince(begin);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

absl::Status Run(const Flags& flags) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Open(flags.run));
  // Without a cache every round computes all its prompts.
  const SchedulerOptions scheduling{
      .max_total_tokens = flags.num_streams * (8 * flags.num_prompt_words + flags.max_tokens + 64),
      .disable_radix_cache = true};
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine,
                             Engine::Create(session->models(), session->decoding(), scheduling));
  const PromptEncoder encoder(session->models().tokenizer());
  Router& router = engine->router();
  std::mutex router_mutex;  // the server's thread may read the router after the last reply
  Server::Options options;
  options.http.port = 0;
  options.logs_requests = false;
  options.service.model_name = "model";
  options.generator = {.tokenizer = &session->models().tokenizer(),
                       .prompt_encoder = &encoder,
                       .context_length = router.scheduler().options().context_length,
                       .max_tail_rows = flags.run.dynamic_rows,
                       .router = {.exposed_step =
                                      [&](std::vector<RouterMessage> messages) {
                                        const std::lock_guard lock(router_mutex);
                                        return router.ExposedStep(std::move(messages));
                                      },
                                  .idle =
                                      [&] {
                                        const std::lock_guard lock(router_mutex);
                                        return router.idle();
                                      }},
                       .load = [] { return EngineLoad(); },
                       .flush_cache = [] {}};
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Server> server,
                             Server::Create(std::move(options)));
  std::thread io([&server] { server->Run(); });
  std::vector<double> direct, http;
  for (int64_t round = 0; round <= flags.num_rounds; ++round) {
    const double direct_rate = [&] {
      const std::lock_guard lock(router_mutex);
      return RunDirectly(flags, *session, encoder, router, round);
    }();
    const double http_rate = RunOverHttp(flags, server->port(), round);
    while (server->num_live() > 0) std::this_thread::yield();
    if (round == 0) continue;  // warm-up
    direct.push_back(direct_rate);
    http.push_back(http_rate);
    std::cout << nlohmann::ordered_json{{"direct_tokens_per_s", direct_rate},
                                        {"http_tokens_per_s", http_rate}}
                     .dump()
              << std::endl;
  }
  server->Stop();
  io.join();
  std::cout << nlohmann::ordered_json{{"http_of_direct", Median(http) / Median(direct)}}.dump()
            << "\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace shortlist

int main(int argc, char** argv) {
  CLI::App app("What HTTP costs on top of the engine");
  shortlist::Flags flags;
  flags.run.num_threads = std::thread::hardware_concurrency();
  app.add_option("--model", flags.run.models.model)->required();
  app.add_option("--draft", flags.run.models.draft);
  app.add_option("--threads", flags.run.num_threads);
  app.add_option("--streams", flags.num_streams);
  app.add_option("--prompt-words", flags.num_prompt_words);
  app.add_option("--max-tokens", flags.max_tokens);
  app.add_option("--rounds", flags.num_rounds);
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = shortlist::Run(flags);
  if (status.ok()) return 0;
  std::cerr << status.message() << "\n";
  return 1;
}
