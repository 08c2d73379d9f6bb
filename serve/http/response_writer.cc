#include "serve/http/response_writer.h"

#include <boost/beast/http/status.hpp>
#include <boost/system/system_error.hpp>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace shortlist {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

constexpr int64_t kLargeReplyBytes = 64 << 10;

}  // namespace

namespace {

constexpr size_t kMaxMessageBytes = 240;  // of an error, which may repeat client input

/// Returns "Sun, 06 Nov 1994 08:49:37 GMT", formatted once per second.
const std::string& DateNow() {
  thread_local time_t second = 0;
  thread_local std::string date;
  if (const time_t now = time(nullptr); date.empty() || now != second) {
    second = now;
    date =
        absl::FormatTime("%a, %d %b %E4Y %H:%M:%S GMT", absl::FromTimeT(now), absl::UTCTimeZone());
  }
  return date;
}

/// Returns `status` with a long message cut to its beginning.
absl::Status Shortened(absl::Status status) {
  const absl::string_view message = status.message();
  if (message.size() <= kMaxMessageBytes) return status;
  size_t end = kMaxMessageBytes;
  while (end > 0 && (message[end] & 0xc0) == 0x80) --end;  // not inside a code point
  absl::Status shortened(status.code(), absl::StrCat(message.substr(0, end), "..."));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    shortened.SetPayload(type, payload);
  });
  return shortened;
}

}  // namespace

void HttpResponseWriter::SetHeader(std::string_view name, std::string value) {
  headers_ += absl::StrCat(std::string(name), ": ", value, "\r\n");
}

std::string HttpResponseWriter::Head(int status, std::string_view content_type) const {
  const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)));
  return absl::StrCat(
      "HTTP/1.1 ", status, " ", std::string(reason.data(), reason.size()),
      "\r\nServer: shortlist\r\nDate: ", DateNow(),
      "\r\nX-Content-Type-Options: nosniff\r\nContent-Type: ", std::string(content_type), "\r\n",
      headers_, keep_alive() ? "" : "Connection: close\r\n");
}

asio::awaitable<void> HttpResponseWriter::WriteAll(std::string bytes) {
  const HttpSocket::Written written = co_await socket_.Write(bytes, options_.write_timeout);
  record_.response_bytes += static_cast<int64_t>(written.count);
  if (!written.error) co_return;
  record_.client_gone = true;
  throw boost::system::system_error(written.error);
}

asio::awaitable<void> HttpResponseWriter::Send(int status, std::string_view content_type,
                                               std::string body) {
  const bool is_held = std::ssize(body) > kLargeReplyBytes && options_.hold;
  if (is_held && !options_.hold(std::ssize(body))) {
    const absl::Status refusal =
        HttpError(503, "too many bytes of replies wait for your address, or for all, to be read");
    status = HttpStatusOf(refusal);
    record_.error_code = CodeOf(refusal);
    content_type = kJsonType;
    body = options_.error_body(refusal);
  }
  started_ = true;
  record_.status = status;
  std::string reply = Head(status, content_type);
  absl::StrAppend(&reply, "Content-Length: ", body.size(), "\r\n\r\n");
  if (options_.has_body) reply += body;
  body = std::string();
  co_await WriteAll(std::move(reply));
}

asio::awaitable<void> HttpResponseWriter::StartStream(std::string_view content_type) {
  started_ = streaming_ = true;
  record_.status = 200;
  if (!options_.chunks) options_.keep_alive = false;
  std::string head = Head(200, content_type);
  absl::StrAppend(&head, "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n",
                  options_.chunks ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
  co_await WriteAll(std::move(head));
}

asio::awaitable<void> HttpResponseWriter::Write(std::string bytes) {
  if (bytes.empty() || !options_.has_body) co_return;
  if (options_.chunks) bytes = absl::StrCat(absl::Hex(bytes.size()), "\r\n", bytes, "\r\n");
  co_await WriteAll(std::move(bytes));
}

asio::awaitable<void> HttpResponseWriter::SendError(absl::Status status, ErrorBody body) {
  status = Shortened(std::move(status));
  const int code = HttpStatusOf(status);
  record_.error_code = CodeOf(status);
  if (code == 401) SetHeader("WWW-Authenticate", "Bearer");
  if (code == 429 || code == 503) SetHeader("Retry-After", "1");
  try {
    std::string text = body(status);
    co_await Send(code, kJsonType, std::move(text));
  } catch (const boost::system::system_error&) {
    // Noted in record_.
  }
}

asio::awaitable<void> HttpResponseWriter::Finish() {
  if (!streaming_ || !options_.chunks || !options_.has_body || record_.client_gone) co_return;
  try {
    co_await WriteAll("0\r\n\r\n");
  } catch (const boost::system::system_error&) {
    // Noted in record_.
  }
}

}  // namespace shortlist
