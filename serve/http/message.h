#ifndef SHORTLIST_SERVE_HTTP_MESSAGE_H_
#define SHORTLIST_SERVE_HTTP_MESSAGE_H_

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace shortlist {

/// The client that a request comes from, as far as clients are kept apart.
struct Client {
  // Name of its key, else its address. Names take turns, and a request is aborted by its own name
  // only.
  std::string name;
  // Salt of its key. Empty: prefixes are shared with all clients without a key.
  std::string cache_salt;
};

/// One request, read completely and within the limits. Header names are case-insensitive.
struct HttpRequest {
  std::string method;                                      // "GET", "POST", ...
  std::string path;                                        // without the query; percent-decoded
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
  std::vector<std::pair<std::string, std::string>> headers;
  mutable std::string body;
  std::string parameter;    // what replaced the {name} of the route's path; decoded
  std::string id;           // the client's X-Request-Id if valid, else a new one
  std::string traceparent;  // the client's if well-formed (W3C Trace Context), else empty
  std::string peer;         // the address of the client, as HttpSocket::peer
  Client client;            // set by HttpServer::Options::authorize
  std::chrono::steady_clock::time_point arrival;

  /// For a handler that has read the body and continues for long: frees its memory, and its part of
  /// the limit for all bodies.
  void DropBody() const {
    body = std::string();
    if (on_body_dropped) on_body_dropped();
  }
  std::function<void()> on_body_dropped;  // may be empty

  /// Returns the first header, or query parameter, with this name; empty if there is none.
  std::string_view Header(std::string_view name) const;
  std::string_view Query(std::string_view name) const;
};

/// Counts and log data of one request. Must not contain text of prompts or outputs.
struct RequestRecord {
  std::string id, traceparent;
  std::string client;  // Client::name, else the address
  std::string route;   // as in the table, "/v1/models/{id}"; empty: no route has this path
  std::string method;
  int status = 0;          // 499: the client disconnected before there was one
  std::string error_code;  // of an error, including one inside a stream
  bool client_gone = false;
  int64_t response_bytes = 0;
  double seconds = 0.0;
  // Set by the handler.
  int64_t prompt_tokens = 0, completion_tokens = 0;
  std::string ignored_fields;  // HeaderName of each, separated by commas
};

/// The reply to one request: either one Send, or StartStream and any number of Writes. The server
/// ends the stream when the handler returns. Used on the I/O thread only.
///
/// Write returns once the kernel has the bytes, so a slow client slows the awaiting coroutine. A
/// client that reads less than kLeastBytesPerSecond during HttpLimits::write_timeout is cut off.
/// The handler is then cancelled, as it is when the client disconnects (see Handler).
class HttpResponse {
 public:
  virtual ~HttpResponse() = default;

  /// Adds a header to the reply. Call it before Send or StartStream.
  virtual void SetHeader(std::string_view name, std::string value) = 0;
  virtual boost::asio::awaitable<void> Send(int status, std::string_view content_type,
                                            std::string body) = 0;
  /// Starts a reply with status 200 and no length: chunked, or for HTTP/1.0 up to the end of the
  /// connection.
  virtual boost::asio::awaitable<void> StartStream(std::string_view content_type) = 0;
  virtual boost::asio::awaitable<void> Write(std::string bytes) = 0;
  /// True once a status was sent.
  virtual bool started() const = 0;
  virtual RequestRecord& record() = 0;
};

inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";
inline constexpr std::string_view kEventStreamType = "text/event-stream; charset=utf-8";

/// Answers one request. An error becomes the reply, in the route's ErrorBody, unless the reply has
/// started: the handler reports errors inside a stream itself. An exception is an internal error.
///
/// Runs on the I/O thread, so it must not compute for long. When the client disconnects, the
/// operation that the handler awaits is cancelled. The handler then ends by an exception, and
/// destructors release its resources.
using Handler =
    std::function<boost::asio::awaitable<absl::Status>(const HttpRequest&, HttpResponse&)>;

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_MESSAGE_H_
