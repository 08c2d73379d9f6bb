// Load generator for any server with OpenAI's /v1/embeddings. Each client sends one batch after the
// other, as fast as the server replies. Every reply is checked. Progress goes to stderr; a table of
// throughput, latencies and errors goes to stdout. Everything runs on one thread, so that the
// client uses little of a machine shared with the server; --encoding-format base64 reduces this
// further.

#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/load/embeddings_api.h"
#include "bench/load/http_client.h"
#include "bench/load/load_flags.h"
#include "bench/load/tally.h"
#include "cli/table.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

struct Flags {
  LoadFlags load;
  int64_t num_clients = 1, batch_size = 32, token_len = 128;
  int64_t num_rounds = 10;   // requests per client
  int64_t num_requests = 0;  // total over all clients; 0: use num_rounds
};

class EmbedLoad {
 public:
  explicit EmbedLoad(const Flags& flags)
      : flags_(flags),
        bodies_(flags.load.embeddings, flags.load.seed),
        num_left_(flags.num_requests > 0 ? flags.num_requests
                                         : flags.num_clients * flags.num_rounds),
        num_planned_(num_left_),
        progress_(io_) {}

  /// False if anything failed.
  bool Run() {
    asio::co_spawn(io_, Main(), asio::detached);
    io_.run();
    return probe_error_.empty() && errors_.total() == 0;
  }

  void Print() const;

 private:
  double Seconds() const { return std::chrono::duration<double>(end_ - begin_).count(); }
  asio::awaitable<void> Main();
  asio::awaitable<void> Client();
  asio::awaitable<void> ShowProgress();
  void Check(const HttpReply& reply);
  void PrintTable() const;

  const Flags& flags_;
  asio::io_context io_{1};
  EmbeddingsBodies bodies_;
  InputTokens input_tokens_;
  int64_t num_left_;  // requests not sent yet
  const int64_t num_planned_;
  int64_t num_running_ = 0;  // clients

  std::string probe_error_;
  Clock::time_point begin_, end_;
  Latencies latencies_;     // of valid replies
  int64_t num_tokens_ = 0;  // in valid replies, as counted by the server
  bool tells_tokens_ = true;
  ErrorCounts errors_;
  asio::steady_timer progress_;
};

asio::awaitable<void> EmbedLoad::Main() {
  HttpClient client(flags_.load.http);
  const absl::StatusOr<InputTokens> tokens =
      co_await ProbeInputTokens(client, flags_.load.embeddings, bodies_);
  if (!tokens.ok()) {
    probe_error_ = std::string(tokens.status().message());
    co_return;
  }
  input_tokens_ = *tokens;
  begin_ = Clock::now();
  num_running_ = flags_.num_clients;
  for (int64_t i = 0; i < flags_.num_clients; ++i) {
    asio::co_spawn(io_, Client(), asio::detached);
  }
  asio::co_spawn(io_, ShowProgress(), asio::detached);
}

asio::awaitable<void> EmbedLoad::Client() {
  HttpClient client(flags_.load.http);
  const int64_t num_units = input_tokens_.Units(flags_.token_len);
  const int64_t most = flags_.num_requests > 0 ? flags_.num_requests : flags_.num_rounds;
  for (int64_t i = 0; i < most && num_left_ > 0; ++i) {
    --num_left_;
    const std::string body = bodies_.Make(flags_.batch_size, num_units);
    const HttpReply reply = co_await client.Post("/embeddings", body);
    end_ = Clock::now();
    Check(reply);
  }
  if (--num_running_ == 0) progress_.cancel();
}

void EmbedLoad::Check(const HttpReply& reply) {
  if (reply.status != 200) return errors_.Add(reply);
  const absl::StatusOr<EmbeddingsReply> checked =
      CheckEmbeddings(reply.body, flags_.load.embeddings.is_base64, flags_.batch_size,
                      input_tokens_.num_dimensions);
  if (!checked.ok()) return errors_.Add(reply.status, std::string(checked.status().message()));
  latencies_.Add(reply.seconds);
  num_tokens_ += checked->num_tokens.value_or(0);
  tells_tokens_ = tells_tokens_ && checked->num_tokens.has_value();
}

asio::awaitable<void> EmbedLoad::ShowProgress() {
  const bool is_terminal = isatty(STDERR_FILENO) == 1;
  while (num_running_ > 0) {
    progress_.expires_after(std::chrono::seconds(is_terminal ? 1 : 5));
    boost::system::error_code cancelled;
    co_await progress_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    if (num_running_ == 0) break;
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    std::cerr << (is_terminal ? "\r" : "")
              << absl::StrFormat("%d of %d requests in %.0f s, %.0f tokens/s, %d errors",
                                 latencies_.size() + errors_.total(), num_planned_, seconds,
                                 static_cast<double>(num_tokens_) / seconds, errors_.total())
              << (is_terminal ? "\x1b[K" : "\n") << std::flush;
  }
  if (is_terminal) std::cerr << "\r\x1b[K";
}

void EmbedLoad::Print() const {
  if (!probe_error_.empty()) {
    std::cerr << "embed_load: the first request to " << flags_.load.base_url
              << " failed: " << probe_error_ << "\n";
    return;
  }
  if (!flags_.load.json) return PrintTable();
  const double seconds = Seconds();
  const int64_t num_texts = latencies_.size() * flags_.batch_size;
  nlohmann::ordered_json report = {
      {"concurrent_clients", flags_.num_clients},
      {"batch_size", flags_.batch_size},
      {"token_length", flags_.token_len},
      {"dimensions", input_tokens_.num_dimensions},
      {"requests", latencies_.size()},
      {"texts", num_texts},
      {"tokens", nullptr},
      {"seconds", seconds},
      {"requests_per_s", static_cast<double>(latencies_.size()) / seconds},
      {"texts_per_s", static_cast<double>(num_texts) / seconds},
      {"tokens_per_s", nullptr},
      {"latency_ms",
       {{"p50", latencies_.Ms(50)},
        {"p90", latencies_.Ms(90)},
        {"p99", latencies_.Ms(99)},
        {"max", latencies_.Ms(100)}}},
      {"num_errors", errors_.total()},
      {"errors", errors_.Json()}};
  if (tells_tokens_) {
    report["tokens"] = num_tokens_;
    report["tokens_per_s"] = static_cast<double>(num_tokens_) / seconds;
  }
  std::cout << report.dump() << "\n";
}

void EmbedLoad::PrintTable() const {
  const auto rate = [this](int64_t count) {
    return FormatFixed(static_cast<double>(count) / Seconds(), 1);
  };
  const int64_t num_texts = latencies_.size() * flags_.batch_size;
  const std::string latency = FormatTable(
      {"latency ms", "p50", "p90", "p99", "max"},
      {{"a request", FormatFixed(latencies_.Ms(50), 1), FormatFixed(latencies_.Ms(90), 1),
        FormatFixed(latencies_.Ms(99), 1), FormatFixed(latencies_.Ms(100), 1)}});
  std::cout << flags_.num_clients << " clients, " << flags_.batch_size << " texts of about "
            << flags_.token_len << " tokens in a request, vectors of "
            << input_tokens_.num_dimensions << " dimensions, " << FormatFixed(Seconds(), 2)
            << " s\n\n"
            << FormatTable({"", "number", "a second"},
                           {{"requests", absl::StrCat(latencies_.size()), rate(latencies_.size())},
                            {"texts", absl::StrCat(num_texts), rate(num_texts)},
                            {"tokens", tells_tokens_ ? absl::StrCat(num_tokens_) : "not reported",
                             tells_tokens_ ? rate(num_tokens_) : ""}})
            << "\n"
            << latency << "\nerrors: " << errors_.total() << "\n"
            << errors_.Lines();
}

}  // namespace
}  // namespace shortlist

int main(int argc, char** argv) {
  CLI::App app("Load on a server of OpenAI's /v1/embeddings", "embed_load");
  shortlist::Flags flags;
  shortlist::AddLoadFlags(app, flags.load, "float");
  const auto add = [&app](const char* name, int64_t& value, int64_t max, const char* what) {
    return app.add_option(name, value, what)
        ->check(CLI::Range(int64_t{1}, max))
        ->capture_default_str();
  };
  add("--concurrent-clients", flags.num_clients, 20'000, "Clients, a request at a time each");
  add("--batch-size", flags.batch_size, 100'000, "Texts of a request");
  add("--token-length", flags.token_len, 1'000'000, "Tokens of a text, about");
  CLI::Option* const rounds = add("--rounds", flags.num_rounds, 1'000'000'000, "Of each client");
  app.add_option("--requests", flags.num_requests, "Of all clients together")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}))
      ->excludes(rounds);
  const int status = shortlist::ParseLoadFlags(app, flags.load, argc, argv);
  if (status >= 0) return status;
  shortlist::EmbedLoad load(flags);
  const bool is_fine = load.Run();
  load.Print();
  return is_fine ? 0 : 1;
}
