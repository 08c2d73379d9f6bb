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

/// Where an OpenAI-compatible server has its routes.
struct BaseUrl {
  std::string host, port;
  std::string prefix;  // of every route: "/v1", say, or ""

  /// Of "http://host[:port][/prefix]": the port is 80 where there is none, and the prefix /v1;
  /// "http://host/" has no prefix. InvalidArgument tells what is wrong.
  static absl::StatusOr<BaseUrl> Parse(std::string_view url);
};

struct HttpReply {
  unsigned status = 0;   // 0: none came, `body` says why
  std::string body;      // empty where it was streamed
  double seconds = 0.0;  // from before the first byte was sent until the last one was here

  /// What an error reply says: the message of its JSON where it is of a known shape, else its
  /// beginning; one line of at most 160 bytes.
  std::string Message() const;
};

/// One connection, kept alive, of a client that sends a request after the other. Belongs to the
/// io_context whose coroutines await it.
class HttpClient {
 public:
  struct Options {
    BaseUrl url;
    std::string api_key;  // empty: none is sent
    std::chrono::seconds timeout{600};
  };

  /// `options` must outlive this.
  explicit HttpClient(const Options& options) : options_(options) {}

  /// POST of `json` to `route`, "/embeddings" say. Connects where the connection is not open, once
  /// more where a kept one turns out to be closed. The arguments must live until it returns.
  boost::asio::awaitable<HttpReply> Post(std::string_view route, std::string_view json);

  /// Takes a piece of a reply's body; false: the rest is not wanted, and the connection is closed.
  using Sink = std::function<bool(std::string_view piece)>;
  /// As Post, but the body of a reply of status 200 goes to `sink` as it comes.
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
  boost::beast::flat_buffer received_;                // behind the last reply
};

}  // namespace shortlist

#endif  // SHORTLIST_BENCH_LOAD_HTTP_CLIENT_H_
