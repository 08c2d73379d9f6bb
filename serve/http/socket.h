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

/// What a peer must send of a body, or take of a reply, at least, over the windows in which that is
/// looked at; who is slower is cut.
inline constexpr int64_t kLeastBytesPerSecond = 1024;

/// An interim reply, which a client may get at any time before the reply (RFC 9110, 15.2).
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

/// What counts as one client: the address, of IPv6 its first 64 bits, which one host has for
/// itself.
std::string CountedAddress(const boost::asio::ip::address& address);

/// The socket of one connection, with a deadline for what it reads, and what was read and not used
/// yet. Owned by a shared_ptr; used on the I/O thread, by one reader and one writer.
///
/// A peer that never makes us wait has no more of the thread than others: after some work, Read and
/// Write let them go first.
class HttpSocket : public std::enable_shared_from_this<HttpSocket> {
 public:
  using error_code = boost::system::error_code;

  /// Deadlines and windows go by `time`, so that none passes while the process is paused.
  HttpSocket(boost::asio::ip::tcp::socket socket, std::shared_ptr<RunningTime> time);

  /// Waits for bytes and appends what there is to unread(). The end of the client's side is
  /// asio::error::eof, seen as soon as it is there. operation_aborted: the deadline has passed, the
  /// awaiting coroutine was cancelled, or the socket was closed.
  boost::asio::awaitable<error_code> Read();

  struct Written {
    error_code error;
    size_t count;  // bytes that the kernel took
  };
  /// Returns when the kernel has taken all bytes; timed_out when in a `window` of waiting the peer
  /// took less than kLeastBytesPerSecond of what the kernel had. `bytes` must outlive it.
  boost::asio::awaitable<Written> Write(std::string_view bytes, std::chrono::milliseconds window);

  /// Lets what else is ready on this thread go first.
  boost::asio::awaitable<void> Yield();

  /// Behind the end of the client's side: makes the kernel of a client that has closed, and not
  /// only ended its side, say so by a reset. Only before a reply to HTTP/1.1.
  void Probe();
  /// Waits until the connection is reset.
  boost::asio::awaitable<error_code> AwaitReset();

  /// Reads and drops, for a while, what the client is still sending, so that no reset destroys the
  /// last reply before it has been read. Nothing can be written afterwards.
  boost::asio::awaitable<void> Swallow();

  /// From now on `time` is left for what is read; what takes longer is aborted. What the kernel has
  /// when this thread notices the deadline counts as in time.
  void Arm(std::chrono::milliseconds time);
  void Disarm();
  /// The deadline that is armed has passed.
  bool timed_out() const { return timed_out_; }

  /// Read and not consumed; valid until the next Read or Consume.
  std::string_view unread() const;
  /// The first `count` of unread() are used. Memory is given back when nothing is left.
  void Consume(size_t count);

  bool is_open() const { return socket_.is_open(); }
  /// The CountedAddress of the other end.
  const std::string& peer() const { return peer_; }
  /// What reads waits no longer, and gets operation_aborted; the socket stays open.
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
  double armed_until_ = 0.0;                 // of time_
  boost::asio::steady_timer deadline_;
  uint64_t deadline_number_ = 0;  // of the one that counts
  bool timed_out_ = false;
  size_t num_in_time_ = 0;  // bytes in the kernel that still may be read, where timed_out_
  boost::asio::steady_timer room_deadline_;
  boost::beast::flat_buffer buffer_;
  size_t num_since_yield_ = 0;  // bytes read and written without waiting
  int64_t num_written_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_SOCKET_H_
