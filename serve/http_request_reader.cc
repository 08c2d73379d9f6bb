#include "serve/http_request_reader.h"

#include <boost/asio/error.hpp>
#include <boost/beast/http/error.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "serve/api_error.h"
#include "serve/http_target.h"

namespace shortlist {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using error_code = HttpSocket::error_code;

namespace {

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

/// Feeds the parser until it has the part. error::end_of_stream: the client ended its side instead
/// of beginning a request.
asio::awaitable<error_code> HttpRequestReader::Parse(Part part) {
  boost::beast::flat_buffer& buffer = socket_.buffer();
  parser_->eager(part == Part::kAll);
  while (part == Part::kAll ? !parser_->is_done() : !parser_->is_header_done()) {
    error_code error;
    if (buffer.size() > 0) {
      buffer.consume(parser_->put(buffer.data(), error));
      if (!error) continue;
      if (error != http::error::need_more) co_return error;
    }
    error = co_await socket_.Read();
    if (error == asio::error::eof) {
      error = {};
      if (!parser_->got_some()) co_return make_error_code(http::error::end_of_stream);
      parser_->put_eof(error);
    }
    if (error) co_return error;
  }
  co_return error_code();
}

/// What to tell a client whose request could not be read.
absl::Status HttpRequestReader::Refusal(const error_code& error) const {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return HttpError(
        431, absl::StrCat("request line and headers exceed ", limits_.max_header_bytes, " bytes"));
  }
  if (error == http::error::body_limit) {
    return HttpError(413, absl::StrCat("the body exceeds ", limits_.max_body_bytes, " bytes"));
  }
  if (error == http::error::partial_message) {
    return HttpError(400, "the request ends before it is complete");
  }
  if (error == http::error::end_of_stream ||
      error.category() != make_error_code(http::error::bad_method).category()) {
    return absl::CancelledError("the client has gone");
  }
  return HttpError(400, absl::StrCat("no HTTP request: ", error.message()));
}

asio::awaitable<absl::Status> HttpRequestReader::ReadHeader(HttpRequest& request) {
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(limits_.max_header_bytes));
  parser_->body_limit(static_cast<uint64_t>(limits_.max_body_bytes));
  socket_.Arm(limits_.header_timeout);
  const error_code error = co_await Parse(Part::kHeader);
  socket_.Disarm();
  if (error && socket_.timed_out()) {
    co_return HttpError(
        408, absl::StrCat("the header took longer than ", limits_.header_timeout.count(), " ms"));
  }
  if (error == http::error::body_limit) TakeHeader(request).IgnoreError();
  if (error) co_return Refusal(error);
  co_return TakeHeader(request);
}

absl::Status HttpRequestReader::TakeHeader(HttpRequest& request) const {
  const auto& header = parser_->get();
  request.method = std::string(View(header.method_string()));
  for (const auto& field : header) {
    request.headers.emplace_back(std::string(View(field.name_string())),
                                 std::string(View(field.value())));
  }
  if (const std::string_view id = request.Header("X-Request-Id"); IsSoundRequestId(id)) {
    request.id = id;
  }
  if (const std::string_view parent = request.Header("traceparent"); IsTraceparent(parent)) {
    request.traceparent = parent;
  }
  SHORTLIST_ASSIGN_OR_RETURN(HttpTarget target, ParseHttpTarget(View(header.target())));
  request.path = std::move(target.path);
  request.query = std::move(target.query);
  if (std::ssize(request.headers) > limits_.max_headers) {
    return HttpError(
        431, absl::StrCat(request.headers.size(), " headers, more than ", limits_.max_headers));
  }
  return absl::OkStatus();
}

asio::awaitable<absl::Status> HttpRequestReader::ReadBody(HttpRequest& request) {
  if (complete()) co_return absl::OkStatus();
  error_code error;
  if (request.Header("Expect") == "100-continue") {
    const HttpSocket::Written written =
        co_await socket_.Write("HTTP/1.1 100 Continue\r\n\r\n", limits_.write_timeout);
    error = written.error;
  }
  if (!error) {
    socket_.Arm(limits_.body_timeout);
    error = co_await Parse(Part::kAll);
    socket_.Disarm();
    if (error && socket_.timed_out()) {
      co_return HttpError(
          408, absl::StrCat("the body took longer than ", limits_.body_timeout.count(), " ms"));
    }
  }
  if (error) co_return Refusal(error);
  request.body = std::move(parser_->get().body());
  co_return absl::OkStatus();
}

}  // namespace shortlist
