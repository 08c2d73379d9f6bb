#ifndef SHORTLIST_SERVE_HTTP_SERVER_H_
#define SHORTLIST_SERVE_HTTP_SERVER_H_

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/http/message.h"
#include "serve/http/route_table.h"

namespace shortlist {

struct HttpLimits {
  int64_t max_body_bytes = int64_t{8} << 20;
  int32_t max_header_bytes = 32 << 10;  // of the request line and all headers
  int32_t max_headers = 100;
  // Limit for all clients. If it is reached, a new connection replaces the one that has been idle
  // longest, for longer than yield_after. If there is none, a few more connections may request
  // /health and /metrics, and others get 503.
  int64_t max_connections = 2048;
  // Limit for one address, applied alike; 0: half of max_connections.
  int64_t max_connections_per_address = 0;
  // Bytes received for bodies of requests that are not answered yet. Announced bytes do not count;
  // large replies that wait for their client do. One address may hold half, and always one body of
  // max_body_bytes. Requests beyond that get 503. 0: 128 MiB, but at least two such bodies.
  int64_t max_total_body_bytes = 0;
  // Timeouts: idle_timeout of a connection without a request; header_timeout from the header's
  // first byte; body_timeout of a body; write_timeout of waiting for a client that reads less than
  // kLeastBytesPerSecond (1024). In each 10 s of a body that rate must be reached, too.
  std::chrono::milliseconds yield_after{2'000};
  std::chrono::milliseconds idle_timeout{75'000};
  std::chrono::milliseconds header_timeout{10'000};
  std::chrono::milliseconds body_timeout{60'000};
  std::chrono::milliseconds write_timeout{30'000};

  /// InvalidArgument names the limit, its value and its bound.
  absl::Status Validate() const;
};

/// An HTTP/1.1 server: keep-alive, pipelining, chunked bodies in both directions, one coroutine per
/// connection, all on the executor's one thread. Every request that was read gets one reply.
///
/// A client that ends its side after a complete request may still wait for the reply (`nc -N`), or
/// may have disconnected. TCP reveals which only when something is sent. So the server sends an
/// interim "100 Continue", or the next piece of the stream. A reset in answer aborts the request.
/// HTTP/1.0 has no interim replies, so there a request that does not stream is served to its end.
///
/// A client may send up to 64 KiB after a request that is being served. Bytes beyond that are
/// dropped, and the connection is closed after the reply.
class HttpServer {
 public:
  struct Options {
    std::string host = "127.0.0.1";  // an address or a name
    uint16_t port = 30000;           // 0: any free port
    HttpLimits limits;
    /// Decides whether a request may use its route, and sets its client. An error becomes the
    /// reply. Null: all requests may. An address that sends too many wrong keys within a minute
    /// gets 429 in place of 401.
    std::function<absl::Status(const Route&, HttpRequest&)> authorize;
    /// true: requests may use any host name, even on a loopback address: they have a key, or get
    /// only public information.
    bool takes_any_host = false;
    /// Names under which the server may be reached. Empty: any name. Exception: on a loopback
    /// address without takes_any_host only loopback names, `host` and `worker_host` are allowed
    /// (see HostPolicy).
    std::vector<std::string> allowed_hosts;
    // Of pages that may call the server, "https://example.org".
    std::vector<std::string> allowed_origins;
    std::string worker_host;  // host under which the server announces itself; may be empty
    /// Called once for every request that was answered or given up. May be null.
    std::function<void(const RequestRecord&)> on_done;
  };

  /// Binds and listens; serves while the executor runs. `routes` must outlive this. Unavailable
  /// names the address that cannot be bound, and the reason. InvalidArgument names an invalid
  /// option.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(boost::asio::any_io_executor executor,
                                                           const RouteTable& routes,
                                                           Options options);
  virtual ~HttpServer() = default;

  virtual uint16_t port() const = 0;
  virtual int64_t num_connections() const = 0;
  /// Number of requests that were read and are not answered completely.
  virtual int64_t num_requests() const = 0;

  // Call these on the I/O thread:

  /// Accepts no further connections. Closes each open one after the reply that it waits for.
  virtual void Drain() = 0;
  /// Ends everything permanently and cancels handlers. A request whose reply has not started gets
  /// ShuttingDown. A stream is cut, so a handler must report its error before. The records of both
  /// contain the code "shutdown". Call it again until num_connections() is 0.
  virtual void Close() = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_SERVER_H_
