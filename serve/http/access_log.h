#ifndef SHORTLIST_SERVE_HTTP_ACCESS_LOG_H_
#define SHORTLIST_SERVE_HTTP_ACCESS_LOG_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "serve/http/message.h"

namespace shortlist {

/// The server's log: one line for each request and each change of state, with the time and
/// key=value pairs. Contains no prompts, outputs or keys. Any thread.
///
/// A thread of its own writes the log, so that a slow reader of the log blocks no other thread. Up
/// to 8,192 lines wait for room, then the oldest are dropped. Lines that cannot be written at all
/// (no reader, disk full) are dropped too. The next line written reports their number:
/// "event=log_dropped lines=N". A line has at most 4,096 bytes. The destructor waits half a second
/// for room, and at most two seconds.
class AccessLog {
 public:
  /// Writes to `fd`, which must outlive this.
  explicit AccessLog(int fd);
  /// Appends to a file, and creates it with mode 0640 if it does not exist. Errors name the path.
  static absl::StatusOr<std::unique_ptr<AccessLog>> Open(const std::string& path);
  ~AccessLog();

  void Write(const RequestRecord& record);
  /// `what` is one word ("ready"), `details` key=value pairs or nothing.
  void Write(std::string_view what, std::string_view details = {});

  /// For a log file: from the next line on, writes to the file that has the path then. If that
  /// cannot be opened, keeps the old file and logs the error.
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
