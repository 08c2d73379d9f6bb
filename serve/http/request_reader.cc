#include "serve/http/request_reader.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "serve/http/api_error.h"
#include "serve/http/target.h"

namespace shortlist {

namespace asio = boost::asio;
using error_code = HttpSocket::error_code;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kBodyWindow{10'000};  // in each, a body must reach the minimum rate
constexpr int64_t kMinBodyCapacity = 4 << 10;

absl::Status Gone() { return absl::CancelledError("the client has gone"); }

}  // namespace

/// Reads more bytes. The end of the connection here is an incomplete header or body.
asio::awaitable<absl::Status> HttpRequestReader::Fill() {
  const error_code error = co_await socket_.Read();
  if (!error) co_return absl::OkStatus();
  if (error == asio::error::eof) co_return HttpError(400, "the request ends before it is complete");
  if (socket_.timed_out()) co_return absl::DeadlineExceededError("");
  co_return Gone();
}

asio::awaitable<absl::Status> HttpRequestReader::ReadHead(HttpHeadParser& head) {
  while (true) {
    const absl::StatusOr<size_t> used = head.Feed(socket_.unread());
    if (!used.ok()) co_return used.status();
    socket_.Consume(*used);
    if (head.done()) co_return absl::OkStatus();
    absl::Status status = co_await Fill();
    if (!status.ok() && !absl::IsDeadlineExceeded(status) && !head.begun()) co_return Gone();
    if (!status.ok()) co_return status;
  }
}

asio::awaitable<absl::Status> HttpRequestReader::ReadHeader(HttpRequest& request) {
  body_.reset();
  keep_alive_ = false;
  is_http11_ = true;
  HttpHeadParser head(HttpHeadParser::Kind::kMessage,
                      {limits_.max_header_bytes, limits_.max_headers});
  socket_.Arm(limits_.header_timeout);
  absl::Status status = co_await ReadHead(head);
  socket_.Disarm();
  if (absl::IsDeadlineExceeded(status)) {
    co_return HttpError(
        408, absl::StrCat("the header took longer than ", limits_.header_timeout.count(), " ms"));
  }
  if (status.ok()) status = TakeHead(head, request);
  co_return status;
}

absl::Status HttpRequestReader::TakeHead(HttpHeadParser& head, HttpRequest& request) {
  SHORTLIST_ASSIGN_OR_RETURN(const HttpRequestLine line, HttpRequestLine::Parse(head.start_line()));
  is_http11_ = line.is_http11;
  request.method = line.method;
  request.headers = std::move(head.fields());
  if (const std::string_view id = request.Header("X-Request-Id"); IsSoundRequestId(id)) {
    request.id = id;
  }
  if (const std::string_view parent = request.Header("traceparent"); IsTraceparent(parent)) {
    request.traceparent = parent;
  }
  absl::StatusOr<HttpTarget> target = ParseHttpTarget(line.target);
  if (target.ok()) {
    request.path = std::move(target->path);
    request.query = std::move(target->query);
  }
  SHORTLIST_ASSIGN_OR_RETURN(body_,
                             FrameRequest(line.is_http11, request.headers, limits_.max_body_bytes));
  keep_alive_ = KeepsAlive(line.is_http11, request.headers);
  if (target.ok() && !target->authority.empty()) {
    // RFC 9112, 3.2.2: the target's authority counts, not the Host header.
    std::erase_if(request.headers,
                  [](const auto& field) { return absl::EqualsIgnoreCase(field.first, "Host"); });
    request.headers.emplace_back("Host", target->authority);
  }
  return target.status();
}

asio::awaitable<absl::Status> HttpRequestReader::ReadBody(HttpRequest& request) {
  if (complete()) co_return absl::OkStatus();
  absl::Status status = co_await AnswerExpectation(request);
  if (!status.ok()) co_return status;
  const milliseconds window = std::min(limits_.body_timeout, kBodyWindow);
  milliseconds left = limits_.body_timeout;
  const auto least = kLeastBytesPerSecond * window.count() / 1000;
  int64_t num_in_window = 0;
  socket_.Arm(window);
  left -= window;
  while (status.ok()) {
    num_in_window += std::ssize(socket_.unread());
    status = TakeBody(request.body);
    if (!status.ok() || complete()) break;
    status = co_await Fill();
    if (!absl::IsDeadlineExceeded(status)) continue;
    if (left.count() > 0 && num_in_window >= least) {
      num_in_window = 0;
      const milliseconds next = std::min(left, window);
      socket_.Arm(next);
      left -= next;
      status = absl::OkStatus();
    }
  }
  socket_.Disarm();
  if (absl::IsDeadlineExceeded(status)) {
    co_return HttpError(
        408, absl::StrCat("the body took longer than ", limits_.body_timeout.count(),
                          " ms, or came with less than ", kLeastBytesPerSecond, " bytes a second"));
  }
  co_return status;
}

/// Consumes the available bytes of the body.
absl::Status HttpRequestReader::TakeBody(std::string& body) {
  const std::string_view bytes = socket_.unread();
  if (bytes.empty()) return absl::OkStatus();
  const auto size = std::ssize(body), capacity = static_cast<int64_t>(body.capacity());
  const std::optional<int64_t> missing = body_->num_missing();
  // Decoded chunks may be shorter than their bytes, so reserve no more than these.
  const int64_t wanted =
      size + std::min(missing.value_or(limits_.max_body_bytes), static_cast<int64_t>(bytes.size()));
  if (wanted > capacity || size == 0) {  // a short string has capacity that was not reserved
    const int64_t most = missing.has_value() ? size + *missing : limits_.max_body_bytes;
    const int64_t grown = std::min(most, std::max({wanted, 2 * capacity, kMinBodyCapacity}));
    if (!reserve_(grown)) {
      return absl::UnavailableError("too many bytes of bodies wait here; try again");
    }
    body.reserve(static_cast<size_t>(grown));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const size_t used, body_->Feed(bytes, body));
  socket_.Consume(used);
  return absl::OkStatus();
}

/// Sends an interim reply to a client that waits for one.
asio::awaitable<absl::Status> HttpRequestReader::AnswerExpectation(const HttpRequest& request) {
  const std::string_view expected = request.Header("Expect");
  // RFC 9110, 10.1.1: HTTP/1.0 has no expectations.
  if (expected.empty() || !is_http11_) co_return absl::OkStatus();
  if (!absl::EqualsIgnoreCase(absl::string_view(expected.data(), expected.size()),
                              "100-continue")) {
    co_return HttpError(417, "Expect is not \"100-continue\"");
  }
  const HttpSocket::Written written = co_await socket_.Write(kContinue, limits_.write_timeout);
  co_return written.error ? Gone() : absl::OkStatus();
}

}  // namespace shortlist
