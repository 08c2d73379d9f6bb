#ifndef SHORTLIST_BENCH_LOAD_HTTP_CLIENT_H_
#define SHORTLIST_BENCH_LOAD_HTTP_CLIENT_H_

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace shortlist {

/// Location of the routes of an OpenAI-compatible server.
struct BaseUrl {
  std::string host, port;
  std::string prefix;  // prefix of every route, such as "/v1", or ""

  /// Parses "http://host[:port][/prefix]". The default port is 80, the default prefix /v1;
  /// "http://host/" has no prefix. InvalidArgument describes the error.
  static absl::StatusOr<BaseUrl> Parse(std::string_view url);
};

struct HttpReply {
  unsigned status = 0;   // 0: no reply, `body` says why
  std::string body;      // empty if streamed
  double seconds = 0.0;  // from before the first byte is sent to the last byte received

  /// The message of an error reply: from its JSON if that has a known shape, else the beginning of
  /// the body. One line of at most 160 bytes.
  std::string Message() const;
};

/// One kept-alive connection of a client that sends one request at a time. Belongs to the
/// io_context whose coroutines await it.
class HttpClient {
 public:
  struct Options {
    BaseUrl url;
    std::string api_key;  // empty: not sent
    std::chrono::seconds timeout{600};
  };

  /// `options` must outlive this.
  explicit HttpClient(const Options& options) : options_(options) {}

  /// Sends a POST of `json` to `route`, such as "/embeddings". Connects if not connected, and
  /// retries once if a kept connection turns out to be closed. The arguments must outlive the
  /// coroutine.
  boost::asio::awaitable<HttpReply> Post(std::string_view route, std::string_view json);

  /// Receives a piece of a reply's body. Returns false to discard the rest and close the
  /// connection.
  using Sink = std::function<bool(std::string_view piece)>;
  /// Same as Post(), but passes the body of a reply with status 200 to `sink` as it arrives.
  boost::asio::awaitable<HttpReply> PostStreamed(std::string_view route, std::string_view json,
                                                 const Sink& sink);

 private:
  boost::asio::awaitable<HttpReply> Exchange(std::string_view route, std::string_view json,
                                             const Sink* sink);
  boost::asio::awaitable<void> Connect();
  boost::asio::awaitable<void> Send(std::string_view route, std::string_view json);
  boost::asio::awaitable<void> Receive(const Sink* sink, HttpReply& reply);

  const Options& options_;
  std::unique_ptr<boost::beast::tcp_stream> stream_;  // null: not connected
  boost::beast::flat_buffer received_;                // bytes after the last reply
};

}  // namespace shortlist

#endif  // SHORTLIST_BENCH_LOAD_HTTP_CLIENT_H_
