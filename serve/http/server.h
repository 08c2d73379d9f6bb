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
  int32_t max_header_bytes = 32 << 10;  // request line and all headers
  int32_t max_headers = 100;
  // All of them. When they are taken, the one that has been idle longest is closed for a new one,
  // if that is for longer than yield_after; when none is, a few more may ask for /health and
  // /metrics, and others are told 503.
  int64_t max_connections = 2048;
  int64_t max_connections_per_address = 0;  // likewise; 0: half of max_connections
  // Of bodies that have come and belong to requests which are not answered yet, as far as they have
  // come: what is announced holds no memory. One address may hold half. What goes beyond is told
  // 503. 0: 128 MiB, but at least two bodies of max_body_bytes.
  int64_t max_total_body_bytes = 0;
  // Of a connection without a request; of the header from its first byte; of the body; of waiting
  // for a reader that takes less than kLeastBytesPerSecond (1024). Of 10 s for a body, too, as many
  // bytes a second must come.
  std::chrono::milliseconds yield_after{2'000};
  std::chrono::milliseconds idle_timeout{75'000};
  std::chrono::milliseconds header_timeout{10'000};
  std::chrono::milliseconds body_timeout{60'000};
  std::chrono::milliseconds write_timeout{30'000};

  /// InvalidArgument names the limit, its value and its bound.
  absl::Status Validate() const;
};

/// An HTTP/1.1 server: keep-alive, pipelining, chunked bodies both ways, one coroutine for each
/// connection, all on the executor's one thread. Every request that was read gets one reply.
///
/// A client that ends its side behind a whole request may still wait for the reply (`nc -N`), or
/// may have gone: TCP tells the one from the other only when something is sent. So it is sent an
/// interim "100 Continue", or the next piece of its stream; if that is answered by a reset the
/// request is aborted, else it goes on. HTTP/1.0 knows no interim replies, so there a request that
/// does not stream is served to its end.
///
/// A client that sends more than 64 KiB behind a request that is being served has the rest dropped,
/// and its connection closed behind the reply.
class HttpServer {
 public:
  struct Options {
    std::string host = "127.0.0.1";  // an address or a name
    uint16_t port = 30000;           // 0: any free one
    HttpLimits limits;
    /// Says whether a request may use its route, and sets its client; null: all may. Not ok becomes
    /// the reply.
    /// An address that is refused with 401 too often within a minute gets 429 in its place.
    std::function<absl::Status(const Route&, HttpRequest&)> authorize;
    /// Requests may come under any name also on a loopback address: they bring a key, or learn only
    /// what anybody may know.
    bool takes_any_host = false;
    /// Names under which the server is reached. Without any, all are good, but on a loopback
    /// address unless takes_any_host: there only those of it, `host`, `worker_host` (see
    /// HostPolicy).
    std::vector<std::string> allowed_hosts;
    std::vector<std::string> allowed_origins;  // of pages that may call it, "https://example.org"
    std::string worker_host;                   // where it says itself that it is; may be empty
    /// Called once for every request that was answered or given up; may be null.
    std::function<void(const RequestRecord&)> on_done;
  };

  /// Binds and listens; serves while the executor runs. `routes` must outlive this. Unavailable
  /// names the address that cannot be had, and why; InvalidArgument an option that is wrong.
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
  /// Ends everything, for good: handlers are cancelled. A request whose reply has not started is
  /// told ShuttingDown; a stream is cut, so a handler that has an error to tell must have done so.
  /// Records of both say shutdown. To be called again until num_connections() is 0.
  virtual void Close() = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_SERVER_H_
