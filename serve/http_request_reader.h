#ifndef SHORTLIST_SERVE_HTTP_REQUEST_READER_H_
#define SHORTLIST_SERVE_HTTP_REQUEST_READER_H_

#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>

#include "absl/status/status.h"
#include "serve/http_message.h"
#include "serve/http_server.h"
#include "serve/http_socket.h"

namespace shortlist {

/// Reads the requests of one connection, one after the other, within the limits. Used on the I/O
/// thread.
///
/// A status that is not ok is to be told to the client, but Cancelled: the client has gone.
class HttpRequestReader {
 public:
  /// Both must outlive this.
  HttpRequestReader(HttpSocket& socket, const HttpLimits& limits)
      : socket_(socket), limits_(limits) {}

  /// Begins a request and sets all of `request` that its header says; of a request that is refused,
  /// as far as it says so.
  boost::asio::awaitable<absl::Status> ReadHeader(HttpRequest& request);
  /// Reads the rest, the body. Precondition: ReadHeader was ok.
  boost::asio::awaitable<absl::Status> ReadBody(HttpRequest& request);

  // Of the request that was begun last:

  /// It has been read to its end.
  bool complete() const { return parser_->is_done(); }
  /// The client would go on with another request.
  bool keep_alive() const { return parser_->keep_alive(); }
  /// HTTP/1.1, which knows chunks.
  bool knows_chunks() const { return parser_->get().version() >= 11; }

 private:
  enum class Part { kHeader, kAll };
  boost::asio::awaitable<HttpSocket::error_code> Parse(Part part);
  absl::Status Refusal(const HttpSocket::error_code& error) const;
  absl::Status TakeHeader(HttpRequest& request) const;

  HttpSocket& socket_;
  const HttpLimits& limits_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_REQUEST_READER_H_
