#include "serve/http/connection.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "serve/http/request_reader.h"
#include "serve/http/response_writer.h"
#include "serve/http/socket.h"
#include "serve/http/target.h"

namespace shortlist {

namespace asio = boost::asio;

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxPipelinedBytes = 64 << 10;        // buffered while a handler runs
constexpr size_t kMaxDroppedBytes = size_t{64} << 20;  // dropped beyond that, while it runs

/// True for the routes that show whether the server is alive.
bool IsVital(std::string_view path) { return path == "/health" || path == "/metrics"; }

}  // namespace

/// One connection, owned by its own coroutine.
class HttpConnection {
 public:
  HttpConnection(asio::ip::tcp::socket socket, std::shared_ptr<HttpConnections> connections)
      : socket_(std::make_shared<HttpSocket>(std::move(socket), connections->time)),
        owned_connections_(std::move(connections)),
        connections_(*owned_connections_),
        limits_(connections_.options.limits),
        place_(connections_.admission, socket_->peer(), [this] { socket_->Close(); }),
        reader_(*socket_, limits_, [this](int64_t bytes) { return place_.SetBody(bytes); }) {
    connections_.open.insert(this);
  }
  ~HttpConnection() { connections_.open.erase(this); }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  asio::awaitable<void> Run();
  /// Runs in place of Run() if there are too many connections.
  asio::awaitable<void> Refuse();
  HttpAdmission::Kind kind() const { return place_.kind(); }

  /// Ends now if no request is being answered.
  void Drain() {
    if (waiting_) socket_->Close();
  }
  /// Ends the connection as described at HttpServer::Close.
  void Close();

 private:
  /// State of the connection, as far as Close() distinguishes it.
  enum class Phase {
    kOther,
    kUnanswered,  // a request is being read or handled; its reply has not started
    kAnswering,   // its reply has started
    kSwallowing,  // the kernel has the reply; the rest of the request is being dropped
  };
  Phase phase() const;
  asio::awaitable<bool> WaitForRequest();
  asio::awaitable<absl::Status> ReadRequest();
  void ReleaseBody();
  absl::Status FindRoute();
  absl::Status Accept();
  absl::Status Authorize();
  absl::Status TooMany() const;
  asio::awaitable<bool> Answer(absl::Status refusal);
  asio::awaitable<void> RunHandler(HttpResponseWriter& reply, absl::Status& failure);
  asio::awaitable<void> Watch(HttpResponseWriter& reply);
  void BeginRecord(RequestRecord& record) const;
  void Done(RequestRecord& record) const;

  const std::shared_ptr<HttpSocket> socket_;
  const std::shared_ptr<HttpConnections> owned_connections_;
  HttpConnections& connections_;
  const HttpLimits& limits_;
  HttpAdmission::Place place_;
  HttpRequestReader reader_;
  bool waiting_ = false;  // for the first byte of a request

  // State of the request being served.
  HttpRequest request_;
  RouteTable::Match match_;
  bool is_last_ = false;  // end the connection after this request: the client may be sending more
  bool is_reading_ = false;
  HttpResponseWriter* reply_ = nullptr;  // null: no reply is due
  bool is_swallowing_ = false;
  bool is_cut_ = false;  // Close() ended the request, not the client
};

HttpConnection::Phase HttpConnection::phase() const {
  if (is_swallowing_) return Phase::kSwallowing;
  if (is_reading_) return Phase::kUnanswered;
  if (reply_ == nullptr) return Phase::kOther;
  return reply_->started() ? Phase::kAnswering : Phase::kUnanswered;
}

void HttpConnection::Close() {
  switch (phase()) {
    case Phase::kUnanswered:
      // Ends the coroutine that reads or watches the client; then the reply is sent.
      is_cut_ = true;
      return socket_->CancelReads();
    case Phase::kAnswering:
      is_cut_ = is_cut_ || !reply_->record().client_gone;
      return socket_->Close();
    case Phase::kSwallowing:  // takes limited time, and a reset could destroy the reply
      return;
    case Phase::kOther:
      return socket_->Close();
  }
}

asio::awaitable<void> HttpConnection::Run() {
  co_await asio::this_coro::throw_if_cancelled(false);
  bool keep_alive = true;
  while (keep_alive) {
    const bool has_request = co_await WaitForRequest();
    if (!has_request) break;
    is_reading_ = true;
    absl::Status refusal = co_await ReadRequest();
    is_reading_ = false;
    if (is_cut_ && !refusal.ok()) refusal = ShuttingDown();
    ++connections_.num_requests;
    keep_alive = co_await Answer(std::move(refusal));
    --connections_.num_requests;
    ReleaseBody();
    request_ = {};
    // Requests that are buffered already are read without waiting, so yield here.
    co_await socket_->Yield();
  }
  socket_->Close();
}

asio::awaitable<void> HttpConnection::Refuse() {
  HttpResponseWriter reply(*socket_, connections_.draining,
                           {.keep_alive = false, .write_timeout = limits_.write_timeout});
  reply.SetHeader("X-Request-Id", NewRequestId());
  absl::Status refusal = TooMany();
  co_await reply.SendError(std::move(refusal), OpenAiErrorBody);
  co_await socket_->Swallow();
  socket_->Close();
}

absl::Status HttpConnection::TooMany() const {
  return HttpError(503, "all connections, or all of your address, are taken");
}

/// Returns false if no request will come.
asio::awaitable<bool> HttpConnection::WaitForRequest() {
  place_.SetIdle(true);
  if (!socket_->unread().empty()) co_return true;
  if (connections_.draining) co_return false;
  waiting_ = true;
  const bool is_spare = kind() == HttpAdmission::Kind::kSpare;
  socket_->Arm(is_spare ? limits_.header_timeout : limits_.idle_timeout);
  const HttpSocket::error_code error = co_await socket_->Read();
  socket_->Disarm();
  waiting_ = false;
  co_return !error;
}

/// Sets request_ and match_. An error is the reason to reject the request; Cancelled: the client
/// has disconnected.
asio::awaitable<absl::Status> HttpConnection::ReadRequest() {
  request_ = {};
  request_.arrival = Clock::now();
  request_.id = NewRequestId();
  request_.peer = socket_->peer();
  match_ = {};
  is_last_ = kind() != HttpAdmission::Kind::kServed;
  absl::Status status = co_await reader_.ReadHeader(request_);
  place_.SetIdle(false);
  // Find the route even of a rejected request, whose error is written in the route's dialect.
  absl::Status found = FindRoute();
  if (status.ok()) status = std::move(found);
  if (status.ok()) status = Accept();
  if (status.ok()) status = co_await reader_.ReadBody(request_);
  if (!status.ok()) ReleaseBody();
  request_.on_body_dropped = [this] { place_.SetBody(0); };
  co_return status;
}

void HttpConnection::ReleaseBody() {
  std::string().swap(request_.body);
  place_.SetBody(0);
}

absl::Status HttpConnection::FindRoute() {
  match_ = connections_.routes.Find(request_.method, request_.path);
  request_.parameter = match_.parameter;
  if (match_.route != nullptr) return absl::OkStatus();
  const std::string path = request_.path.substr(0, 100);
  if (match_.allow.empty()) {
    return absl::NotFoundError(absl::StrCat("no route ", path, ": see /openapi.json"));
  }
  return HttpError(405, absl::StrCat(path, " takes ", match_.allow));
}

/// Checks whether the body of the request may be read.
absl::Status HttpConnection::Accept() {
  const bool is_spare = kind() != HttpAdmission::Kind::kServed;
  // A body would keep the connection occupied.
  if (is_spare && (!IsVital(request_.path) || !reader_.complete())) return TooMany();
  SHORTLIST_RETURN_IF_ERROR(connections_.host_policy.Check(*match_.route, request_));
  SHORTLIST_RETURN_IF_ERROR(Authorize());
  if (!request_.Header("Content-Encoding").empty()) {
    return HttpError(415, "bodies with a Content-Encoding are not taken");
  }
  if (match_.route->takes_json && !IsJsonType(request_.Header("Content-Type"))) {
    const std::string given(request_.Header("Content-Type").substr(0, 80));
    return HttpError(415, absl::StrCat("Content-Type \"", given,
                                       "\" is not application/json: with curl, add -H "
                                       "'Content-Type: application/json'"));
  }
  return absl::OkStatus();
}

absl::Status HttpConnection::Authorize() {
  const HttpServer::Options& options = connections_.options;
  absl::Status status;
  if (options.authorize) status = options.authorize(*match_.route, request_);
  const bool has_key =
      !request_.Header("Authorization").empty() || !request_.Header("X-Api-Key").empty();
  if (status.ok() || HttpStatusOf(status) != 401 || !has_key || !place_.NoteWrongKey()) {
    return status;
  }
  is_last_ = true;
  return HttpError(429, "too many wrong keys from your address");
}

/// Sends the reply to the request; `refusal` is the result of ReadRequest. Returns true if another
/// request may follow.
asio::awaitable<bool> HttpConnection::Answer(absl::Status refusal) {
  using asio::experimental::awaitable_operators::operator||;
  const ErrorBody error_body = match_.route == nullptr ? OpenAiErrorBody : match_.route->error_body;
  // The rest of an incomplete body would precede the next request.
  HttpResponseWriter reply(*socket_, connections_.draining,
                           {.has_body = request_.method != "HEAD",
                            .chunks = reader_.is_http11(),
                            .keep_alive = reader_.complete() && reader_.keep_alive() && !is_last_,
                            .write_timeout = limits_.write_timeout,
                            .hold = [this](int64_t bytes) { return place_.SetReply(bytes); },
                            .error_body = error_body});
  reply_ = &reply;
  RequestRecord& record = reply.record();
  BeginRecord(record);
  reply.SetHeader("X-Request-Id", request_.id);
  if (!request_.traceparent.empty()) reply.SetHeader("traceparent", request_.traceparent);
  if (!match_.allow.empty()) reply.SetHeader("Allow", match_.allow);
  for (auto& [name, value] : connections_.host_policy.CorsHeaders(request_, match_.allow)) {
    reply.SetHeader(name, std::move(value));
  }

  bool failed = false;  // inside a stream, which then gets no final chunk
  if (absl::IsCancelled(refusal)) {
    record.client_gone = true;
  } else if (refusal.ok()) {
    co_await (RunHandler(reply, refusal) || Watch(reply));
    if (is_cut_ && !refusal.ok()) {
      record.client_gone = false;
      record.error_code = kShutdown;
      refusal = ShuttingDown();
    }
    failed = reply.started() && !refusal.ok();
  }
  if (!record.client_gone && socket_->is_open()) {
    if (!reply.started()) {
      co_await reply.SendError(std::move(refusal), error_body);
    } else if (!failed) {
      co_await reply.Finish();
    }
  }
  Done(record);
  reply_ = nullptr;
  if (record.client_gone) co_return false;
  const bool keep_alive = reply.keep_alive() && !failed;
  const bool is_writing = !reader_.complete() || !socket_->unread().empty() || is_last_;
  place_.SetIdle(true);
  is_swallowing_ = true;
  if (!keep_alive && is_writing) co_await socket_->Swallow();
  is_swallowing_ = false;
  co_return keep_alive;
}

void HttpConnection::BeginRecord(RequestRecord& record) const {
  record.id = request_.id;
  record.traceparent = request_.traceparent;
  record.client = request_.client.name.empty() ? "addr " + request_.peer : request_.client.name;
  record.method = request_.method;
  record.route = match_.route == nullptr ? "" : match_.route->path;
}

void HttpConnection::Done(RequestRecord& record) const {
  if (record.status == 0) record.status = 499;
  record.seconds = std::chrono::duration<double>(Clock::now() - request_.arrival).count();
  if (connections_.options.on_done) connections_.options.on_done(record);
}

/// Sets `failure` to the error, if there is one. Never throws. If it is cancelled, the rest of the
/// handler does not run.
asio::awaitable<void> HttpConnection::RunHandler(HttpResponseWriter& reply, absl::Status& failure) {
  absl::Status status;
  try {
    status = co_await match_.route->handler(request_, reply);
    if (status.ok() && !reply.started()) status = absl::InternalError("the handler sent nothing");
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    status = absl::InternalError(error.what());
  }
  RequestRecord& record = reply.record();
  if (status.ok() || (record.client_gone && !is_cut_)) co_return;
  if (record.error_code.empty()) record.error_code = CodeOf(status);
  failure = std::move(status);
}

/// Ends when the client disconnects. What the client sends meanwhile is the beginning of its next
/// request, up to a limit.
asio::awaitable<void> HttpConnection::Watch(HttpResponseWriter& reply) {
  co_await asio::this_coro::throw_if_cancelled(false);
  HttpSocket::error_code error;
  size_t num_dropped = 0;
  bool has_ended = false;
  while (!error && num_dropped < kMaxDroppedBytes) {
    if (num_dropped > 0 || socket_->unread().size() > kMaxPipelinedBytes) {
      reply.EndConnection();
      is_last_ = true;
      num_dropped += socket_->unread().size();
      socket_->Consume(socket_->unread().size());
    }
    if (has_ended) {
      error = co_await socket_->AwaitReset();
    } else {
      error = co_await socket_->Read();
    }
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) co_return;
    if (has_ended || is_cut_) break;
    has_ended = error == asio::error::eof;
    if (!has_ended) continue;
    error = {};
    if (reader_.is_http11() && !reply.started()) socket_->Probe();
  }
  if (!is_cut_) reply.record().client_gone = true;
}

void ServeConnection(asio::ip::tcp::socket socket, std::shared_ptr<HttpConnections> connections) {
  const auto executor = socket.get_executor();
  auto connection = std::make_shared<HttpConnection>(std::move(socket), std::move(connections));
  HttpConnection& served = *connection;
  const HttpAdmission::Kind kind = served.kind();
  if (kind == HttpAdmission::Kind::kDropped) return;
  asio::co_spawn(executor, kind == HttpAdmission::Kind::kRefused ? served.Refuse() : served.Run(),
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
