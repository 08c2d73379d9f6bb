#ifndef SHORTLIST_SERVE_HTTP_REQUEST_READER_H_
#define SHORTLIST_SERVE_HTTP_REQUEST_READER_H_

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "serve/http/framing.h"
#include "serve/http/message.h"
#include "serve/http/server.h"
#include "serve/http/socket.h"

namespace shortlist {

/// Reads the requests of one connection in sequence, within the limits. Used on the I/O thread.
///
/// Report errors to the client, except Cancelled: the client has disconnected.
class HttpRequestReader {
 public:
  /// Called before memory for a body is allocated, with the `bytes` of the whole body. Returns
  /// false if there is no room.
  using Reserve = std::function<bool(int64_t bytes)>;

  /// `socket` and `limits` must outlive this.
  HttpRequestReader(HttpSocket& socket, const HttpLimits& limits, Reserve reserve)
      : socket_(socket), limits_(limits), reserve_(std::move(reserve)) {}

  /// Reads the header of a request and sets the members of `request` that it gives. If the request
  /// is rejected, sets as many as are known.
  boost::asio::awaitable<absl::Status> ReadHeader(HttpRequest& request);
  /// Reads the body. Precondition: ReadHeader was ok.
  boost::asio::awaitable<absl::Status> ReadBody(HttpRequest& request);

  // State of the last request that was begun:

  /// True if it is known to be read to its end.
  bool complete() const { return body_.has_value() && body_->done(); }
  /// True if the client allows another request on this connection.
  bool keep_alive() const { return keep_alive_; }
  /// True for HTTP/1.1, which has chunks and interim replies; false for HTTP/1.0.
  bool is_http11() const { return is_http11_; }

 private:
  boost::asio::awaitable<absl::Status> Fill();
  boost::asio::awaitable<absl::Status> ReadHead(HttpHeadParser& head);
  boost::asio::awaitable<absl::Status> AnswerExpectation(const HttpRequest& request);
  absl::Status TakeHead(HttpHeadParser& head, HttpRequest& request);
  absl::Status TakeBody(std::string& body);

  HttpSocket& socket_;
  const HttpLimits& limits_;
  const Reserve reserve_;
  std::optional<HttpBodyDecoder> body_;  // nullopt: the header was not read, or was rejected
  bool is_http11_ = true;
  bool keep_alive_ = false;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_REQUEST_READER_H_
