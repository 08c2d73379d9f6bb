#include "serve/fastchat/controller_client.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "nlohmann/json.hpp"
#include "serve/http/host_lookup.h"
#include "serve/http/reply_reader.h"
#include "serve/http/url.h"

namespace shortlist {

namespace asio = boost::asio;
namespace beast = boost::beast;
using nlohmann::json;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr int64_t kMaxReplyBytes = 64 << 10;

absl::Status BadUrl(std::string_view url, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", std::string(url.substr(0, 200)),
                   "\" is no URL of a controller or worker: ", std::string(what)));
}

/// Reads more bytes into `text`.
asio::awaitable<absl::Status> Fill(beast::tcp_stream& stream, std::string& text) {
  char bytes[4 << 10];
  const auto [error, count] = co_await stream.async_read_some(asio::buffer(bytes), kTuple);
  text.append(bytes, count);
  if (!error) co_return absl::OkStatus();
  if (error == asio::error::eof) co_return absl::OutOfRangeError("the reply is not complete");
  co_return absl::UnavailableError(error.message());
}

/// Returns the body of the reply to a POST of `body`. Errors describe the failure in words.
asio::awaitable<absl::StatusOr<std::string>> Post(const ControllerOptions& options,
                                                  HostLookup& lookup, const char* route,
                                                  std::string body) {
  const absl::StatusOr<Endpoints> endpoints = co_await lookup.Run(options.timeout);
  if (!endpoints.ok()) co_return endpoints.status();

  beast::tcp_stream stream(co_await asio::this_coro::executor);
  stream.expires_after(options.timeout);
  const auto [connect_error, endpoint] = co_await stream.async_connect(*endpoints, kTuple);
  if (connect_error) co_return absl::UnavailableError(connect_error.message());

  const HttpUrl& url = options.controller;
  const std::string request = absl::StrCat(
      "POST ", url.path, route, " HTTP/1.1\r\nHost: ", url.Authority(),
      "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ", body.size(),
      "\r\n\r\n", body);
  const auto [write_error, written] =
      co_await asio::async_write(stream, asio::buffer(request), kTuple);
  if (write_error) co_return absl::UnavailableError(write_error.message());

  const ReadMore read_more = [&stream](std::string& text) { return Fill(stream, text); };
  absl::StatusOr<std::string> reply = co_await ReadReply(read_more, kMaxReplyBytes);
  if (reply.ok()) co_return reply;
  co_return absl::UnavailableError(absl::StrCat(route, ": ", reply.status().message()));
}

asio::awaitable<absl::Status> Register(const ControllerOptions& options, HostLookup& lookup) {
  std::string body = absl::StrCat("{\"worker_name\": ", json(options.worker_address).dump(),
                                  ", \"check_heart_beat\": true, \"multimodal\": false",
                                  ", \"worker_status\": ", options.status(), "}");
  const absl::StatusOr<std::string> reply =
      co_await Post(options, lookup, "/register_worker", std::move(body));
  co_return reply.status();
}

/// NotFound if the controller does not know this worker.
asio::awaitable<absl::Status> SendHeartbeat(const ControllerOptions& options, HostLookup& lookup) {
  std::string body =
      json{{"worker_name", options.worker_address}, {"queue_length", options.queue_length()}}
          .dump();
  const absl::StatusOr<std::string> reply =
      co_await Post(options, lookup, "/receive_heart_beat", std::move(body));
  if (!reply.ok()) co_return reply.status();
  const absl::StatusOr<json> answer = ParseJson(*reply, "/receive_heart_beat");
  if (!answer.ok()) co_return answer.status();
  const auto exist = answer->is_object() ? answer->find("exist") : answer->end();
  if (!answer->is_object() || exist == answer->end() || !exist->is_boolean()) {
    co_return absl::UnavailableError("/receive_heart_beat does not answer {\"exist\": bool}");
  }
  co_return exist->get<bool>() ? absl::OkStatus() : absl::NotFoundError("not registered");
}

}  // namespace

absl::StatusOr<HttpUrl> HttpUrl::Parse(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (!std::all_of(url.begin(), url.end(), IsUrlCharacter)) {
    return BadUrl(url, "white space, quotes, or bytes beyond ASCII");
  }
  if (!url.starts_with(kScheme)) return BadUrl(url, "it does not begin with http://");
  std::string_view rest = url.substr(kScheme.size());
  if (rest.find_first_of("?#") != rest.npos) return BadUrl(url, "a query or a fragment");
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  std::string_view path = rest.substr(slash);
  while (path.ends_with('/')) path.remove_suffix(1);
  auto parsed = UrlAuthority::Parse(authority);
  if (!parsed.ok()) return BadUrl(url, std::string(parsed.status().message()));
  return HttpUrl{.host = std::move(parsed->host),
                 .port = parsed->port.empty() ? "80" : std::move(parsed->port),
                 .path = std::string(path)};
}

std::string HttpUrl::Authority() const { return UrlAuthority{.host = host, .port = port}.Text(); }

asio::awaitable<void> KeepRegistered(ControllerOptions options) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  HostLookup lookup(options.controller.host, options.controller.port);
  bool is_registered = false;
  bool is_silent = false;  // on_change was called for the current failure
  for (;;) {
    absl::Status status = absl::NotFoundError("not registered yet");
    if (is_registered) status = co_await SendHeartbeat(options, lookup);
    if (absl::IsNotFound(status)) {
      status = co_await Register(options, lookup);
      if (status.ok()) options.on_change("registered", status);
    }
    is_registered = status.ok();
    if (!is_registered && !is_silent) options.on_change("unreachable", status);
    is_silent = !is_registered;
    timer.expires_after(options.heartbeat);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

}  // namespace shortlist
