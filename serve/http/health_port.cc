#include "serve/http/health_port.h"

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "base/status_macros.h"
#include "serve/http/server.h"

namespace shortlist {
namespace {

namespace asio = boost::asio;

class HealthPortImpl final : public HealthPort {
 public:
  explicit HealthPortImpl(Options options)
      : options_(std::move(options)), io_(/*concurrency_hint=*/1) {}

  ~HealthPortImpl() override {
    io_.stop();
    if (thread_.joinable()) thread_.join();
    http_.reset();
  }

  absl::Status Start() {
    SHORTLIST_RETURN_IF_ERROR(
        routes_.Add({.method = "GET",
                     .path = "/health",
                     .access = Access::kPublic,
                     .handler = [this](const HttpRequest&, HttpResponse& response) {
                       return Health(response);
                     }}));
    SHORTLIST_RETURN_IF_ERROR(
        routes_.Add({.method = "GET",
                     .path = "/metrics",
                     .access = Access::kPublic,
                     .handler = [this](const HttpRequest&, HttpResponse& response) {
                       return Metrics(response);
                     }}));
    HttpServer::Options http;
    http.host = options_.host;
    http.port = options_.port;
    http.limits.max_connections = kMaxConnections;
    http.limits.max_body_bytes = 1024;
    http.takes_any_host = true;  // probes use any host name
    http.limits.idle_timeout = std::chrono::seconds(30);
    SHORTLIST_ASSIGN_OR_RETURN(http_,
                               HttpServer::Start(io_.get_executor(), routes_, std::move(http)));
    Tick();
    thread_ = std::thread([this] { io_.run(); });
    return absl::OkStatus();
  }

  uint16_t port() const override { return http_->port(); }

 private:
  void Tick() {
    try {
      options_.tick();
    } catch (const std::exception& error) {
      OnTickFailure(error.what());
    }
    timer_.expires_after(options_.interval);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error == asio::error::operation_aborted) return;  // the port was destroyed
      if (error) OnTickFailure(error.message());
      Tick();
    });
  }

  void OnTickFailure(const std::string& why) {
    if (std::exchange(told_failure_, true) || !options_.on_tick_failure) return;
    options_.on_tick_failure(absl::InternalError(why));
  }

  asio::awaitable<absl::Status> Health(HttpResponse& response) {
    absl::Status status = options_.health();
    if (!status.ok()) co_return status;
    std::string body = "{\"status\":\"ok\"}";
    co_await response.Send(200, kJsonType, std::move(body));
    co_return absl::OkStatus();
  }

  asio::awaitable<absl::Status> Metrics(HttpResponse& response) {
    std::string text = options_.metrics();
    co_await response.Send(200, kMetricsType, std::move(text));
    co_return absl::OkStatus();
  }

  const Options options_;
  asio::io_context io_;
  asio::steady_timer timer_{io_};
  RouteTable routes_;
  std::unique_ptr<HttpServer> http_;
  std::thread thread_;
  bool told_failure_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HealthPort>> HealthPort::Start(Options options) {
  auto port = std::make_unique<HealthPortImpl>(std::move(options));
  SHORTLIST_RETURN_IF_ERROR(port->Start());
  return port;
}

}  // namespace shortlist
