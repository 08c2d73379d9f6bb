#include "serve/server.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <future>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/admin/token_counts.h"
#include "serve/embeddings/routes.h"
#include "serve/http/access_log.h"
#include "serve/http/health_port.h"
#include "serve/http/host_policy.h"
#include "serve/http/json_fields.h"
#include "serve/http/unknown_fields.h"
#include "serve/openai/routes.h"
#include "serve/page.h"
#include "serve/sglang/routes.h"

namespace shortlist {

namespace asio = boost::asio;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDrainPoll{20};
constexpr std::chrono::milliseconds kLastWords{1'000};  // for requests that are aborted at the end
constexpr int kNumWorkers = 2;  // so that one long text does not block all others
constexpr std::chrono::milliseconds kHeartbeat{500};

class ServerImpl final : public Server {
 public:
  explicit ServerImpl(Options options)
      : options_(std::move(options)),
        io_(/*concurrency_hint=*/1),
        signals_(io_, SIGTERM, SIGINT),
        hangups_(io_),
        poll_(io_),
        heartbeat_(io_),
        metrics_(options_.service.model_name),
        counts_(options_.generator.tokenizer->size()) {
    Generator::Options generator = options_.generator;
    generator.metrics = &metrics_;
    generator.router.exposed_step = [this](std::vector<RouterMessage> messages) {
      BatchTokenIdOut out = options_.generator.router.exposed_step(std::move(messages));
      counts_.Add(out);
      return out;
    };
    generator.load = [this] {
      EngineLoad load = options_.generator.load();
      LogDraftFailures(load);
      LogVocabTrouble(load);
      return load;
    };
    generator_ = Generator::Create(io_.get_executor(), std::move(generator));
    service_ = options_.service;
    service_.generator = generator_.get();
    service_.metrics = &metrics_;
    service_.workers = workers_.get();
    service_.started_at = std::chrono::system_clock::now();
    fastchat_ = std::make_unique<FastchatWorker>(io_.get_executor(), service_, options_.fastchat);
    VocabAdmin::Options vocab = options_.vocab;
    vocab.counts = &counts_;
    vocab.workers = workers_.get();
    vocab.log = [this](std::string_view what, std::string_view details) {
      if (log_ != nullptr) log_->Write(what, details);
    };
    vocab_admin_ = std::make_unique<VocabAdmin>(std::move(vocab));
  }

  ~ServerImpl() override {
    health_port_.reset();
    // Work refers to coroutines, and coroutines may refer to the generator.
    workers_.reset();
    http_.reset();
    fetcher_.reset();
    generator_.reset();
  }

  absl::Status Start() {
    if (!options_.fetch.hosts.empty()) {
      SHORTLIST_ASSIGN_OR_RETURN(fetcher_, Fetcher::Create(io_.get_executor(), options_.fetch));
      service_.fetcher = fetcher_.get();
    }
    SHORTLIST_RETURN_IF_ERROR(OpenLog());
    SHORTLIST_RETURN_IF_ERROR(AddRoutes());
    SHORTLIST_ASSIGN_OR_RETURN(Authorizer authorizer, Authorizer::Create(options_.keys));
    HttpServer::Options http = options_.http;
    http.authorize = [authorizer = std::move(authorizer)](const Route& route,
                                                          HttpRequest& request) {
      return authorizer.Authorize(route, request);
    };
    http.takes_any_host = !options_.keys.api.empty();
    if (options_.controller.has_value()) {
      SHORTLIST_ASSIGN_OR_RETURN(HttpUrl worker,
                                 HttpUrl::Parse(options_.controller->worker_address));
      http.worker_host = std::move(worker.host);
    }
    http.on_done = [this](const RequestRecord& record) {
      metrics_.OnHttpDone(record);
      if (options_.logs_requests) log_->Write(record);
    };
    SHORTLIST_ASSIGN_OR_RETURN(http_,
                               HttpServer::Start(io_.get_executor(), routes_, std::move(http)));
    if (options_.health_port.has_value()) SHORTLIST_RETURN_IF_ERROR(OpenHealthPort());
    if (options_.controller.has_value()) RegisterWithController();
    return absl::OkStatus();
  }

  uint16_t port() const override { return http_->port(); }
  uint16_t health_port() const override {
    return health_port_ == nullptr ? uint16_t{0} : health_port_->port();
  }

  void Run() override {
    AwaitSignal();
    Beat();
    if (!options_.summary.empty()) log_->Write("serving", options_.summary);
    WriteTemplates();
    const HttpUrl url{.host = options_.http.host, .port = absl::StrCat(port())};
    std::string details =
        absl::StrCat("url=http://", url.Authority(), " host=", url.host, " port=", url.port);
    if (health_port_ != nullptr) absl::StrAppend(&details, " health_port=", health_port());
    log_->Write("ready", absl::StrCat(details, " model=", service_.model_name));
    if (options_.keys.api.empty() && !IsLoopback(options_.http.host)) {
      log_->Write("warning", absl::StrCat("reason=\"every client that reaches ", options_.http.host,
                                          " may use this server: set --api-key\""));
    }
    io_.run();
    log_->Write("ended");
  }

  void Stop() override {
    asio::post(io_, [this] { OnStop(); });
  }

  int64_t num_live() const override {
    std::promise<int64_t> promise;
    asio::post(io_, [&] { promise.set_value(generator_->num_live()); });
    return promise.get_future().get();
  }

 private:
  absl::Status AddRoutes() {
    SHORTLIST_RETURN_IF_ERROR(AddOpenAiCompletionsRoute(service_, routes_));
    SHORTLIST_RETURN_IF_ERROR(AddOpenAiChatRoute(service_, routes_));
    SHORTLIST_RETURN_IF_ERROR(AddOpenAiResponsesRoute(service_, routes_));
    SHORTLIST_RETURN_IF_ERROR(AddOpenAiModelRoutes(service_, routes_));
    SHORTLIST_RETURN_IF_ERROR(AddSglangGenerateRoutes(service_, routes_));
    SHORTLIST_RETURN_IF_ERROR(AddSglangInfoRoutes(service_, routes_));
    for (const auto& add :
         {AddOpenAiEmbeddingsRoute, AddCohereEmbedRoute, AddRerankRoutes, AddTeiRoutes,
          AddSglangEncodeRoutes, AddScoreRoutes, AddFastchatEmbeddingsRoute}) {
      SHORTLIST_RETURN_IF_ERROR(add(service_, routes_));
    }
    SHORTLIST_RETURN_IF_ERROR(fastchat_->AddRoutes(routes_));
    SHORTLIST_RETURN_IF_ERROR(vocab_admin_->AddRoutes(routes_));
    if (options_.ignores_unknown_fields) {
      routes_.WrapJsonHandlers(
          [this](Handler handler) { return IgnoreUnknownFields(std::move(handler), *workers_); });
    }
    SHORTLIST_RETURN_IF_ERROR(AddPages(routes_));
    SHORTLIST_RETURN_IF_ERROR(
        routes_.Add({.method = "GET",
                     .path = "/openapi.json",
                     .access = Access::kPublic,
                     .handler = [this](const HttpRequest&, HttpResponse& response) {
                       return SendOpenApi(response);
                     }}));
    openapi_ = routes_.OpenApi(service_.version);
    return absl::OkStatus();
  }

  /// Called by one thread at a time. Logs failures of the draft each time their number has doubled.
  void LogDraftFailures(const EngineLoad& load) {
    if (log_ == nullptr || load.num_draft_failures < next_draft_failures_) return;
    next_draft_failures_ = 2 * load.num_draft_failures;
    log_->Write("draft_failed",
                absl::StrCat("failures=", load.num_draft_failures, " status=",
                             Dump(nlohmann::json(std::string(load.draft_error.message())))));
  }

  /// Logs problems that the output does not show: a vocabulary list for another kind of text, and a
  /// broken row map.
  void LogVocabTrouble(const EngineLoad& load) {
    constexpr int64_t kEnoughTokens = 2'000;
    constexpr double kMisfit = 0.7;
    if (log_ == nullptr) return;
    const SequenceStats stats = metrics_.Speculation();
    if (stats.num_mapping_faults >= next_mapping_faults_) {
      next_mapping_faults_ = 2 * stats.num_mapping_faults;
      log_->Write("row_map_broken", absl::StrCat("tokens=", stats.num_mapping_faults));
    }
    const auto fallbacks = static_cast<double>(stats.num_fallback_steps) /
                           static_cast<double>(std::max<int64_t>(stats.num_verify_steps, 1));
    const bool misfits = stats.coverage() < kMisfit || fallbacks > 1.0 - kMisfit;
    if (told_misfit_ || stats.num_step_tokens < kEnoughTokens || !misfits) return;
    told_misfit_ = true;
    log_->Write("vocab_misfit", absl::StrCat("coverage=", stats.coverage(), " fallback_steps=",
                                             fallbacks, " base_rows=", load.base_rows));
  }

  absl::Status OpenLog() {
    if (options_.log_file.empty()) {
      log_ = std::make_unique<AccessLog>(STDERR_FILENO);
      return absl::OkStatus();
    }
    SHORTLIST_ASSIGN_OR_RETURN(log_, AccessLog::Open(options_.log_file));
    hangups_.add(SIGHUP);
    AwaitHangup();
    return absl::OkStatus();
  }

  absl::Status OpenHealthPort() {
    HealthPort::Options port;
    port.host = options_.health_host.empty() ? options_.http.host : options_.health_host;
    port.port = *options_.health_port;
    port.health = [this] { return Health(); };
    port.interval = BeatInterval();
    port.tick = [this] { WatchBeats(); };
    port.on_tick_failure = [this](const absl::Status& status) {
      log_->Write("health_port_failed",
                  absl::StrCat("status=", Dump(nlohmann::json(std::string(status.message())))));
    };
    port.metrics = [this] { return metrics_.Text(service_.Load(), generator_->Throughput()); };
    SHORTLIST_ASSIGN_OR_RETURN(health_port_, HealthPort::Start(std::move(port)));
    return absl::OkStatus();
  }

  std::chrono::milliseconds BeatInterval() const {
    return std::max(std::min(kHeartbeat, options_.max_io_pause / 4), std::chrono::milliseconds(1));
  }

  /// Runs on the health port's thread. A pause of the I/O thread is counted in ticks of this
  /// thread. So a pause of the whole process does not count.
  void WatchBeats() {
    const int64_t num_beats = num_beats_;
    num_missed_ = std::exchange(num_beats_seen_, num_beats) == num_beats ? num_missed_ + 1 : 0;
  }

  /// Runs on the health port's thread.
  absl::Status Health() const {
    if (stopping_) return ShuttingDown();
    const std::chrono::milliseconds pause = num_missed_ * BeatInterval();
    if (pause <= options_.max_io_pause) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("the I/O thread has not moved for ", pause.count(), " ms"));
  }

  void Beat() {
    ++num_beats_;
    heartbeat_.expires_after(BeatInterval());
    heartbeat_.async_wait([this](const boost::system::error_code& error) {
      if (!error) Beat();
    });
  }

  void RegisterWithController() {
    ControllerOptions controller = *options_.controller;
    controller.status = [this] { return fastchat_->StatusJson(); };
    controller.queue_length = [this] { return fastchat_->queue_length(); };
    controller.on_change = [this](std::string_view what, const absl::Status& why) {
      log_->Write("controller", absl::StrCat("state=", std::string(what), " status=",
                                             nlohmann::json(std::string(why.message())).dump()));
    };
    asio::co_spawn(io_, KeepRegistered(std::move(controller)), asio::detached);
  }

  asio::awaitable<absl::Status> SendOpenApi(HttpResponse& response) {
    std::string document = openapi_;
    co_await response.Send(200, kJsonType, std::move(document));
    co_return absl::OkStatus();
  }

  void WriteTemplates() {
    if (service_.chat_template.empty()) return;
    const std::optional<FastchatFrame>& frame = options_.fastchat.frame;
    const nlohmann::json chat = service_.chat_template;
    const nlohmann::json fastchat = frame ? frame->origin : "none";
    log_->Write("templates", absl::StrCat("chat=", chat.dump(), " fastchat=", fastchat.dump()));
  }

  void AwaitSignal() {
    signals_.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      OnStop();
      AwaitSignal();
    });
  }

  void AwaitHangup() {
    hangups_.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      log_->Reopen();
      log_->Write("hangup");
      AwaitHangup();
    });
  }

  void OnStop() {
    if (stopping_) {
      deadline_ = {};
      return;
    }
    stopping_ = true;
    log_->Write("draining", absl::StrCat("requests=", http_->num_requests()));
    deadline_ = Clock::now() + options_.drain_timeout;
    generator_->Drain();
    http_->Drain();
    PollDrain();
  }

  void PollDrain() {
    const bool is_done = http_->num_connections() == 0 && generator_->num_live() == 0;
    if (is_done) {
      io_.stop();
      return;
    }
    const Clock::time_point now = Clock::now();
    if (now >= deadline_) {
      if (!aborted_at_) aborted_at_ = now;
      generator_->ShutDown();
      if (now >= *aborted_at_ + kLastWords) http_->Close();
    }
    poll_.expires_after(kDrainPoll);
    poll_.async_wait([this](const boost::system::error_code& error) {
      if (!error) PollDrain();
    });
  }

  const Options options_;
  std::unique_ptr<FastchatWorker> fastchat_;  // outlives the coroutines, which end with io_
  mutable asio::io_context io_;
  asio::signal_set signals_, hangups_;
  asio::steady_timer poll_, heartbeat_;
  std::unique_ptr<AccessLog> log_;
  Metrics metrics_;
  TokenCounts counts_;
  int64_t next_draft_failures_ = 1;  // number of failures to log next
  int64_t next_mapping_faults_ = 1;  // number of faults to log next
  bool told_misfit_ = false;
  std::unique_ptr<WorkerThreads> workers_ = std::make_unique<WorkerThreads>(kNumWorkers);
  std::unique_ptr<VocabAdmin> vocab_admin_;
  std::unique_ptr<Generator> generator_;
  Service service_;
  std::unique_ptr<Fetcher> fetcher_;  // null: nothing is fetched
  RouteTable routes_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<HealthPort> health_port_;
  std::string openapi_;
  // Also read by the health port's thread.
  std::atomic<bool> stopping_ = false;
  std::atomic<int64_t> num_beats_ = 0;
  // Used by the health port's thread.
  int64_t num_beats_seen_ = 0, num_missed_ = 0;
  Clock::time_point deadline_;
  // When requests still running after the deadline were aborted.
  std::optional<Clock::time_point> aborted_at_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Create(Options options) {
  auto server = std::make_unique<ServerImpl>(std::move(options));
  SHORTLIST_RETURN_IF_ERROR(server->Start());
  return server;
}

}  // namespace shortlist
