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
#include <string>
#include <string_view>

namespace shortlist {

/// The socket of one connection, with a deadline for whatever it waits for, and what was read and
/// not used yet. Owned by a shared_ptr; used on the I/O thread, by one reader and one writer.
class HttpSocket : public std::enable_shared_from_this<HttpSocket> {
 public:
  using error_code = boost::system::error_code;

  explicit HttpSocket(boost::asio::ip::tcp::socket socket);

  /// Waits for bytes and appends what there is to buffer(). The end of the client's side is
  /// asio::error::eof, seen as soon as it is there. operation_aborted: the deadline has passed, the
  /// awaiting coroutine was cancelled, or the socket was closed.
  boost::asio::awaitable<error_code> Read();

  struct Written {
    error_code error;
    size_t count;  // bytes that the kernel took
  };
  /// Returns when the kernel has taken all bytes, or after `timeout`. `bytes` must outlive it.
  boost::asio::awaitable<Written> Write(std::string_view bytes, std::chrono::milliseconds timeout);

  /// Reads and drops, for a while, what the client is still sending, so that no reset destroys the
  /// last reply before it has been read. Nothing can be written afterwards.
  boost::asio::awaitable<void> Swallow();

  /// From now on `time` is left for what is waited for; what takes longer is aborted.
  void Arm(std::chrono::milliseconds time);
  void Disarm();
  /// The deadline that was armed last has passed.
  bool timed_out() const { return timed_out_; }

  boost::beast::flat_buffer& buffer() { return buffer_; }
  bool is_open() const { return socket_.is_open(); }
  /// The address at the other end, without the port.
  const std::string& peer() const { return peer_; }
  void Close();

 private:
  boost::asio::awaitable<error_code> Wait(boost::asio::ip::tcp::socket::wait_type what);

  boost::asio::ip::tcp::socket socket_;
  std::string peer_;
  boost::asio::steady_timer deadline_;
  uint64_t deadline_number_ = 0;  // of the one that counts
  bool timed_out_ = false;
  boost::beast::flat_buffer buffer_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_SOCKET_H_
