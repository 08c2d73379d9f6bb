#ifndef SHORTLIST_SERVE_HTTP_ADMISSION_H_
#define SHORTLIST_SERVE_HTTP_ADMISSION_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <unordered_map>

#include "serve/http/server.h"

namespace shortlist {

/// Divides connections and body memory among client addresses, and counts wrong keys. Addresses are
/// those of HttpSocket::peer. Used on the I/O thread.
class HttpAdmission {
 public:
  /// Maximum number of open connections beyond max_connections: spare ones and those being refused.
  static constexpr int64_t kMaxBeyond = 80;

  /// How a connection is treated. kSpare: no place is free, but it may request /health and
  /// /metrics. kRefused: it gets an error reply. kDropped: too many are being refused; it is closed
  /// at once.
  enum class Kind { kServed, kSpare, kRefused, kDropped };

  /// The resources of one connection; the destructor gives them back.
  class Place {
   public:
    /// If all places, or those of this address, are taken, closes the connection that has been idle
    /// longest. That connection must have been idle for longer than HttpLimits::yield_after.
    /// `close` closes this connection. `admission` must outlive this.
    Place(HttpAdmission& admission, const std::string& address, std::function<void()> close);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    Kind kind() const { return kind_; }

    /// Sets whether the connection is idle: it has not sent the complete header of a request.
    void SetIdle(bool is_idle);
    /// Sets the bytes that this connection holds, of a body or a reply, to `bytes`. Returns false
    /// and changes nothing if all connections, or those of this address, would hold too many. A few
    /// KiB always succeed.
    bool SetBody(int64_t bytes);
    /// Same as SetBody(), but for a reply, whose memory is allocated already. Returns false and
    /// changes nothing only if the other connections alone reach a limit.
    bool SetReply(int64_t bytes);
    /// Counts a wrong key. Returns true if this address has sent many within a minute.
    bool NoteWrongKey();

   private:
    friend class HttpAdmission;

    void Hold(int64_t bytes);

    Kind Choose();
    bool IsFull() const;
    Place* FindIdle(Kind kind, const std::string* of_address) const;
    void Count(int64_t change);
    void Leave();

    HttpAdmission& admission_;
    const std::string address_;
    const std::function<void()> close_;
    Kind kind_;
    bool counts_ = true;  // true: counted among its kind, not yet closed in favor of another
    bool is_idle_ = false;
    std::list<Place*>::iterator idle_;
    std::chrono::steady_clock::time_point idle_since_;
    int64_t body_bytes_ = 0;
  };

  explicit HttpAdmission(const HttpLimits& limits);

 private:
  using Clock = std::chrono::steady_clock;
  struct Address {
    int64_t num_places = 0, num_served = 0, num_spare = 0;
    int64_t body_bytes = 0;
  };

  int64_t& num(Kind kind) { return num_by_kind_[static_cast<size_t>(kind)]; }

  const int64_t max_connections_, max_connections_per_address_;
  const int64_t max_body_bytes_, max_body_bytes_per_address_;
  const std::chrono::milliseconds yield_after_;
  std::array<int64_t, 4> num_by_kind_{};
  int64_t body_bytes_ = 0;
  std::unordered_map<std::string, Address> addresses_;
  std::list<Place*> idle_;  // longest idle first
  Clock::time_point minute_{};
  std::unordered_map<std::string, int64_t> wrong_keys_;  // per address, in this minute
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_ADMISSION_H_
