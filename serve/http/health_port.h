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

/// A port of its own for probes: GET /health and GET /metrics, without keys, on a thread of its
/// own. It takes 32 connections, which nobody but probes should reach.
class HealthPort {
 public:
  static constexpr int64_t kMaxConnections = 32;

  struct Options {
    std::string host;
    uint16_t port = 0;  // 0: any free one
    // Called on the thread of this port.
    std::function<absl::Status()> health;  // not ok becomes the reply
    std::function<std::string()> metrics;
    // Likewise, every `interval`. After a pause of the process it is called once. It is called
    // again after it has thrown.
    std::function<void()> tick;
    // Likewise, with the first error of `tick`, or of the timer that calls it, and with no further
    // one; may be null. Without ticks /health may be out of date.
    std::function<void(const absl::Status&)> on_tick_failure;
    std::chrono::milliseconds interval{500};
  };

  /// Errors are those of HttpServer::Start.
  static absl::StatusOr<std::unique_ptr<HealthPort>> Start(Options options);
  /// Closes what is open and joins the thread.
  virtual ~HealthPort() = default;

  virtual uint16_t port() const = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_HEALTH_PORT_H_
