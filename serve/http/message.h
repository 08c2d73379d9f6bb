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

/// Whom a request comes from, as far as others are to be kept apart from it.
struct Client {
  std::string name;        // of its key, else its address: turns are taken between names, and a
                           // request is aborted by its own name only
  std::string cache_salt;  // of its key; empty: prefixes are shared with all others without one
};

/// One request, read completely and within the limits. Header names compare without case.
struct HttpRequest {
  std::string method;                                      // "GET", "POST", ...
  std::string path;                                        // without the query; percent-decoded
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
  std::vector<std::pair<std::string, std::string>> headers;
  mutable std::string body;
  std::string parameter;    // what stood for the {name} of the route's path; decoded
  std::string id;           // the client's X-Request-Id if it is a sound one, else a fresh one
  std::string traceparent;  // the client's if it is well-formed (W3C Trace Context), else empty
  std::string peer;         // the address it came from, as HttpSocket::peer
  Client client;            // as HttpServer::Options::authorize says
  std::chrono::steady_clock::time_point arrival;

  /// For the handler, when it has read the body and goes on for long: gives its memory back, and
  /// its part of what bodies may take together.
  void DropBody() const {
    body = std::string();
    if (on_body_dropped) on_body_dropped();
  }
  std::function<void()> on_body_dropped;  // may be empty

  /// The first header, or query parameter, of this name; empty when there is none.
  std::string_view Header(std::string_view name) const;
  std::string_view Query(std::string_view name) const;
};

/// What is counted and logged of one request. No text of prompts or outputs goes in here.
struct RequestRecord {
  std::string id, traceparent;
  std::string client;  // Client::name, else the address
  std::string route;   // as in the table, "/v1/models/{id}"; empty: no route had this path
  std::string method;
  int status = 0;          // 499: the client went before there was one
  std::string error_code;  // of an error; also of one that a stream tells inside
  bool client_gone = false;
  int64_t response_bytes = 0;
  double seconds = 0.0;
  // The handler's.
  int64_t prompt_tokens = 0, completion_tokens = 0;
  std::string ignored_fields;  // HeaderName of each, with commas
};

/// The answer to one request: either Send once, or StartStream and then Write any number of times;
/// the server ends the stream when the handler returns. Used on the I/O thread alone.
///
/// The awaiting coroutine is what a slow reader slows down: Write returns once the bytes are with
/// the kernel. A reader that takes nothing for HttpLimits::write_timeout is cut: the handler is
/// cancelled, as it is when the client has gone (see Handler).
class HttpResponse {
 public:
  virtual ~HttpResponse() = default;

  /// A further header of the reply; before Send or StartStream.
  virtual void SetHeader(std::string_view name, std::string value) = 0;
  virtual boost::asio::awaitable<void> Send(int status, std::string_view content_type,
                                            std::string body) = 0;
  /// Status 200 and no length: chunked, or up to the end of the connection for HTTP/1.0.
  virtual boost::asio::awaitable<void> StartStream(std::string_view content_type) = 0;
  virtual boost::asio::awaitable<void> Write(std::string bytes) = 0;
  /// True once a status has gone out.
  virtual bool started() const = 0;
  virtual RequestRecord& record() = 0;
};

inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";
inline constexpr std::string_view kEventStreamType = "text/event-stream; charset=utf-8";

/// Answers one request. A status that is not ok becomes the reply, in the route's ErrorBody, unless
/// the reply has started: errors inside a stream are the handler's to tell. An exception is an
/// internal error.
///
/// Runs on the I/O thread, so it must not compute for long. When the client goes, what the handler
/// awaits is cancelled: it ends by the exception that throws; destructors release what it held.
using Handler =
    std::function<boost::asio::awaitable<absl::Status>(const HttpRequest&, HttpResponse&)>;

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_MESSAGE_H_
