#ifndef SHORTLIST_SERVE_SERVER_H_
#define SHORTLIST_SERVE_SERVER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "serve/admin/vocab_admin.h"
#include "serve/fastchat/controller_client.h"
#include "serve/fastchat/worker.h"
#include "serve/generator.h"
#include "serve/http/auth.h"
#include "serve/http/fetcher.h"
#include "serve/http/server.h"
#include "serve/service.h"

namespace shortlist {

/// `shortlist serve` without the models: I/O thread, generator, routes of all dialects, metrics and
/// log.
class Server {
 public:
  struct Options {
    HttpServer::Options http;  // authorize and on_done are set by the server
    Keys keys;
    Generator::Options generator;  // metrics are set by the server
    Service service;               // generator and metrics are set by the server
    FastchatWorker::Options fastchat;
    /// FastChat's controller to register with, if any; its functions are set by the server.
    std::optional<ControllerOptions> controller;
    VocabAdmin::Options vocab;  // counts are set by the server
    Fetcher::Options fetch;     // of pictures
    bool logs_requests = true;
    std::string summary;   // key=value pairs that describe what is served, for the log
    std::string log_file;  // empty: stderr; reopened on SIGHUP
    /// A second port for GET /health and /metrics. A thread of its own serves it, so clients of the
    /// first port cannot delay probes. Its /health returns 503 while the server drains, and if the
    /// server's I/O thread has not moved for `max_io_pause`. 0: any free port. nullopt: none.
    std::optional<uint16_t> health_port;
    std::string health_host;  // empty: the host of `http`
    std::chrono::milliseconds max_io_pause{10'000};
    /// How long live requests may take after the server was asked to stop. Then they are aborted,
    /// and one second is left to notify clients: streams by an event of their dialect, others by
    /// status 503.
    std::chrono::milliseconds drain_timeout{60'000};
    /// true: fields that a route does not know are ignored and named (IgnoreUnknownFields). false:
    /// they are rejected.
    bool ignores_unknown_fields = false;
  };

  /// Binds the ports. Returns the errors of HttpServer::Start, Authorizer::Create, Fetcher::Create
  /// and AccessLog::Open.
  static absl::StatusOr<std::unique_ptr<Server>> Create(Options options);
  virtual ~Server() = default;

  virtual uint16_t port() const = 0;
  virtual uint16_t health_port() const = 0;  // 0: none
  /// Serves until Stop, SIGTERM or SIGINT. Then accepts nothing new, finishes live requests, and
  /// returns. A second of these events, or the drain timeout, aborts the rest.
  virtual void Run() = 0;
  /// Any thread.
  virtual void Stop() = 0;
  /// Number of live requests (Generator::num_live). Any thread, while Run runs.
  virtual int64_t num_live() const = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_SERVER_H_
