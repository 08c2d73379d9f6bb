#ifndef SHORTLIST_SERVE_HTTP_LOG_WRITER_H_
#define SHORTLIST_SERVE_HTTP_LOG_WRITER_H_

#include <chrono>
#include <string_view>

namespace shortlist {

/// Writes to a descriptor (pipe, socket, terminal or file) without waiting for its reader. Other
/// processes may share the descriptor, so its O_NONBLOCK is not changed. Sockets are written with
/// MSG_DONTWAIT, pipes and terminals through an open file description of our own. If the system
/// refuses to open one (another user's pipe), writes go out when poll reports room. A write can
/// then still block if another process fills the pipe at that moment. Writes to files take as long
/// as the file system does.
///
/// Used by one thread at a time, with SIGPIPE and SIGXFSZ ignored or blocked.
class LogWriter {
 public:
  /// `fd` is not owned and must stay open. If it is not open at all, each write fails.
  explicit LogWriter(int fd);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// kPart: `bytes` contains the rest. kFull: nothing was written because there is no room.
  /// kFailed: nothing was written and nothing will be (no reader, disk full).
  enum class Outcome { kAll, kPart, kFull, kFailed };
  Outcome TryWrite(std::string_view& bytes);

  /// Returns when there may be room, or after `timeout`.
  void AwaitRoom(std::chrono::milliseconds timeout) const;

 private:
  enum class Kind { kSocket, kOwnDescription, kPolled, kFile };

  int fd_;
  Kind kind_ = Kind::kFile;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_LOG_WRITER_H_
