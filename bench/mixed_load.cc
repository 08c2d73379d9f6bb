// Measures the cost of a bulk ingestion for other users of the same server. Queries (one short text
// each, at a fixed rate) and streams of completions run first alone, then during the ingestion. A
// query's latency counts from the time it was due, so it includes waiting to be sent. Everything
// runs on one thread. Progress goes to stderr, a table to stdout.

#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/load/completion_stream.h"
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
  double query_rate = 10.0;  // per second; 0: no queries
  int64_t query_len = 16;
  double idle_seconds = 30.0;
  int64_t num_bulk_texts = 100'000, bulk_len = 128, bulk_batch = 64, num_bulk_clients = 1;
  std::string bulk_api_key;  // empty: same as for queries
  int64_t num_streams = 0, stream_len = 128;
  std::string stream_model;  // empty: the field is omitted
};

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Queries and streams over some time.
struct Phase {
  Clock::time_point begin = Clock::now();
  bool is_over = false;
  double seconds = 0.0;  // set at the end
  Latencies queries;
  int64_t num_stream_tokens = 0;
  int64_t num_running = 0;  // coroutines

  double StreamRate() const { return static_cast<double>(num_stream_tokens) / seconds; }
};

struct Ingestion {
  int64_t num_left = 0;  // texts not sent yet
  int64_t num_texts = 0, num_tokens = 0;
  int64_t num_running = 0;  // clients
  double seconds = 0.0;
};

class MixedLoad {
 public:
  explicit MixedLoad(const Flags& flags)
      : flags_(flags),
        bulk_http_(flags.load.http),
        query_bodies_(flags.load.embeddings, flags.load.seed),
        bulk_bodies_(flags.load.embeddings, flags.load.seed + 1) {
    if (!flags.bulk_api_key.empty()) bulk_http_.api_key = flags.bulk_api_key;
  }

  /// False if anything failed.
  bool Run() {
    asio::co_spawn(io_, Main(), asio::detached);
    io_.run();
    return probe_error_.empty() && errors_.total() == 0;
  }

  void Print() const;

 private:
  asio::awaitable<void> Main();
  asio::awaitable<void> Wait(double seconds);
  void Begin(Phase& phase);
  asio::awaitable<void> End(Phase& phase);
  asio::awaitable<void> Queries(Phase& phase);
  asio::awaitable<void> Query(Phase& phase, Clock::time_point due);
  asio::awaitable<void> Stream(Phase& phase);
  asio::awaitable<void> Ingest();
  asio::awaitable<void> BulkClient();
  bool Check(const HttpReply& reply, int64_t num_inputs, int64_t& num_tokens);
  void PrintTable() const;

  const Flags& flags_;
  HttpClient::Options bulk_http_;
  asio::io_context io_{1};
  EmbeddingsBodies query_bodies_, bulk_bodies_;
  InputTokens input_tokens_;
  std::vector<std::unique_ptr<HttpClient>> idle_clients_;  // for queries
  int64_t num_streams_begun_ = 0;

  std::string probe_error_;
  Phase alone_, beside_;
  Ingestion ingestion_;
  ErrorCounts errors_;
};

asio::awaitable<void> MixedLoad::Main() {
  auto client = std::make_unique<HttpClient>(flags_.load.http);
  const absl::StatusOr<InputTokens> tokens =
      co_await ProbeInputTokens(*client, flags_.load.embeddings, query_bodies_);
  if (!tokens.ok()) {
    probe_error_ = std::string(tokens.status().message());
    co_return;
  }
  input_tokens_ = *tokens;
  idle_clients_.push_back(std::move(client));

  std::cerr << "alone for " << flags_.idle_seconds << " s\n";
  Begin(alone_);
  co_await Wait(flags_.idle_seconds);
  co_await End(alone_);

  std::cerr << "during the ingestion of " << flags_.num_bulk_texts << " texts\n";
  Begin(beside_);
  co_await Ingest();
  co_await End(beside_);
}

asio::awaitable<void> MixedLoad::Wait(double seconds) {
  asio::steady_timer timer(io_);
  timer.expires_after(
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
  co_await timer.async_wait(asio::use_awaitable);
}

void MixedLoad::Begin(Phase& phase) {
  phase.begin = Clock::now();
  if (flags_.query_rate > 0.0) {
    ++phase.num_running;
    asio::co_spawn(io_, Queries(phase), asio::detached);
  }
  for (int64_t i = 0; i < flags_.num_streams; ++i) {
    ++phase.num_running;
    asio::co_spawn(io_, Stream(phase), asio::detached);
  }
}

/// Starts nothing more, and waits for running queries and streams.
asio::awaitable<void> MixedLoad::End(Phase& phase) {
  phase.seconds = SecondsSince(phase.begin);
  phase.is_over = true;
  while (phase.num_running > 0) co_await Wait(0.005);
}

asio::awaitable<void> MixedLoad::Queries(Phase& phase) {
  asio::steady_timer timer(io_);
  for (int64_t i = 0; !phase.is_over; ++i) {
    const std::chrono::duration<double> offset(static_cast<double>(i) / flags_.query_rate);
    const Clock::time_point due = phase.begin + std::chrono::duration_cast<Clock::duration>(offset);
    timer.expires_at(due);
    co_await timer.async_wait(asio::use_awaitable);
    if (phase.is_over) break;
    ++phase.num_running;
    asio::co_spawn(io_, Query(phase, due), asio::detached);
  }
  --phase.num_running;
}

asio::awaitable<void> MixedLoad::Query(Phase& phase, Clock::time_point due) {
  std::unique_ptr<HttpClient> client;
  if (idle_clients_.empty()) {
    client = std::make_unique<HttpClient>(flags_.load.http);
  } else {
    client = std::move(idle_clients_.back());
    idle_clients_.pop_back();
  }
  const std::string body =
      query_bodies_.Make(/*num_inputs=*/1, input_tokens_.Units(flags_.query_len));
  const HttpReply reply = co_await client->Post("/embeddings", body);
  const double seconds = SecondsSince(due);
  int64_t num_tokens = 0;
  if (Check(reply, /*num_inputs=*/1, num_tokens)) phase.queries.Add(seconds);
  idle_clients_.push_back(std::move(client));
  --phase.num_running;
}

/// Sends one completion after the other. The last one is cut off at the end of the phase.
asio::awaitable<void> MixedLoad::Stream(Phase& phase) {
  HttpClient client(flags_.load.http);
  while (!phase.is_over) {
    const std::string body =
        StreamBody(flags_.stream_model, num_streams_begun_++, flags_.stream_len);
    CompletionTokens tokens;
    const HttpClient::Sink sink = [&phase, &tokens](std::string_view piece) {
      const int64_t num_new = tokens.Read(piece);
      if (!phase.is_over) phase.num_stream_tokens += num_new;
      return !phase.is_over;
    };
    const HttpReply reply = co_await client.PostStreamed("/completions", body, sink);
    if (phase.is_over) break;
    if (reply.status != 200) {
      errors_.Add(reply);
      co_await Wait(0.1);
    } else if (!tokens.is_done()) {
      errors_.Add(reply.status, "a stream without [DONE] or number of tokens");
    }
  }
  --phase.num_running;
}

asio::awaitable<void> MixedLoad::Ingest() {
  const Clock::time_point begin = Clock::now();
  ingestion_.num_left = flags_.num_bulk_texts;
  ingestion_.num_running = flags_.num_bulk_clients;
  for (int64_t i = 0; i < flags_.num_bulk_clients; ++i) {
    asio::co_spawn(io_, BulkClient(), asio::detached);
  }
  const bool is_terminal = isatty(STDERR_FILENO) == 1;
  double shown = 0.0;
  while (ingestion_.num_running > 0) {
    co_await Wait(0.02);
    const double seconds = SecondsSince(begin);
    if (seconds < shown + (is_terminal ? 1.0 : 10.0)) continue;
    shown = seconds;
    std::cerr << (is_terminal ? "\r" : "")
              << absl::StrFormat("%d of %d texts in %.0f s, %d queries, %d errors",
                                 ingestion_.num_texts, flags_.num_bulk_texts, seconds,
                                 beside_.queries.size(), errors_.total())
              << (is_terminal ? "\x1b[K" : "\n") << std::flush;
  }
  if (is_terminal) std::cerr << "\r\x1b[K";
}

asio::awaitable<void> MixedLoad::BulkClient() {
  HttpClient client(bulk_http_);
  const int64_t num_units = input_tokens_.Units(flags_.bulk_len);
  while (ingestion_.num_left > 0) {
    const int64_t num_texts = std::min(flags_.bulk_batch, ingestion_.num_left);
    ingestion_.num_left -= num_texts;
    const std::string body = bulk_bodies_.Make(num_texts, num_units);
    const HttpReply reply = co_await client.Post("/embeddings", body);
    ingestion_.seconds = SecondsSince(beside_.begin);
    if (Check(reply, num_texts, ingestion_.num_tokens)) ingestion_.num_texts += num_texts;
  }
  --ingestion_.num_running;
}

/// Adds the tokens that the server reports to `num_tokens`. Returns false on error, which is
/// counted.
bool MixedLoad::Check(const HttpReply& reply, int64_t num_inputs, int64_t& num_tokens) {
  if (reply.status != 200) {
    errors_.Add(reply);
    return false;
  }
  const absl::StatusOr<EmbeddingsReply> checked = CheckEmbeddings(
      reply.body, flags_.load.embeddings.is_base64, num_inputs, input_tokens_.num_dimensions);
  if (checked.ok()) {
    num_tokens += checked->num_tokens.value_or(0);
  } else {
    errors_.Add(reply.status, std::string(checked.status().message()));
  }
  return checked.ok();
}

void MixedLoad::Print() const {
  if (!probe_error_.empty()) {
    std::cerr << "mixed_load: the first request to " << flags_.load.base_url
              << " failed: " << probe_error_ << "\n";
    return;
  }
  if (!flags_.load.json) return PrintTable();
  const auto describe = [](const Phase& phase) {
    return nlohmann::ordered_json{{"seconds", phase.seconds},
                                  {"queries", phase.queries.size()},
                                  {"query_p50_ms", phase.queries.Ms(50)},
                                  {"query_p90_ms", phase.queries.Ms(90)},
                                  {"query_p99_ms", phase.queries.Ms(99)},
                                  {"query_max_ms", phase.queries.Ms(100)},
                                  {"stream_tokens_per_s", phase.StreamRate()}};
  };
  std::cout << nlohmann::ordered_json{{"alone", describe(alone_)},
                                      {"beside", describe(beside_)},
                                      {"ingestion",
                                       {{"texts", ingestion_.num_texts},
                                        {"tokens", ingestion_.num_tokens},
                                        {"seconds", ingestion_.seconds}}},
                                      {"num_errors", errors_.total()},
                                      {"errors", errors_.Json()}}
                   .dump()
            << "\n";
}

void MixedLoad::PrintTable() const {
  std::vector<std::vector<std::string>> rows;
  const auto add = [&rows](const char* name, double alone, double during) {
    rows.push_back({name, FormatFixed(alone, 1), FormatFixed(during, 1),
                    alone > 0.0 ? FormatFixed(during / alone, 2) : "-"});
  };
  rows.push_back({"seconds", FormatFixed(alone_.seconds, 1), FormatFixed(beside_.seconds, 1), ""});
  if (flags_.query_rate > 0.0) {
    rows.push_back(
        {"queries", absl::StrCat(alone_.queries.size()), absl::StrCat(beside_.queries.size()), ""});
    add("query p50 ms", alone_.queries.Ms(50), beside_.queries.Ms(50));
    add("query p90 ms", alone_.queries.Ms(90), beside_.queries.Ms(90));
    add("query p99 ms", alone_.queries.Ms(99), beside_.queries.Ms(99));
    add("query max ms", alone_.queries.Ms(100), beside_.queries.Ms(100));
  }
  if (flags_.num_streams > 0) add("stream tokens/s", alone_.StreamRate(), beside_.StreamRate());
  const double seconds = std::max(ingestion_.seconds, 1e-9);
  std::cout << FormatTable({"", "alone", "during ingestion", "ratio"}, rows)
            << absl::StrFormat(
                   "\ningestion: %d texts, %d tokens, %.1f s, %.1f texts/s, "
                   "%.1f tokens/s\n",
                   ingestion_.num_texts, ingestion_.num_tokens, seconds,
                   static_cast<double>(ingestion_.num_texts) / seconds,
                   static_cast<double>(ingestion_.num_tokens) / seconds)
            << "errors: " << errors_.total() << "\n"
            << errors_.Lines();
}

}  // namespace
}  // namespace shortlist

int main(int argc, char** argv) {
  CLI::App app("Queries and streams, alone and during a bulk ingestion", "mixed_load");
  shortlist::Flags flags;
  shortlist::AddLoadFlags(app, flags.load, "base64");
  const auto add = [&app](const char* name, int64_t& value, int64_t min, int64_t max,
                          const char* what) {
    app.add_option(name, value, what)->check(CLI::Range(min, max))->capture_default_str();
  };
  app.add_option("--query-rate", flags.query_rate, "Queries a second; 0: none")
      ->check(CLI::Range(0.0, 10'000.0))
      ->capture_default_str();
  add("--query-length", flags.query_len, 1, 1'000'000, "Tokens of a query, about");
  app.add_option("--idle-seconds", flags.idle_seconds, "How long they are measured alone")
      ->check(CLI::Range(0.1, 86'400.0))
      ->capture_default_str();
  add("--bulk-texts", flags.num_bulk_texts, 1, 1'000'000'000, "Texts of the ingestion");
  add("--bulk-length", flags.bulk_len, 1, 1'000'000, "Tokens of such a text, about");
  add("--bulk-batch", flags.bulk_batch, 1, 100'000, "Such texts in a request");
  add("--bulk-clients", flags.num_bulk_clients, 1, 10'000, "Requests of the ingestion at a time");
  app.add_option("--bulk-api-key", flags.bulk_api_key, "Of the ingestion")
      ->type_name("KEY")
      ->default_str("--api-key");
  add("--streams", flags.num_streams, 0, 10'000, "Completions at a time, at /completions");
  add("--stream-length", flags.stream_len, 1, 1'000'000, "Tokens of a completion");
  app.add_option("--stream-model", flags.stream_model, "As the server names the decoder")
      ->type_name("NAME")
      ->default_str("the server's own");
  int status = shortlist::ParseLoadFlags(app, flags.load, argc, argv);
  if (status < 0 && flags.query_rate == 0.0 && flags.num_streams == 0) {
    std::cerr << "mixed_load: --query-rate 0 without --streams leaves nothing to measure\n";
    status = 2;
  }
  if (status >= 0) return status;
  shortlist::MixedLoad load(flags);
  const bool is_fine = load.Run();
  load.Print();
  return is_fine ? 0 : 1;
}
