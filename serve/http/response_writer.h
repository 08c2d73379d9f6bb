#ifndef SHORTLIST_SERVE_HTTP_RESPONSE_WRITER_H_
#define SHORTLIST_SERVE_HTTP_RESPONSE_WRITER_H_

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "serve/http/api_error.h"
#include "serve/http/message.h"
#include "serve/http/socket.h"

namespace shortlist {

/// Writes the only reply to one request. Used on the I/O thread.
class HttpResponseWriter final : public HttpResponse {
 public:
  struct Options {
    bool has_body = true;                     // false: the request was a HEAD
    bool chunks = true;                       // false: HTTP/1.0; a stream ends with the connection
    bool keep_alive = true;                   // as the client requests
    std::chrono::milliseconds write_timeout;  // HttpLimits::write_timeout
    /// Called with the number of bytes of a large reply that will wait for the client. Returns
    /// false if there is no room for them; the client then gets 503. May be empty.
    std::function<bool(int64_t)> hold = {};
    ErrorBody error_body = OpenAiErrorBody;  // for errors of Send itself
  };

  /// `draining` becomes true when no further request will be read. `socket` and `draining` must
  /// outlive this.
  HttpResponseWriter(HttpSocket& socket, const bool& draining, Options options)
      : socket_(socket), draining_(draining), options_(std::move(options)) {}

  // Overrides of HttpResponse. A write that fails sets client_gone in record() and throws
  // system_error.
  void SetHeader(std::string_view name, std::string value) override;
  boost::asio::awaitable<void> Send(int status, std::string_view content_type,
                                    std::string body) override;
  boost::asio::awaitable<void> StartStream(std::string_view content_type) override;
  boost::asio::awaitable<void> Write(std::string bytes) override;
  bool started() const override { return started_; }
  RequestRecord& record() override { return record_; }

  /// Ends the connection after this request. The reply announces this if it has not started.
  void EndConnection() { options_.keep_alive = false; }

  /// Sends the error as the whole reply and notes it in record(). Shortens long messages. Never
  /// throws.
  boost::asio::awaitable<void> SendError(absl::Status status, ErrorBody body);
  /// Ends a stream that was started. Never throws.
  boost::asio::awaitable<void> Finish();
  /// True if the client may send another request on this connection.
  bool keep_alive() const { return options_.keep_alive && !draining_; }

 private:
  std::string Head(int status, std::string_view content_type) const;
  boost::asio::awaitable<void> WriteAll(std::string bytes);

  HttpSocket& socket_;
  const bool& draining_;
  Options options_;
  RequestRecord record_;
  std::string headers_;  // additional headers
  bool started_ = false;
  bool streaming_ = false;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_RESPONSE_WRITER_H_
