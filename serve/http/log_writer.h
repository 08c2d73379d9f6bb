#ifndef SHORTLIST_SERVE_HTTP_LOG_WRITER_H_
#define SHORTLIST_SERVE_HTTP_LOG_WRITER_H_

#include <chrono>
#include <string_view>

namespace shortlist {

/// Writes to a descriptor without waiting for whoever reads it, be it a pipe, a socket, a terminal
/// or a file. The descriptor may be shared with other processes, so its O_NONBLOCK is left alone:
/// sockets are written to with MSG_DONTWAIT, pipes and terminals through a description of our own.
/// Where the system refuses us that one (another user's pipe), what fits is written once poll says
/// so; another process that fills the pipe at that moment can still make us wait. Writes to files
/// take as long as the file system does.
///
/// One thread at a time, with SIGPIPE and SIGXFSZ ignored or blocked.
class LogWriter {
 public:
  /// `fd` is not owned and must stay open; it need not be open at all: each write fails then.
  explicit LogWriter(int fd);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// kPart: `bytes` holds the rest. kFull: nothing went out, as there is no room; kFailed: nor will
  /// it (nobody reads any more, the disk is full).
  enum class Outcome { kAll, kPart, kFull, kFailed };
  Outcome TryWrite(std::string_view& bytes);

  /// Returns once there may be room, or after `timeout`.
  void AwaitRoom(std::chrono::milliseconds timeout) const;

 private:
  enum class Kind { kSocket, kOwnDescription, kPolled, kFile };

  int fd_;
  Kind kind_ = Kind::kFile;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_LOG_WRITER_H_
