#ifndef SHORTLIST_SERVE_HTTP_SOCKET_H_
#define SHORTLIST_SERVE_HTTP_SOCKET_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "serve/http/running_time.h"

namespace shortlist {

/// Minimum rate at which a peer must send a body or read a reply, measured over windows. A slower
/// peer is disconnected.
inline constexpr int64_t kLeastBytesPerSecond = 1024;

/// An interim reply, which a client may get at any time before the reply (RFC 9110, 15.2).
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

/// Returns what counts as one client: the address; of IPv6 its first 64 bits, which one host has
/// for itself.
std::string CountedAddress(const boost::asio::ip::address& address);

/// The socket of one connection, with a read deadline and a buffer of bytes read and not used yet.
/// Owned by a shared_ptr; used on the I/O thread, by one reader and one writer.
///
/// Read and Write yield to other work after some bytes. So a peer that never makes them wait gets
/// no more of the thread than others.
class HttpSocket : public std::enable_shared_from_this<HttpSocket> {
 public:
  using error_code = boost::system::error_code;

  /// Deadlines and windows use `time`, so they do not advance while the process is paused.
  HttpSocket(boost::asio::ip::tcp::socket socket, std::shared_ptr<RunningTime> time);

  /// Waits for bytes and appends all that are available to unread(). Returns asio::error::eof at
  /// the end of the client's side, as soon as it arrives. operation_aborted: the deadline has
  /// passed, the awaiting coroutine was cancelled, or the socket was closed.
  boost::asio::awaitable<error_code> Read();

  struct Written {
    error_code error;
    size_t count;  // bytes that the kernel accepted
  };
  /// Returns when the kernel has accepted all bytes. timed_out: during a `window` of waiting, the
  /// peer took less than kLeastBytesPerSecond of the kernel's bytes. `bytes` must stay valid until
  /// then.
  boost::asio::awaitable<Written> Write(std::string_view bytes, std::chrono::milliseconds window);

  /// Lets other work that is ready on this thread run first.
  boost::asio::awaitable<void> Yield();

  /// Call after the end of the client's side. Makes the kernel of a client that has closed the
  /// connection, rather than only ended its side, answer with a reset. Only before a reply to
  /// HTTP/1.1.
  void Probe();
  /// Waits until the connection is reset.
  boost::asio::awaitable<error_code> AwaitReset();

  /// Reads and drops, for a limited time, what the client still sends. This avoids a reset, which
  /// would destroy a last reply that the client has not read. Nothing can be written afterwards.
  boost::asio::awaitable<void> Swallow();

  /// Sets a deadline for reads, `time` from now; later reads are aborted. Bytes that the kernel has
  /// when this thread notices the deadline are still read.
  void Arm(std::chrono::milliseconds time);
  void Disarm();
  /// True if the current deadline has passed.
  bool timed_out() const { return timed_out_; }

  /// Bytes that were read and not consumed; valid until the next Read or Consume.
  std::string_view unread() const;
  /// Removes the first `count` bytes of unread(). Frees the memory if nothing is left.
  void Consume(size_t count);

  bool is_open() const { return socket_.is_open(); }
  /// The CountedAddress of the peer.
  const std::string& peer() const { return peer_; }
  /// Aborts waiting reads with operation_aborted; the socket stays open.
  void CancelReads();
  void Close();

 private:
  void AwaitDeadline();
  boost::asio::awaitable<error_code> Wait(boost::asio::ip::tcp::socket::wait_type what);
  boost::asio::awaitable<error_code> AwaitRoom(double deadline);
  error_code ReadSome();
  int64_t num_queued();

  boost::asio::ip::tcp::socket socket_;
  std::string peer_;
  const std::shared_ptr<RunningTime> time_;
  std::optional<RunningTime::Watch> watch_;  // while armed
  double armed_until_ = 0.0;                 // in the time of time_
  boost::asio::steady_timer deadline_;
  uint64_t deadline_number_ = 0;  // of the current deadline
  bool timed_out_ = false;
  size_t num_in_time_ = 0;  // if timed_out_: bytes in the kernel that may still be read
  boost::asio::steady_timer room_deadline_;
  boost::beast::flat_buffer buffer_;
  size_t num_since_yield_ = 0;  // bytes read and written without waiting
  int64_t num_written_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_SOCKET_H_
