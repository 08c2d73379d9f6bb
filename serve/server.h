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

/// Everything of `shortlist serve` behind the models: I/O thread, generator, routes of all
/// dialects, metrics and log.
class Server {
 public:
  struct Options {
    HttpServer::Options http;  // authorize and on_done are the server's own
    Keys keys;
    Generator::Options generator;  // metrics are the server's own
    Service service;               // generator and metrics are the server's own
    FastchatWorker::Options fastchat;
    /// FastChat's controller to register with, if any; the functions are the server's own.
    std::optional<ControllerOptions> controller;
    VocabAdmin::Options vocab;  // counts are the server's own
    Fetcher::Options fetch;     // of pictures
    bool logs_requests = true;
    std::string summary;   // key=value pairs of what is served, for the log
    std::string log_file;  // empty: stderr; opened anew on SIGHUP
    /// A second port for GET /health and /metrics, served by a thread of its own, so that probes
    /// are answered whatever the clients of the first one do. /health is 503 there while the server
    /// drains, and when its I/O thread has not moved for `max_io_pause`. 0: any free one.
    std::optional<uint16_t> health_port;
    std::string health_host;  // empty: that of `http`
    std::chrono::milliseconds max_io_pause{10'000};
    /// How long requests that are being served may take once the server is to end. Then they are
    /// aborted, and clients have a second to be told: streams by an event of their dialect, others
    /// by status 503.
    std::chrono::milliseconds drain_timeout{60'000};
    /// Fields that a route does not know are passed over and named (IgnoreUnknownFields), in place
    /// of a refusal.
    bool ignores_unknown_fields = false;
  };

  /// Binds the ports. Errors are those of HttpServer::Start, of Authorizer::Create, of
  /// Fetcher::Create and of AccessLog::Open.
  static absl::StatusOr<std::unique_ptr<Server>> Create(Options options);
  virtual ~Server() = default;

  virtual uint16_t port() const = 0;
  virtual uint16_t health_port() const = 0;  // 0: none
  /// Serves until Stop, SIGTERM or SIGINT: then takes nothing new, finishes what it serves, and
  /// returns. A second of these, or the drain timeout, aborts the rest.
  virtual void Run() = 0;
  /// Any thread.
  virtual void Stop() = 0;
  /// Live requests and open connections; any thread, while Run runs.
  virtual int64_t num_live() const = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_SERVER_H_
