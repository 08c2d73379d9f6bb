#ifndef SHORTLIST_SERVE_HTTP_ACCESS_LOG_H_
#define SHORTLIST_SERVE_HTTP_ACCESS_LOG_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "serve/http/message.h"

namespace shortlist {

/// The server's log: one line for each request and each change of state, a time and key=value
/// pairs. Never a prompt, an output or a key. Any thread.
///
/// A thread of its own writes it, so that nobody waits for whoever reads it. While there is no room
/// for more, up to 8,192 lines wait, then the oldest are dropped; lines that cannot be written at
/// all (nobody reads any more, the disk is full) are dropped too. How many were is the next thing
/// that it tells: "event=log_dropped lines=N". A line has at most 4,096 bytes. The destructor waits
/// half a second for room, and never longer than two seconds.
class AccessLog {
 public:
  /// To `fd`, which must outlive this.
  explicit AccessLog(int fd);
  /// Appends to a file, which is made with mode 0640 where there is none. Errors name the path.
  static absl::StatusOr<std::unique_ptr<AccessLog>> Open(const std::string& path);
  ~AccessLog();

  void Write(const RequestRecord& record);
  /// `what` is one word ("ready"), `details` key=value pairs or nothing.
  void Write(std::string_view what, std::string_view details = {});

  /// Of a file: goes on in the one that has its name now, from the next line on. Where that cannot
  /// be opened it stays in the old one and says so.
  void Reopen();

 private:
  class Sink;
  struct Threads;
  explicit AccessLog(std::shared_ptr<Sink> sink);

  const std::shared_ptr<Sink> sink_;
  std::unique_ptr<Threads> threads_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_ACCESS_LOG_H_
