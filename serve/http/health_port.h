#ifndef SHORTLIST_SERVE_HTTP_HEALTH_PORT_H_
#define SHORTLIST_SERVE_HTTP_HEALTH_PORT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shortlist {

/// A port for probes: GET /health and GET /metrics, without keys, served by a thread of its own. It
/// serves at most 32 connections. Only probes should be able to reach it.
class HealthPort {
 public:
  static constexpr int64_t kMaxConnections = 32;

  struct Options {
    std::string host;
    uint16_t port = 0;  // 0: any free port
    // Called on this port's thread.
    std::function<absl::Status()> health;  // an error becomes the reply
    std::function<std::string()> metrics;
    // Called on this port's thread, every `interval`; once after a pause of the process. Calls
    // continue after it throws.
    std::function<void()> tick;
    // Called on this port's thread with the first error of `tick`, or of its timer, and not again.
    // May be null. Without ticks /health may be outdated.
    std::function<void(const absl::Status&)> on_tick_failure;
    std::chrono::milliseconds interval{500};
  };

  /// Returns the errors of HttpServer::Start.
  static absl::StatusOr<std::unique_ptr<HealthPort>> Start(Options options);
  /// Closes all connections and joins the thread.
  virtual ~HealthPort() = default;

  virtual uint16_t port() const = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_HEALTH_PORT_H_
