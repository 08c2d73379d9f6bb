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
#include <charconv>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "nlohmann/json.hpp"
#include "serve/http/framing.h"
#include "serve/http/host_lookup.h"

namespace shortlist {

namespace asio = boost::asio;
namespace beast = boost::beast;
using nlohmann::json;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr int64_t kMaxReplyBytes = 64 << 10;
constexpr HttpHeadParser::Limits kHeadLimits{.max_bytes = 16 << 10, .max_fields = 100};
constexpr int kMaxInterimReplies = 5;

bool IsUrlCharacter(char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '<' && c != '>'; }

absl::Status BadUrl(std::string_view url, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", std::string(url.substr(0, 200)),
                   "\" is no URL of a controller or worker: ", std::string(what)));
}

/// Reads on into `text`.
asio::awaitable<absl::Status> Fill(beast::tcp_stream& stream, std::string& text) {
  char bytes[4 << 10];
  const auto [error, count] = co_await stream.async_read_some(asio::buffer(bytes), kTuple);
  text.append(bytes, count);
  if (!error) co_return absl::OkStatus();
  if (error == asio::error::eof) co_return absl::OutOfRangeError("the reply is not complete");
  co_return absl::UnavailableError(error.message());
}

/// The status and the fields of a reply; `text` is what was read beyond.
asio::awaitable<absl::StatusOr<int>> ReadHead(beast::tcp_stream& stream, std::string& text,
                                              HttpFields& fields) {
  for (int i = 0; i <= kMaxInterimReplies; ++i) {
    HttpHeadParser head(HttpHeadParser::Kind::kMessage, kHeadLimits);
    while (true) {
      const absl::StatusOr<size_t> used = head.Feed(text);
      if (!used.ok()) co_return used.status();
      text.erase(0, *used);
      if (head.done()) break;
      absl::Status status = co_await Fill(stream, text);
      if (!status.ok()) co_return status;
    }
    const absl::StatusOr<int> status = ParseStatusLine(head.start_line());
    if (!status.ok() || *status >= 200) {
      fields = std::move(head.fields());
      co_return status;
    }
  }
  co_return absl::UnavailableError("interim replies without an end");
}

/// The body of a reply of status 200.
asio::awaitable<absl::StatusOr<std::string>> ReadReply(beast::tcp_stream& stream) {
  std::string text, reply;
  HttpFields fields;
  const absl::StatusOr<int> code = co_await ReadHead(stream, text, fields);
  if (!code.ok()) co_return code.status();
  if (*code != 200) co_return absl::UnavailableError(absl::StrCat("status ", *code));
  absl::StatusOr<HttpBodyDecoder> body = FrameReply(*code, fields, kMaxReplyBytes);
  if (!body.ok()) co_return body.status();
  while (true) {
    const absl::StatusOr<size_t> used = body->Feed(text, reply);
    if (!used.ok()) co_return used.status();
    if (body->done()) co_return reply;
    text.clear();
    absl::Status status = co_await Fill(stream, text);
    if (absl::IsOutOfRange(status) && body->ends_with_connection()) co_return reply;
    if (!status.ok()) co_return status;
  }
}

/// The body of the reply to a POST of `body`. Errors say in words what went wrong.
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

  absl::StatusOr<std::string> reply = co_await ReadReply(stream);
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

/// NotFound when the controller does not know this worker.
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
  if (authority.find('@') != authority.npos) return BadUrl(url, "a user");

  HttpUrl parsed{.port = "80", .path = std::string(path)};
  std::string_view port;
  if (authority.starts_with('[')) {
    const size_t end = authority.find(']');
    if (end == authority.npos) return BadUrl(url, "no ] behind the address");
    parsed.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
    if (!port.empty() && port.front() != ':') return BadUrl(url, "no : before the port");
  } else {
    const size_t colon = std::min(authority.find(':'), authority.size());
    parsed.host = authority.substr(0, colon);
    port = authority.substr(colon);
  }
  if (parsed.host.empty()) return BadUrl(url, "no host");
  if (port.empty()) return parsed;

  port.remove_prefix(1);
  uint16_t number = 0;
  const auto [stop, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || stop != port.data() + port.size() || number == 0) {
    return BadUrl(url, absl::StrCat("port ", std::string(port), " not in [1, 65535]"));
  }
  parsed.port = absl::StrCat(number);
  return parsed;
}

std::string HttpUrl::Authority() const {
  const bool is_ipv6 = host.find(':') != host.npos;
  return absl::StrCat(is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", ":", port);
}

asio::awaitable<void> KeepRegistered(ControllerOptions options) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  HostLookup lookup(options.controller.host, options.controller.port);
  bool is_registered = false;
  bool is_silent = false;  // its silence has been told
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
