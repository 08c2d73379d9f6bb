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

/// Shares out connections and memory for bodies among the addresses that clients come from, and
/// counts wrong keys. Addresses are those of HttpSocket::peer. Used on the I/O thread.
class HttpAdmission {
 public:
  /// Connections that are open at most beyond max_connections: spare ones, and those being refused.
  static constexpr int64_t kMaxBeyond = 80;

  /// What becomes of a connection. kSpare: no place is free, but it may ask whether the server
  /// lives. kRefused: it is told that it cannot be served; kDropped: there are too many to be told.
  enum class Kind { kServed, kSpare, kRefused, kDropped };

  /// One connection's part of it all; given back by its destruction.
  class Place {
   public:
    /// Where all places, or those of this address, are taken, the one that has been idle longest,
    /// and for longer than HttpLimits::yield_after, is closed in favour of this one. `close` closes
    /// this one. `admission` must outlive this.
    Place(HttpAdmission& admission, const std::string& address, std::function<void()> close);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    Kind kind() const { return kind_; }

    /// Idle: has not sent the whole header of a request. No change otherwise.
    void SetIdle(bool is_idle);
    /// From now on this connection holds `bytes`, of a body or a reply, in place of what it held;
    /// false, and no change, where all connections or those of this address would hold too many.
    /// Some KiB always pass.
    bool SetBody(int64_t bytes);
    /// The same of a reply, whose memory is taken already: false, and no change, only where the
    /// others alone hold as much as all may.
    bool SetReply(int64_t bytes);
    /// Counts a wrong key; true when this address has sent many within a minute.
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
    bool counts_ = true;  // among those of its kind: not closed for another one
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
  std::list<Place*> idle_;  // the one that has been longest comes first
  Clock::time_point minute_{};
  std::unordered_map<std::string, int64_t> wrong_keys_;  // in this minute
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_ADMISSION_H_
