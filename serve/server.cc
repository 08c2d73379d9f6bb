#include "serve/server.h"

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
#include "serve/access_log.h"
#include "serve/openai.h"
#include "serve/page.h"
#include "serve/sglang.h"
#include "serve/token_counts.h"

namespace shortlist {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds kDrainPoll{20};
constexpr int kNumWorkers = 2;  // so that one long text does not hold up all others

class ServerImpl final : public Server {
 public:
  explicit ServerImpl(Options options)
      : options_(std::move(options)),
        io_(/*concurrency_hint=*/1),
        signals_(io_, SIGTERM, SIGINT),
        poll_(io_),
        metrics_(options_.service.model_name),
        counts_(options_.generator.tokenizer->size()) {
    Generator::Options generator = options_.generator;
    generator.metrics = &metrics_;
    generator.router.exposed_step = [this](std::vector<RouterMessage> messages) {
      BatchTokenIdOut out = options_.generator.router.exposed_step(std::move(messages));
      counts_.Add(out);
      return out;
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
    vocab_admin_ = std::make_unique<VocabAdmin>(std::move(vocab));
  }

  ~ServerImpl() override {
    // Work refers to coroutines, and whatever a coroutine still holds to the generator.
    workers_.reset();
    http_.reset();
    generator_.reset();
  }

  absl::Status Start() {
    SHORTLIST_RETURN_IF_ERROR(AddRoutes());
    HttpServer::Options http = options_.http;
    http.authorize = [keys = options_.keys](const Route& route, HttpRequest& request) {
      request.client.name = request.peer;
      return Authorize(keys, route, request);
    };
    http.has_key = !options_.keys.api.empty();
    if (options_.controller.has_value()) {
      SHORTLIST_ASSIGN_OR_RETURN(HttpUrl worker,
                                 HttpUrl::Parse(options_.controller->worker_address));
      http.worker_host = std::move(worker.host);
    }
    http.on_done = [this](const RequestRecord& record) {
      metrics_.OnHttpDone(record);
      if (options_.logs_requests) log_.Write(record);
    };
    SHORTLIST_ASSIGN_OR_RETURN(http_,
                               HttpServer::Start(io_.get_executor(), routes_, std::move(http)));
    if (options_.controller.has_value()) RegisterWithController();
    return absl::OkStatus();
  }

  uint16_t port() const override { return http_->port(); }

  void Run() override {
    AwaitSignal();
    log_.Write("ready", absl::StrCat("host=", options_.http.host, " port=", port(),
                                     " model=", service_.model_name));
    io_.run();
    log_.Write("ended");
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
    SHORTLIST_RETURN_IF_ERROR(AddOpenAiModelRoutes(service_, routes_));
    SHORTLIST_RETURN_IF_ERROR(AddSglangGenerateRoutes(service_, routes_));
    SHORTLIST_RETURN_IF_ERROR(AddSglangInfoRoutes(service_, routes_));
    SHORTLIST_RETURN_IF_ERROR(fastchat_->AddRoutes(routes_));
    SHORTLIST_RETURN_IF_ERROR(vocab_admin_->AddRoutes(routes_));
    SHORTLIST_RETURN_IF_ERROR(AddPage(routes_));
    return routes_.Add({.method = "GET",
                        .path = "/openapi.json",
                        .access = Access::kPublic,
                        .handler = [this](const HttpRequest&, HttpResponse& response) {
                          return SendOpenApi(response);
                        }});
  }

  void RegisterWithController() {
    ControllerOptions controller = *options_.controller;
    controller.status = [this] { return fastchat_->StatusJson(); };
    controller.queue_length = [this] { return fastchat_->queue_length(); };
    controller.on_change = [this](std::string_view what, const absl::Status& why) {
      log_.Write("controller", absl::StrCat("state=", std::string(what), " status=",
                                            nlohmann::json(std::string(why.message())).dump()));
    };
    asio::co_spawn(io_, KeepRegistered(std::move(controller)), asio::detached);
  }

  asio::awaitable<absl::Status> SendOpenApi(HttpResponse& response) {
    std::string document = routes_.OpenApi(service_.version);
    co_await response.Send(200, kJsonType, std::move(document));
    co_return absl::OkStatus();
  }

  void AwaitSignal() {
    signals_.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      OnStop();
      AwaitSignal();
    });
  }

  void OnStop() {
    if (stopping_) {
      deadline_ = {};
      return;
    }
    stopping_ = true;
    log_.Write("draining", absl::StrCat("requests=", http_->num_requests()));
    deadline_ = std::chrono::steady_clock::now() + options_.drain_timeout;
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
    if (std::chrono::steady_clock::now() >= deadline_) {
      generator_->AbortAll();
      http_->Close();
    }
    poll_.expires_after(kDrainPoll);
    poll_.async_wait([this](const boost::system::error_code& error) {
      if (!error) PollDrain();
    });
  }

  const Options options_;
  std::unique_ptr<FastchatWorker> fastchat_;  // outlives the coroutines, which end with io_
  mutable asio::io_context io_;
  asio::signal_set signals_;
  asio::steady_timer poll_;
  AccessLog log_;
  Metrics metrics_;
  TokenCounts counts_;
  std::unique_ptr<WorkerThreads> workers_ = std::make_unique<WorkerThreads>(kNumWorkers);
  std::unique_ptr<VocabAdmin> vocab_admin_;
  std::unique_ptr<Generator> generator_;
  Service service_;
  RouteTable routes_;
  std::unique_ptr<HttpServer> http_;
  bool stopping_ = false;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Create(Options options) {
  auto server = std::make_unique<ServerImpl>(std::move(options));
  SHORTLIST_RETURN_IF_ERROR(server->Start());
  return server;
}

}  // namespace shortlist
