#include "serve/http_socket.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace shortlist {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr size_t kReadBytes = 16 << 10;
constexpr size_t kMaxSwallowedBytes = size_t{64} << 20;
constexpr std::chrono::seconds kMaxSwallowTime{2};

}  // namespace

HttpSocket::HttpSocket(tcp::socket socket)
    : socket_(std::move(socket)), deadline_(socket_.get_executor()) {
  error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  peer_ = socket_.remote_endpoint(ignored).address().to_string();
}

void HttpSocket::Arm(std::chrono::milliseconds time) {
  timed_out_ = false;
  deadline_.expires_after(time);
  // A wait that has run out is told so even if it was cancelled before this could be told.
  deadline_.async_wait([weak = weak_from_this(), number = ++deadline_number_](error_code error) {
    const std::shared_ptr<HttpSocket> self = weak.lock();
    if (error || !self || self->deadline_number_ != number) return;
    self->timed_out_ = true;
    self->socket_.cancel(error);
  });
}

void HttpSocket::Disarm() {
  ++deadline_number_;
  deadline_.cancel();
}

void HttpSocket::Close() {
  error_code ignored;
  socket_.close(ignored);
  Disarm();
}

// Asio's own reads wait, after a short one, for the socket to change: the end that came together
// with the last bytes is no change, and would not be seen. A wait for readiness has no such state.
asio::awaitable<HttpSocket::error_code> HttpSocket::Read() {
  while (true) {
    error_code error;
    const size_t count = socket_.read_some(buffer_.prepare(kReadBytes), error);
    buffer_.commit(count);
    if (error != asio::error::would_block) co_return error;
    error = co_await Wait(tcp::socket::wait_read);
    if (error) co_return error;
  }
}

asio::awaitable<HttpSocket::Written> HttpSocket::Write(std::string_view bytes,
                                                       std::chrono::milliseconds timeout) {
  Arm(timeout);
  Written written{};
  while (written.count < bytes.size() && !written.error) {
    written.count += socket_.write_some(asio::buffer(bytes.substr(written.count)), written.error);
    if (written.error == asio::error::would_block) {
      written.error = co_await Wait(tcp::socket::wait_write);
    }
  }
  Disarm();
  co_return written;
}

/// Until the socket is ready. A deadline that passed just before had nothing to cancel.
asio::awaitable<HttpSocket::error_code> HttpSocket::Wait(tcp::socket::wait_type what) {
  if (timed_out_) co_return asio::error::operation_aborted;
  const auto [error] = co_await socket_.async_wait(what, asio::as_tuple(asio::use_awaitable));
  co_return error;
}

asio::awaitable<void> HttpSocket::Swallow() {
  error_code error;
  socket_.shutdown(tcp::socket::shutdown_send, error);
  Arm(kMaxSwallowTime);
  size_t swallowed = 0;
  while (!error && !timed_out_ && swallowed < kMaxSwallowedBytes) {
    swallowed += buffer_.size();
    buffer_.consume(buffer_.size());
    error = co_await Read();
  }
  Disarm();
}

}  // namespace shortlist
