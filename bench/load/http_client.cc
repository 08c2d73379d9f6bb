#include "bench/load/http_client.h"

#include <algorithm>
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http.hpp>
#include <boost/system/system_error.hpp>
#include <cctype>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;

constexpr size_t kMessageBytes = 160;

absl::Status UrlError(std::string_view url, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("base URL '", std::string(url), "' ", std::string(what)));
}

/// The text of an error in the formats of OpenAI, vLLM, TEI, FastAPI and llama.cpp; null if none.
const std::string* ErrorText(const nlohmann::json& reply) {
  if (!reply.is_object()) return nullptr;
  for (const char* name : {"error", "message", "detail"}) {
    const auto field = reply.find(name);
    if (field == reply.end()) continue;
    if (field->is_string()) return field->get_ptr<const std::string*>();
    if (const std::string* inner = ErrorText(*field)) return inner;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<BaseUrl> BaseUrl::Parse(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) {
    return UrlError(url, "does not begin with http:// (there is no TLS here)");
  }
  std::string_view rest = url.substr(kScheme.size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view place = rest.substr(0, slash), prefix = rest.substr(slash);
  if (prefix.find_first_of("?# ") != prefix.npos) return UrlError(url, "has more than a path");

  BaseUrl parsed{.host = "", .port = "80", .prefix = prefix.empty() ? "/v1" : std::string(prefix)};
  while (parsed.prefix.ends_with('/')) parsed.prefix.pop_back();
  const size_t bracket = place.starts_with('[') ? place.find(']') : 0;
  if (bracket == place.npos) return UrlError(url, "has a [ without ]");
  const size_t colon = place.find(':', bracket);
  parsed.host = place.substr(0, colon);
  if (colon != place.npos) {
    parsed.port = place.substr(colon + 1);
    int port = 0;
    if (!absl::SimpleAtoi(parsed.port, &port) || port < 1 || port > 65535) {
      return UrlError(url, "has a port that is not in [1, 65535]");
    }
  }
  if (bracket > 0) parsed.host = parsed.host.substr(1, bracket - 1);
  if (parsed.host.empty()) return UrlError(url, "has no host");
  return parsed;
}

std::string HttpReply::Message() const {
  const auto reply = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  const std::string* const text = ErrorText(reply);
  std::string message(text ? *text : body, 0, kMessageBytes);
  for (char& c : message) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  return message;
}

asio::awaitable<HttpReply> HttpClient::Post(std::string_view route, std::string_view json) {
  return Exchange(route, json, /*sink=*/nullptr);
}

asio::awaitable<HttpReply> HttpClient::PostStreamed(std::string_view route, std::string_view json,
                                                    const Sink& sink) {
  return Exchange(route, json, &sink);
}

asio::awaitable<HttpReply> HttpClient::Exchange(std::string_view route, std::string_view json,
                                                const Sink* sink) {
  const Clock::time_point begin = Clock::now();
  HttpReply reply;
  for (bool again = true; again;) {
    again = false;
    const bool was_open = stream_ != nullptr;
    reply = HttpReply();
    try {
      if (!was_open) co_await Connect();
      stream_->expires_after(options_.timeout);
      co_await Send(route, json);
      co_await Receive(sink, reply);
    } catch (const boost::system::system_error& error) {
      stream_.reset();
      // Retry: a server may close an idle connection.
      again = was_open && reply.status == 0 && error.code() != beast::error::timeout;
      reply.status = 0;
      reply.body = error.code() == beast::error::timeout
                       ? absl::StrCat("no reply within ", options_.timeout.count(), " s")
                       : error.code().message();
    }
  }
  reply.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  co_return reply;
}

asio::awaitable<void> HttpClient::Connect() {
  const auto executor = co_await asio::this_coro::executor;
  asio::ip::tcp::resolver resolver(executor);
  const auto endpoints =
      co_await resolver.async_resolve(options_.url.host, options_.url.port, asio::use_awaitable);
  received_.clear();
  stream_ = std::make_unique<beast::tcp_stream>(executor);
  stream_->expires_after(options_.timeout);
  co_await stream_->async_connect(endpoints, asio::use_awaitable);
  stream_->socket().set_option(asio::ip::tcp::no_delay(true));
}

asio::awaitable<void> HttpClient::Send(std::string_view route, std::string_view json) {
  const BaseUrl& url = options_.url;
  http::request<http::span_body<const char>> request;
  request.version(11);
  request.method(http::verb::post);
  request.target(url.prefix + std::string(route));
  const bool is_ip6 = absl::StrContains(url.host, ":");
  request.set(http::field::host,
              is_ip6 ? "[" + url.host + "]:" + url.port : url.host + ":" + url.port);
  request.set(http::field::content_type, "application/json");
  if (!options_.api_key.empty()) {
    request.set(http::field::authorization, "Bearer " + options_.api_key);
  }
  request.body() = beast::span<const char>(json.data(), json.size());
  request.prepare_payload();
  co_await http::async_write(*stream_, request, asio::use_awaitable);
}

asio::awaitable<void> HttpClient::Receive(const Sink* sink, HttpReply& reply) {
  http::response_parser<http::buffer_body> parser;
  parser.body_limit(boost::none);
  co_await http::async_read_header(*stream_, received_, parser, asio::use_awaitable);
  reply.status = parser.get().result_int();
  const bool is_streamed = sink != nullptr && reply.status == 200;
  if (parser.content_length()) reply.body.reserve(*parser.content_length());
  std::array<char, 64 << 10> piece;
  while (!parser.is_done()) {
    auto& body = parser.get().body();
    body.data = piece.data();
    body.size = piece.size();
    beast::error_code error;
    if (is_streamed) {  // available bytes, without waiting for a full piece
      co_await http::async_read_some(*stream_, received_, parser,
                                     asio::redirect_error(asio::use_awaitable, error));
    } else {
      co_await http::async_read(*stream_, received_, parser,
                                asio::redirect_error(asio::use_awaitable, error));
    }
    if (error && error != http::error::need_buffer) throw boost::system::system_error(error);
    const std::string_view read(piece.data(), piece.size() - body.size);
    if (!is_streamed) {
      reply.body += read;
    } else if (!(*sink)(read)) {
      stream_.reset();
      co_return;
    }
  }
  if (!parser.keep_alive()) stream_.reset();
}

}  // namespace shortlist
