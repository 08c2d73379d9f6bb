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

/// Reads the requests of one connection, one after the other, within the limits. Used on the I/O
/// thread.
///
/// A status that is not ok is to be told to the client, but Cancelled: the client has gone.
class HttpRequestReader {
 public:
  /// Asked before memory for a body is taken; `bytes` are of the whole body. False: there is none.
  using Reserve = std::function<bool(int64_t bytes)>;

  /// Socket and limits must outlive this.
  HttpRequestReader(HttpSocket& socket, const HttpLimits& limits, Reserve reserve)
      : socket_(socket), limits_(limits), reserve_(std::move(reserve)) {}

  /// Begins a request and sets all of `request` that its header says; of a request that is refused,
  /// as far as it says so.
  boost::asio::awaitable<absl::Status> ReadHeader(HttpRequest& request);
  /// Reads the rest, the body. Precondition: ReadHeader was ok.
  boost::asio::awaitable<absl::Status> ReadBody(HttpRequest& request);

  // Of the request that was begun last:

  /// It has been read to its end, which is known for certain.
  bool complete() const { return body_.has_value() && body_->done(); }
  /// The client would go on with another request.
  bool keep_alive() const { return keep_alive_; }
  /// HTTP/1.1, which knows chunks and interim replies; else HTTP/1.0.
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
  std::optional<HttpBodyDecoder> body_;  // nullopt: the header is not read, or was refused
  bool is_http11_ = true;
  bool keep_alive_ = false;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_REQUEST_READER_H_
