#ifndef SHORTLIST_SERVE_HTTP_SERVER_H_
#define SHORTLIST_SERVE_HTTP_SERVER_H_

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/http_message.h"
#include "serve/route_table.h"

namespace shortlist {

struct HttpLimits {
  int64_t max_body_bytes = int64_t{8} << 20;
  int32_t max_header_bytes = 32 << 10;  // request line and all headers
  int32_t max_headers = 100;
  int64_t max_connections = 2048;  // more are told 503 and closed
  // Of a connection without a request; of the header from its first byte; of the body; of one
  // Write, in which not all bytes went out.
  std::chrono::milliseconds idle_timeout{75'000};
  std::chrono::milliseconds header_timeout{10'000};
  std::chrono::milliseconds body_timeout{60'000};
  std::chrono::milliseconds write_timeout{30'000};

  /// InvalidArgument names the limit, its value and its bound.
  absl::Status Validate() const;
};

/// An HTTP/1.1 server: keep-alive, pipelining, chunked bodies both ways, one coroutine for each
/// connection, all on the executor's one thread. Every request that was read gets one reply.
class HttpServer {
 public:
  struct Options {
    std::string host = "127.0.0.1";  // an address or a name
    uint16_t port = 30000;           // 0: any free one
    HttpLimits limits;
    /// Says whether a request may use its route, and sets its client; null: all may. Not ok becomes
    /// the reply.
    std::function<absl::Status(const Route&, HttpRequest&)> authorize;
    /// Called once for every request that was answered or given up; may be null.
    std::function<void(const RequestRecord&)> on_done;
  };

  /// Binds and listens; serves while the executor runs. `routes` must outlive this. Unavailable
  /// names the address that cannot be had, and why.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(boost::asio::any_io_executor executor,
                                                           const RouteTable& routes,
                                                           Options options);
  virtual ~HttpServer() = default;

  virtual uint16_t port() const = 0;
  virtual int64_t num_connections() const = 0;
  /// Requests that have been read and not answered completely.
  virtual int64_t num_requests() const = 0;

  // On the I/O thread:

  /// Takes no further connections; each open one is closed behind the reply it waits for.
  virtual void Drain() = 0;
  /// Closes everything now; handlers are cancelled.
  virtual void Close() = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_SERVER_H_
