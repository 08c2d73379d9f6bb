#include "serve/http/server.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "serve/http/connection.h"

namespace shortlist {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

/// Accepts connections until `acceptor` is closed.
asio::awaitable<void> AcceptAll(std::shared_ptr<tcp::acceptor> acceptor,
                                std::shared_ptr<HttpConnections> connections) {
  asio::steady_timer pause(acceptor->get_executor());
  while (acceptor->is_open()) {
    auto [error, socket] = co_await acceptor->async_accept(asio::as_tuple(asio::use_awaitable));
    if (!error) {
      try {
        ServeConnection(std::move(socket), connections);
      } catch (const std::bad_alloc&) {
        // This connection is closed; later ones may still be served.
      }
    } else if (acceptor->is_open()) {
      // For example, out of file descriptors: connections being served will release some.
      pause.expires_after(std::chrono::milliseconds(50));
      co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
    }
  }
}

HostPolicy MakeHostPolicy(const HttpServer::Options& options, const asio::ip::address& bound) {
  HostPolicy::Options policy{.hosts = options.allowed_hosts, .origins = options.allowed_origins};
  policy.judges_hosts = !policy.hosts.empty() || (bound.is_loopback() && !options.takes_any_host);
  policy.hosts.push_back(options.host);
  policy.hosts.push_back(bound.to_string());
  if (!options.worker_host.empty()) policy.hosts.push_back(options.worker_host);
  return HostPolicy(std::move(policy));
}

class Server final : public HttpServer {
 public:
  Server(asio::any_io_executor executor, const RouteTable& routes, Options options)
      : acceptor_(std::make_shared<tcp::acceptor>(executor)),
        connections_(std::make_shared<HttpConnections>(executor, routes, std::move(options))) {}

  ~Server() override { Close(); }

  absl::Status Listen() {
    const std::string& host = connections_->options.host;
    const uint16_t port = connections_->options.port;
    const auto failed = [&](const error_code& error) {
      return absl::UnavailableError(
          absl::StrCat("cannot listen on ", host, ":", port, ": ", error.message()));
    };
    error_code error;
    tcp::resolver resolver(acceptor_->get_executor());
    const auto found =
        resolver.resolve(host, absl::StrCat(port),
                         tcp::resolver::passive | tcp::resolver::address_configured, error);
    if (error || found.empty()) return failed(error);
    const tcp::endpoint endpoint = found.begin()->endpoint();
    acceptor_->open(endpoint.protocol(), error);
    if (!error) acceptor_->set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_->bind(endpoint, error);
    if (!error) acceptor_->listen(asio::socket_base::max_listen_connections, error);
    if (error) return failed(error);
    const tcp::endpoint bound = acceptor_->local_endpoint(error);
    port_ = bound.port();
    connections_->host_policy = MakeHostPolicy(connections_->options, bound.address());
    asio::co_spawn(acceptor_->get_executor(), AcceptAll(acceptor_, connections_), asio::detached);
    return absl::OkStatus();
  }

  uint16_t port() const override { return port_; }
  int64_t num_connections() const override { return std::ssize(connections_->open); }
  int64_t num_requests() const override { return connections_->num_requests; }

  void Drain() override {
    error_code ignored;
    acceptor_->close(ignored);
    DrainConnections(*connections_);
  }

  void Close() override {
    error_code ignored;
    acceptor_->close(ignored);
    CloseConnections(*connections_);
  }

 private:
  // Shared with the coroutines, which may be resumed once more after the server was destroyed.
  const std::shared_ptr<tcp::acceptor> acceptor_;
  const std::shared_ptr<HttpConnections> connections_;
  uint16_t port_ = 0;
};

absl::Status CheckLimit(const char* name, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " ", value, " not in [", low, ", ", high, "]"));
}

}  // namespace

absl::Status HttpLimits::Validate() const {
  constexpr int64_t kMaxMs = 24 * 3'600'000;
  SHORTLIST_RETURN_IF_ERROR(CheckLimit("max_body_bytes", max_body_bytes, 1, int64_t{1} << 30));
  SHORTLIST_RETURN_IF_ERROR(CheckLimit("max_header_bytes", max_header_bytes, 256, 1 << 20));
  SHORTLIST_RETURN_IF_ERROR(CheckLimit("max_headers", max_headers, 1, 10'000));
  SHORTLIST_RETURN_IF_ERROR(CheckLimit("max_connections", max_connections, 1, 1 << 20));
  SHORTLIST_RETURN_IF_ERROR(
      CheckLimit("max_connections_per_address", max_connections_per_address, 0, 1 << 20));
  if (max_total_body_bytes != 0) {
    SHORTLIST_RETURN_IF_ERROR(
        CheckLimit("max_total_body_bytes", max_total_body_bytes, max_body_bytes, int64_t{1} << 40));
  }
  SHORTLIST_RETURN_IF_ERROR(CheckLimit("idle_timeout", idle_timeout.count(), 1, kMaxMs));
  SHORTLIST_RETURN_IF_ERROR(CheckLimit("header_timeout", header_timeout.count(), 1, kMaxMs));
  SHORTLIST_RETURN_IF_ERROR(CheckLimit("body_timeout", body_timeout.count(), 1, kMaxMs));
  SHORTLIST_RETURN_IF_ERROR(CheckLimit("yield_after", yield_after.count(), 0, kMaxMs));
  return CheckLimit("write_timeout", write_timeout.count(), 1, kMaxMs);
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(asio::any_io_executor executor,
                                                              const RouteTable& routes,
                                                              Options options) {
  SHORTLIST_RETURN_IF_ERROR(options.limits.Validate());
  SHORTLIST_RETURN_IF_ERROR(
      HostPolicy::Validate({.hosts = options.allowed_hosts, .origins = options.allowed_origins}));
  auto server = std::make_unique<Server>(executor, routes, std::move(options));
  SHORTLIST_RETURN_IF_ERROR(server->Listen());
  return server;
}

}  // namespace shortlist
