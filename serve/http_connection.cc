#include "serve/http_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/http_target.h"

namespace shortlist {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

using boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr size_t kReadBytes = 16 << 10;
constexpr size_t kMaxPipelinedBytes = 64 << 10;  // taken in while a handler runs
// Of a request that was refused before its body was read: what is swallowed so that the client, who
// is still writing, comes to read the reply.
constexpr size_t kMaxSwallowedBytes = size_t{64} << 20;
constexpr std::chrono::seconds kMaxSwallowTime{2};

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

/// The error that a reply tells about a request that could not be read; nullopt: say nothing.
std::optional<absl::Status> ReadError(const error_code& error, const HttpLimits& limits) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return HttpError(
        431, absl::StrCat("request line and headers exceed ", limits.max_header_bytes, " bytes"));
  }
  if (error == http::error::body_limit) {
    return HttpError(413, absl::StrCat("the body exceeds ", limits.max_body_bytes, " bytes"));
  }
  if (error == http::error::partial_message) {
    return HttpError(400, "the request ends before it is complete");
  }
  if (error == http::error::end_of_stream ||
      error.category() != make_error_code(http::error::bad_method).category()) {
    return std::nullopt;
  }
  return HttpError(400, absl::StrCat("no HTTP request: ", error.message()));
}

}  // namespace

/// One connection, kept alive by its own coroutine.
class HttpConnection final : public HttpResponse,
                             public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(asio::ip::tcp::socket socket, std::shared_ptr<HttpConnections> connections)
      : socket_(std::move(socket)),
        deadline_(socket_.get_executor()),
        owned_connections_(std::move(connections)),
        connections_(*owned_connections_),
        limits_(connections_.options.limits) {
    connections_.open.insert(this);
  }
  ~HttpConnection() override { connections_.open.erase(this); }

  asio::awaitable<void> Run();
  asio::awaitable<void> Refuse();

  /// Ends now if nothing is being answered.
  void Drain() {
    if (waiting_) Close();
  }
  void Close() {
    error_code ignored;
    socket_.close(ignored);
    Disarm();
  }

  void SetHeader(std::string_view name, std::string value) override {
    headers_ += absl::StrCat(std::string(name), ": ", value, "\r\n");
  }
  asio::awaitable<void> Send(int status, std::string_view content_type, std::string body) override;
  asio::awaitable<void> StartStream(std::string_view content_type) override;
  asio::awaitable<void> Write(std::string bytes) override;
  bool started() const override { return started_; }
  RequestRecord& record() override { return record_; }

 private:
  using Parser = http::request_parser<http::string_body>;

  asio::awaitable<bool> WaitForRequest();
  bool ClientEnded();
  asio::awaitable<void> ReadRequest();
  asio::awaitable<void> ReadBody();
  asio::awaitable<void> Answer();
  asio::awaitable<void> RunHandler();
  asio::awaitable<void> Watch();
  asio::awaitable<void> SendError(absl::Status status);
  asio::awaitable<void> WriteAll(std::string bytes);
  asio::awaitable<void> EndReply();
  asio::awaitable<void> Swallow();
  absl::Status Accept();
  absl::Status TakeHeader();
  std::string Head(int status, std::string_view content_type) const;
  void Arm(std::chrono::milliseconds time);
  void Disarm() {
    ++deadline_number_;
    deadline_.cancel();
  }
  void Done();

  asio::ip::tcp::socket socket_;
  asio::steady_timer deadline_;
  uint64_t deadline_number_ = 0;  // of the one that counts
  const std::shared_ptr<HttpConnections> owned_connections_;
  HttpConnections& connections_;
  const HttpLimits& limits_;
  boost::beast::flat_buffer buffer_;
  bool waiting_ = false;    // for the first byte of a request
  bool timed_out_ = false;  // the deadline has passed, which closed the socket or cancelled a read
  bool keep_alive_ = true;

  // Of the request being served.
  std::optional<Parser> parser_;
  HttpRequest request_;
  const Route* route_ = nullptr;
  absl::Status refusal_;  // why it is not handled
  RequestRecord record_;
  std::string headers_;  // further ones of the reply
  bool started_ = false;
  bool streaming_ = false;
  bool failed_ = false;  // the handler ended badly inside a stream
  bool client_gone_ = false;
};

void HttpConnection::Arm(std::chrono::milliseconds time) {
  deadline_.expires_after(time);
  // A wait that has run out is told so even if it was cancelled before this could be told.
  deadline_.async_wait([weak = weak_from_this(), number = ++deadline_number_](error_code error) {
    const std::shared_ptr<HttpConnection> self = weak.lock();
    if (error || !self || self->deadline_number_ != number) return;
    self->timed_out_ = true;
    self->socket_.cancel(error);
  });
}

asio::awaitable<void> HttpConnection::Run() {
  co_await asio::this_coro::throw_if_cancelled(false);
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  while (keep_alive_) {
    const bool has_request = co_await WaitForRequest();
    if (!has_request) break;
    co_await ReadRequest();
    ++connections_.num_requests;
    co_await Answer();
    --connections_.num_requests;
    if (connections_.draining) keep_alive_ = false;
  }
  Close();
}

asio::awaitable<void> HttpConnection::Refuse() {
  keep_alive_ = false;
  request_.id = NewRequestId();
  SetHeader("Retry-After", "1");
  co_await SendError(
      HttpError(503, absl::StrCat("all ", limits_.max_connections, " connections are taken")));
  co_await Swallow();
  Close();
}

/// True when the client has ended its side and nothing is left to read. Asked before waiting to
/// read: after a short read Asio waits for a change, and the end that came together with the bytes
/// is none.
bool HttpConnection::ClientEnded() {
  char next;
  return ::recv(socket_.native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/// False when there will be none.
asio::awaitable<bool> HttpConnection::WaitForRequest() {
  if (connections_.draining && buffer_.size() == 0) co_return false;
  if (buffer_.size() > 0) co_return true;
  if (ClientEnded()) co_return false;
  waiting_ = true;
  Arm(limits_.idle_timeout);
  const auto [error, count] = co_await socket_.async_read_some(buffer_.prepare(kReadBytes), kTuple);
  Disarm();
  waiting_ = false;
  buffer_.commit(count);
  co_return !error;
}

/// Reads one request into request_, or says in refusal_ why not. A client that fell silent has
/// client_gone_ set.
asio::awaitable<void> HttpConnection::ReadRequest() {
  request_ = {};
  request_.arrival = Clock::now();
  request_.id = NewRequestId();
  record_ = {};
  headers_.clear();
  refusal_ = absl::OkStatus();
  route_ = nullptr;
  started_ = streaming_ = failed_ = client_gone_ = timed_out_ = false;

  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(limits_.max_header_bytes));
  parser_->body_limit(static_cast<uint64_t>(limits_.max_body_bytes));
  Arm(limits_.header_timeout);
  const auto [error, count] = co_await http::async_read_header(socket_, buffer_, *parser_, kTuple);
  Disarm();
  if (error) {
    keep_alive_ = false;
    const bool has_header = error == http::error::body_limit;
    if (timed_out_) {
      refusal_ = HttpError(
          408, absl::StrCat("the header took longer than ", limits_.header_timeout.count(), " ms"));
    } else if (const std::optional<absl::Status> problem = ReadError(error, limits_)) {
      refusal_ = *problem;
      if (has_header) TakeHeader().IgnoreError();
    } else {
      client_gone_ = true;
    }
    co_return;
  }
  refusal_ = TakeHeader();
  if (refusal_.ok()) refusal_ = Accept();
  keep_alive_ = parser_->keep_alive();
  if (parser_->is_done()) co_return;
  if (refusal_.ok()) {
    co_await ReadBody();
  } else {
    keep_alive_ = false;  // its body stands between it and the next request
  }
}

/// What the header says, before the body is there.
absl::Status HttpConnection::TakeHeader() {
  const auto& header = parser_->get();
  request_.method = std::string(View(header.method_string()));
  for (const auto& field : header) {
    request_.headers.emplace_back(std::string(View(field.name_string())),
                                  std::string(View(field.value())));
  }
  if (const std::string_view id = request_.Header("X-Request-Id"); IsSoundRequestId(id)) {
    request_.id = id;
  }
  if (const std::string_view parent = request_.Header("traceparent"); IsTraceparent(parent)) {
    request_.traceparent = parent;
  }
  absl::StatusOr<HttpTarget> target = ParseHttpTarget(View(header.target()));
  if (!target.ok()) return target.status();
  request_.path = std::move(target->path);
  request_.query = std::move(target->query);
  RouteTable::Match match = connections_.routes.Find(request_.method, request_.path);
  if (match.route == nullptr && match.allow.empty()) {
    return absl::NotFoundError(absl::StrCat("no route ", request_.path.substr(0, 200)));
  }
  if (match.route == nullptr) {
    SetHeader("Allow", match.allow);
    return HttpError(405, absl::StrCat(request_.path.substr(0, 200), " takes ", match.allow));
  }
  route_ = match.route;
  request_.parameter = std::move(match.parameter);
  return absl::OkStatus();
}

/// Whether the request may have its body read.
absl::Status HttpConnection::Accept() {
  if (std::ssize(request_.headers) > limits_.max_headers) {
    return HttpError(
        431, absl::StrCat(request_.headers.size(), " headers, more than ", limits_.max_headers));
  }
  const HttpServer::Options& options = connections_.options;
  if (options.authorize) {
    if (absl::Status status = options.authorize(*route_, request_); !status.ok()) return status;
  }
  if (!request_.Header("Content-Encoding").empty()) {
    return HttpError(415, "bodies with a Content-Encoding are not taken");
  }
  if (route_->takes_json && !IsJsonType(request_.Header("Content-Type"))) {
    return HttpError(415, "Content-Type must be application/json");
  }
  return absl::OkStatus();
}

asio::awaitable<void> HttpConnection::ReadBody() {
  Arm(limits_.body_timeout);
  error_code problem;
  if (request_.Header("Expect") == "100-continue") {
    const auto [error, count] = co_await asio::async_write(
        socket_, asio::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")), kTuple);
    problem = error;
  }
  if (!problem) {
    const auto [error, count] = co_await http::async_read(socket_, buffer_, *parser_, kTuple);
    problem = error;
  }
  Disarm();
  if (!problem) {
    request_.body = std::move(parser_->get().body());
    co_return;
  }
  keep_alive_ = false;
  if (timed_out_) {
    refusal_ = HttpError(
        408, absl::StrCat("the body took longer than ", limits_.body_timeout.count(), " ms"));
  } else if (const std::optional<absl::Status> error = ReadError(problem, limits_)) {
    refusal_ = *error;
  } else {
    client_gone_ = true;
  }
}

/// Sends the one reply to the request.
asio::awaitable<void> HttpConnection::Answer() {
  using asio::experimental::awaitable_operators::operator||;
  record_.id = request_.id;
  record_.traceparent = request_.traceparent;
  record_.method = request_.method;
  record_.route = route_ == nullptr ? "" : route_->path;
  if (!client_gone_) {
    SetHeader("X-Request-Id", request_.id);
    if (!request_.traceparent.empty()) SetHeader("traceparent", request_.traceparent);
    if (!refusal_.ok()) {
      co_await SendError(refusal_);
    } else {
      co_await (RunHandler() || Watch());
    }
    if (socket_.is_open()) co_await EndReply();
  }
  if (client_gone_ || failed_) keep_alive_ = false;
  Done();
  parser_.reset();
  if (!keep_alive_ && !client_gone_) co_await Swallow();
}

void HttpConnection::Done() {
  if (record_.status == 0) record_.status = 499;
  record_.client_gone = client_gone_;
  record_.seconds = std::chrono::duration<double>(Clock::now() - request_.arrival).count();
  if (connections_.options.on_done) connections_.options.on_done(record_);
}

/// Never throws. Where it was cancelled, what it left undone stays undone.
asio::awaitable<void> HttpConnection::RunHandler() {
  absl::Status status;
  try {
    status = co_await route_->handler(request_, *this);
    if (status.ok() && !started_) status = absl::InternalError("the handler sent nothing");
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    status = absl::InternalError(error.what());
  }
  if (status.ok() || client_gone_) co_return;
  if (record_.error_code.empty()) record_.error_code = CodeOf(status);
  failed_ = started_;
  if (started_) co_return;
  refusal_ = std::move(status);
}

/// Ends when the client has gone. What it sends meanwhile is the beginning of its next request.
asio::awaitable<void> HttpConnection::Watch() {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (buffer_.size() < kMaxPipelinedBytes) {
    const auto [error, count] =
        co_await socket_.async_read_some(buffer_.prepare(kReadBytes), kTuple);
    buffer_.commit(count);
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) co_return;
    if (error) {
      client_gone_ = true;
      co_return;
    }
  }
  asio::steady_timer forever(socket_.get_executor(), asio::steady_timer::time_point::max());
  co_await forever.async_wait(kTuple);
}

std::string HttpConnection::Head(int status, std::string_view content_type) const {
  const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)));
  return absl::StrCat("HTTP/1.1 ", status, " ", std::string(View(reason)),
                      "\r\nServer: shortlist\r\nContent-Type: ", std::string(content_type), "\r\n",
                      headers_,
                      keep_alive_ && !connections_.draining ? "" : "Connection: close\r\n");
}

asio::awaitable<void> HttpConnection::WriteAll(std::string bytes) {
  Arm(limits_.write_timeout);
  const auto [error, count] = co_await asio::async_write(socket_, asio::buffer(bytes), kTuple);
  Disarm();
  record_.response_bytes += static_cast<int64_t>(count);
  if (!error) co_return;
  client_gone_ = true;
  throw boost::system::system_error(error);
}

asio::awaitable<void> HttpConnection::Send(int status, std::string_view content_type,
                                           std::string body) {
  started_ = true;
  record_.status = status;
  std::string reply = Head(status, content_type);
  absl::StrAppend(&reply, "Content-Length: ", body.size(), "\r\n\r\n");
  if (request_.method != "HEAD") reply += body;
  co_await WriteAll(std::move(reply));
}

asio::awaitable<void> HttpConnection::StartStream(std::string_view content_type) {
  started_ = streaming_ = true;
  record_.status = 200;
  const bool chunked = parser_->get().version() >= 11;
  if (!chunked) keep_alive_ = false;
  std::string head = Head(200, content_type);
  absl::StrAppend(&head, "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n",
                  chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
  co_await WriteAll(std::move(head));
}

asio::awaitable<void> HttpConnection::Write(std::string bytes) {
  if (bytes.empty() || request_.method == "HEAD") co_return;
  if (parser_->get().version() >= 11) {
    bytes = absl::StrCat(absl::Hex(bytes.size()), "\r\n", bytes, "\r\n");
  }
  co_await WriteAll(std::move(bytes));
}

asio::awaitable<void> HttpConnection::SendError(absl::Status status) {
  const int code = HttpStatusOf(status);
  record_.error_code = CodeOf(status);
  if (code == 401) SetHeader("WWW-Authenticate", "Bearer");
  if (code == 429 || code == 503) SetHeader("Retry-After", "1");
  const ErrorBody body = route_ == nullptr ? OpenAiErrorBody : route_->error_body;
  try {
    co_await Send(code, kJsonType, body(status));
  } catch (const boost::system::system_error&) {
    // client_gone_ says so
  }
}

/// What the handler left to be sent: the error it ended with, or the end of its stream.
asio::awaitable<void> HttpConnection::EndReply() {
  if (client_gone_ || failed_) co_return;
  if (!started_) {
    co_await SendError(refusal_);
  } else if (streaming_ && parser_->get().version() >= 11 && request_.method != "HEAD") {
    try {
      co_await WriteAll("0\r\n\r\n");
    } catch (const boost::system::system_error&) {
      // client_gone_ says so
    }
  }
}

/// Lets the client finish writing, for a while, so that no reset destroys the reply before it has
/// been read.
asio::awaitable<void> HttpConnection::Swallow() {
  error_code problem;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, problem);
  if (problem) co_return;
  Arm(kMaxSwallowTime);
  buffer_.consume(buffer_.size());
  for (size_t swallowed = 0; swallowed < kMaxSwallowedBytes && !timed_out_;) {
    const auto [error, count] =
        co_await socket_.async_read_some(buffer_.prepare(kReadBytes), kTuple);
    if (error) break;
    swallowed += count;
  }
  Disarm();
}

void ServeConnection(asio::ip::tcp::socket socket, std::shared_ptr<HttpConnections> connections) {
  const auto executor = socket.get_executor();
  const int64_t num_open = std::ssize(connections->open);
  const bool refused = num_open >= connections->options.limits.max_connections;
  auto connection = std::make_shared<HttpConnection>(std::move(socket), std::move(connections));
  HttpConnection& served = *connection;
  asio::co_spawn(executor, refused ? served.Refuse() : served.Run(),
                 [connection = std::move(connection)](std::exception_ptr) {});
}

void DrainConnections(HttpConnections& connections) {
  connections.draining = true;
  const std::vector<HttpConnection*> open(connections.open.begin(), connections.open.end());
  for (HttpConnection* connection : open) connection->Drain();
}

void CloseConnections(HttpConnections& connections) {
  connections.draining = true;
  const std::vector<HttpConnection*> open(connections.open.begin(), connections.open.end());
  for (HttpConnection* connection : open) connection->Close();
}

}  // namespace shortlist
