#include "serve/http/fetcher.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "serve/http/public_address.h"
#include "serve/http/reply_reader.h"

namespace shortlist {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::awaitable;

namespace {

using Clock = std::chrono::steady_clock;
using TlsStream = asio::ssl::stream<beast::tcp_stream>;

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr size_t kReadBytes = 64 << 10;

absl::Status Failed(const boost::system::error_code& error) {
  if (error == beast::error::timeout) return absl::DeadlineExceededError("no answer in time");
  return absl::UnavailableError(error.message());
}

/// Returns the address if `host` is a literal one.
std::optional<asio::ip::address> Literal(const std::string& host) {
  boost::system::error_code error;
  const asio::ip::address address = asio::ip::make_address(host, error);
  if (error) return std::nullopt;
  return address;
}

template <typename Stream>
awaitable<absl::Status> Fill(Stream& stream, std::string& text) {
  const size_t before = text.size();
  text.resize(before + kReadBytes);
  const auto [error, count] =
      co_await stream.async_read_some(asio::buffer(text.data() + before, kReadBytes), kTuple);
  text.resize(before + count);
  if (!error) co_return absl::OkStatus();
  if (error == asio::error::eof) co_return absl::OutOfRangeError("the reply is not complete");
  co_return Failed(error);
}

/// Sends a request over a connection and reads the reply.
template <typename Stream>
awaitable<absl::StatusOr<std::string>> Exchange(Stream& stream, const WebUrl& url,
                                                int64_t max_bytes) {
  const std::string request =
      absl::StrCat("GET ", url.target, " HTTP/1.1\r\nHost: ", url.authority.Text(),
                   "\r\nUser-Agent: shortlist\r\nAccept: image/*\r\nAccept-Encoding: identity\r\n"
                   "Connection: close\r\n\r\n");
  const auto [error, count] = co_await asio::async_write(stream, asio::buffer(request), kTuple);
  if (error) co_return Failed(error);
  const ReadMore read_more = [&stream](std::string& text) { return Fill(stream, text); };
  co_return co_await ReadReply(read_more, max_bytes);
}

}  // namespace

struct Fetcher::Tls {
  Tls() {
    context.set_default_verify_paths();
    context.set_verify_mode(asio::ssl::verify_peer);
    context.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                        asio::ssl::context::no_tlsv1_1);
  }
  asio::ssl::context context{asio::ssl::context::tls_client};
};

Fetcher::Fetcher(asio::any_io_executor executor, Options options)
    : options_(std::move(options)),
      limit_(std::move(executor), options_.num_turns),
      tls_(std::make_unique<Tls>()) {}

Fetcher::~Fetcher() = default;

absl::StatusOr<std::unique_ptr<Fetcher>> Fetcher::Create(asio::any_io_executor executor,
                                                         Options options) {
  std::unique_ptr<Fetcher> fetcher(new Fetcher(std::move(executor), std::move(options)));
  for (const std::string& text : fetcher->options_.hosts) {
    auto host = UrlAuthority::Parse(text);
    const bool is_host = host.ok() && std::ranges::all_of(text, IsUrlCharacter) &&
                         text.find_first_of("/?#\\*,") == text.npos;
    if (!is_host) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", absl::string_view(text).substr(0, 200), "\" is neither a host nor host:port",
          host.ok() ? "" : ": ", host.ok() ? "" : host.status().message()));
    }
    absl::AsciiStrToLower(&host->host);
    fetcher->hosts_.push_back(*std::move(host));
  }
  return fetcher;
}

bool Fetcher::Lists(const WebUrl& url) const {
  const std::string& port = url.authority.port;
  const bool is_usual = port == (url.is_tls ? "443" : "80");
  return std::ranges::any_of(hosts_, [&](const UrlAuthority& listed) {
    return listed.host == url.authority.host &&
           (listed.port.empty() ? is_usual : listed.port == port);
  });
}

awaitable<absl::StatusOr<Endpoints>> Fetcher::Find(const UrlAuthority& authority,
                                                   Clock::time_point deadline) {
  if (const auto address = Literal(authority.host)) {
    co_return Endpoints{{*address, static_cast<uint16_t>(std::stoi(authority.port))}};
  }
  HostLookup& lookup =
      lookups_.try_emplace(authority.Text(), authority.host, authority.port, options_.resolve)
          .first->second;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  absl::StatusOr<Endpoints> endpoints = co_await lookup.Run(left);
  if (!endpoints.ok()) co_return endpoints;
  std::erase_if(*endpoints,
                [](const auto& endpoint) { return !IsPublicAddress(endpoint.address()); });
  if (endpoints->empty()) co_return absl::UnavailableError("has no public address");
  co_return endpoints;
}

Fetcher::Turn::~Turn() {
  if (!ticket_) return;
  const auto found = fetcher_.num_turns_of_.find(client_);
  if (--found->second == 0) fetcher_.num_turns_of_.erase(found);
}

awaitable<absl::Status> Fetcher::Turn::Wait() {
  const int64_t most = std::max<int64_t>(fetcher_.limit_.limit() / 2, 1);
  const auto found = fetcher_.num_turns_of_.find(client_);
  if (found == fetcher_.num_turns_of_.end() || found->second < most) {
    ++fetcher_.num_turns_of_[client_];
    ticket_.emplace(fetcher_.limit_, client_);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now());
    if (co_await ticket_->WaitWithin(left)) co_return absl::OkStatus();
  }
  co_return absl::ResourceExhaustedError(
      "too many requests with addresses of pictures are being served");
}

awaitable<absl::StatusOr<std::string>> Fetcher::Turn::GetFrom(const WebUrl& url) {
  const auto& options = fetcher_.options_;
  const Deadline deadline = std::min(end_, Clock::now() + options.timeout);
  const absl::StatusOr<Endpoints> endpoints = co_await fetcher_.Find(url.authority, deadline);
  if (!endpoints.ok()) co_return endpoints.status();
  const int64_t max_bytes = std::min(options.max_bytes, num_left_);

  beast::tcp_stream stream(co_await asio::this_coro::executor);
  stream.expires_at(deadline);
  const auto [connect_error, endpoint] = co_await stream.async_connect(*endpoints, kTuple);
  if (connect_error) co_return Failed(connect_error);
  if (!url.is_tls) co_return co_await Exchange(stream, url, max_bytes);

  TlsStream tls(std::move(stream), fetcher_.tls_->context);
  const std::string& host = url.authority.host;
  tls.set_verify_callback(asio::ssl::host_name_verification(host));
  // A literal address is not a valid server name (RFC 6066).
  if (!Literal(host)) SSL_set_tlsext_host_name(tls.native_handle(), host.c_str());
  const auto [tls_error] = co_await tls.async_handshake(asio::ssl::stream_base::client, kTuple);
  if (tls_error) co_return Failed(tls_error);
  co_return co_await Exchange(tls, url, max_bytes);
}

absl::Status Fetcher::Check(const std::string& text) const {
  SHORTLIST_ASSIGN_OR_RETURN(const WebUrl url, WebUrl::Parse(text));
  if (Lists(url)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("an address of ",
                                                 url.authority.Text().substr(0, 200),
                                                 ", which is none of --image-url-hosts"));
}

awaitable<absl::StatusOr<std::string>> Fetcher::Turn::Get(std::string text) {
  if (absl::Status status = fetcher_.Check(text); !status.ok()) co_return status;
  const WebUrl url = *WebUrl::Parse(text);
  absl::StatusOr<std::string> body = co_await GetFrom(url);
  if (!body.ok()) {
    co_return absl::InvalidArgumentError(
        absl::StrCat(url.authority.Text(), ": ", body.status().message()));
  }
  num_left_ -= std::ssize(*body);
  co_return body;
}

}  // namespace shortlist
