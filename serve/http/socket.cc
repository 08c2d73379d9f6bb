#include "serve/http/socket.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace shortlist {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr size_t kReadBytes = 16 << 10;
constexpr size_t kTurnBytes = 64 << 10;  // work done before other work runs
// Kernel buffer for the part of a reply that waits there.
constexpr int kSendBufferBytes = 256 << 10;
constexpr size_t kMaxSwallowedBytes = size_t{64} << 20;
constexpr std::chrono::seconds kMaxSwallowTime{2};
constexpr double kTimerPrecision = 1e-3;  // seconds

/// Returns the duration of a timer that ends when `seconds` have run, if the process is not paused.
std::chrono::nanoseconds TimerOf(double seconds) {
  const std::chrono::duration<double> wait(std::max(seconds, 0.0));
  return std::chrono::ceil<std::chrono::nanoseconds>(wait);
}

}  // namespace

std::string CountedAddress(const asio::ip::address& address) {
  namespace ip = asio::ip;
  if (!address.is_v6()) return address.to_string();
  const ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, v6).to_string();
  ip::address_v6::bytes_type bytes = v6.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return v6.is_loopback() ? v6.to_string() : ip::address_v6(bytes).to_string();
}

HttpSocket::HttpSocket(tcp::socket socket, std::shared_ptr<RunningTime> time)
    : socket_(std::move(socket)),
      time_(std::move(time)),
      deadline_(socket_.get_executor()),
      room_deadline_(socket_.get_executor()) {
  error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::send_buffer_size(kSendBufferBytes), ignored);
  socket_.non_blocking(true, ignored);
  peer_ = CountedAddress(socket_.remote_endpoint(ignored).address());
}

void HttpSocket::Arm(std::chrono::milliseconds time) {
  timed_out_ = false;
  num_in_time_ = 0;
  ++deadline_number_;
  if (!watch_) watch_.emplace(time_);
  armed_until_ = time_->Now() + std::chrono::duration<double>(time).count();
  AwaitDeadline();
}

void HttpSocket::AwaitDeadline() {
  deadline_.expires_after(TimerOf(armed_until_ - time_->Now()));
  // An expired timer can no longer be cancelled, so its handler may belong to an earlier deadline.
  deadline_.async_wait([weak = weak_from_this(), number = deadline_number_](error_code error) {
    const std::shared_ptr<HttpSocket> self = weak.lock();
    if (error || !self || self->deadline_number_ != number) return;
    // The process was paused meanwhile.
    if (self->armed_until_ - self->time_->Now() > kTimerPrecision) return self->AwaitDeadline();
    self->timed_out_ = true;
    self->num_in_time_ = self->socket_.available(error);
    self->socket_.cancel(error);
  });
}

void HttpSocket::Disarm() {
  timed_out_ = false;
  ++deadline_number_;
  deadline_.cancel();
  watch_.reset();
}

void HttpSocket::CancelReads() {
  error_code ignored;
  socket_.cancel(ignored);
}

void HttpSocket::Close() {
  error_code ignored;
  socket_.close(ignored);
  Disarm();
}

std::string_view HttpSocket::unread() const {
  const auto data = buffer_.data();
  return {static_cast<const char*>(data.data()), data.size()};
}

void HttpSocket::Consume(size_t count) {
  buffer_.consume(count);
  if (buffer_.size() == 0) buffer_.shrink_to_fit();
}

/// Reads through the stack, so that a silent connection holds no buffer memory.
HttpSocket::error_code HttpSocket::ReadSome() {
  char bytes[kReadBytes];
  error_code error;
  const size_t count = socket_.read_some(asio::buffer(bytes), error);
  buffer_.commit(asio::buffer_copy(buffer_.prepare(count), asio::buffer(bytes, count)));
  num_since_yield_ += count;
  num_in_time_ -= std::min(num_in_time_, count);
  return error;
}

// Asio's reads, after a short read, wait for the socket's state to change. An end that arrived
// together with the last bytes is no change and would be missed. A wait for readiness has no such
// state.
asio::awaitable<HttpSocket::error_code> HttpSocket::Read() {
  while (true) {
    const bool may_read = !timed_out_ || num_in_time_ > 0;
    error_code error = ReadSome();
    if (error != asio::error::would_block) {
      if (num_since_yield_ >= kTurnBytes) co_await Yield();
      if (!error && !may_read) error = asio::error::operation_aborted;
      co_return error;
    }
    num_in_time_ = 0;
    error = co_await Wait(tcp::socket::wait_read);
    if (error && num_in_time_ == 0) co_return error;
  }
}

asio::awaitable<void> HttpSocket::Yield() {
  num_since_yield_ = 0;
  const auto executor = co_await asio::this_coro::executor;
  co_await asio::post(executor, asio::use_awaitable);
}

/// Number of bytes that the kernel has and the peer's kernel has not acknowledged.
int64_t HttpSocket::num_queued() {
  int count = 0;
  return ioctl(socket_.native_handle(), SIOCOUTQ, &count) == 0 ? count : 0;
}

asio::awaitable<HttpSocket::Written> HttpSocket::Write(std::string_view bytes,
                                                       std::chrono::milliseconds window) {
  Written written{};
  std::optional<RunningTime::Watch> watch;  // from the first wait on
  std::optional<double> deadline;           // of the window
  int64_t num_taken = 0;                    // taken by the peer when the window began
  while (written.count < bytes.size() && !written.error) {
    const size_t count =
        socket_.write_some(asio::buffer(bytes.substr(written.count, kTurnBytes)), written.error);
    written.count += count;
    num_written_ += static_cast<int64_t>(count);
    num_since_yield_ += count;
    if (num_since_yield_ >= kTurnBytes) co_await Yield();
    if (written.error != asio::error::would_block) continue;
    if (!watch) watch.emplace(time_);
    const double now = time_->Now();
    if (deadline && now >= *deadline - kTimerPrecision) {
      const int64_t least = kLeastBytesPerSecond * window.count() / 1000;
      const int64_t taken = num_written_ - num_queued() - num_taken;
      if (taken < std::max<int64_t>(least, 1)) {
        written.error = asio::error::timed_out;
        break;
      }
      deadline.reset();
    }
    if (!deadline) {
      deadline = now + std::chrono::duration<double>(window).count();
      num_taken = num_written_ - num_queued();
    }
    written.error = co_await AwaitRoom(*deadline);
  }
  co_return written;
}

/// Waits until the socket accepts more bytes, or until `deadline` if the process is not paused.
asio::awaitable<HttpSocket::error_code> HttpSocket::AwaitRoom(double deadline) {
  using asio::experimental::awaitable_operators::operator||;
  num_since_yield_ = 0;
  room_deadline_.expires_after(TimerOf(deadline - time_->Now()));
  auto room = socket_.async_wait(tcp::socket::wait_write, kTuple);
  auto timeout = room_deadline_.async_wait(kTuple);
  co_await (std::move(room) || std::move(timeout));
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() == asio::cancellation_type::none) co_return error_code();
  co_return asio::error::operation_aborted;
}

/// Waits until the socket is ready. Checks timed_out_ first: a deadline that passed before the wait
/// had nothing to cancel.
asio::awaitable<HttpSocket::error_code> HttpSocket::Wait(tcp::socket::wait_type what) {
  if (timed_out_) co_return asio::error::operation_aborted;
  num_since_yield_ = 0;
  const auto [error] = co_await socket_.async_wait(what, kTuple);
  co_return error;
}

void HttpSocket::Probe() {
  // Queued bytes serve as a probe, too. If none are queued, there is room for all of these.
  if (num_queued() > 0) return;
  error_code ignored;
  num_written_ += static_cast<int64_t>(
      socket_.write_some(asio::buffer(kContinue.data(), kContinue.size()), ignored));
}

// Asio may report the end of another connection, whose place in its tables this one has taken. So
// the kernel is asked. Each wait also sees a reset that came before it.
asio::awaitable<HttpSocket::error_code> HttpSocket::AwaitReset() {
  while (true) {
    const auto [error] = co_await socket_.async_wait(tcp::socket::wait_error, kTuple);
    if (error) co_return error;
    pollfd state = {.fd = socket_.native_handle(), .events = 0, .revents = 0};
    if (poll(&state, 1, /*timeout=*/0) > 0) co_return error;
  }
}

asio::awaitable<void> HttpSocket::Swallow() {
  error_code error;
  socket_.shutdown(tcp::socket::shutdown_send, error);
  Arm(kMaxSwallowTime);
  size_t swallowed = 0;
  while (!error && swallowed < kMaxSwallowedBytes) {
    swallowed += buffer_.size();
    Consume(buffer_.size());
    error = co_await Read();
  }
  Disarm();
}

}  // namespace shortlist
