#include "serve/http/log_writer.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace shortlist {
namespace {

bool HasRoom(int fd, int timeout_ms) {
  pollfd wait{.fd = fd, .events = POLLOUT, .revents = 0};
  return poll(&wait, 1, timeout_ms) > 0;
}

}  // namespace

LogWriter::LogWriter(int fd) : fd_(fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return;
  if (S_ISSOCK(status.st_mode)) kind_ = Kind::kSocket;
  // Reopening a file would write from its beginning.
  if (!S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode)) return;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const int own = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  kind_ = own >= 0 ? Kind::kOwnDescription : Kind::kPolled;
  if (own >= 0) fd_ = own;
}

LogWriter::~LogWriter() {
  if (kind_ == Kind::kOwnDescription) close(fd_);
}

LogWriter::Outcome LogWriter::TryWrite(std::string_view& bytes) {
  if (bytes.empty()) return Outcome::kAll;
  if (kind_ == Kind::kPolled && !HasRoom(fd_, /*timeout_ms=*/0)) return Outcome::kFull;
  // If poll reports a pipe writable, it has room for this much and takes it atomically.
  const size_t num_bytes = std::min<size_t>(bytes.size(), PIPE_BUF);
  ssize_t written = -1;
  do {
    written = kind_ == Kind::kSocket
                  ? send(fd_, bytes.data(), num_bytes, MSG_DONTWAIT | MSG_NOSIGNAL)
                  : write(fd_, bytes.data(), num_bytes);
  } while (written < 0 && errno == EINTR);
  if (written < 0) return errno == EAGAIN ? Outcome::kFull : Outcome::kFailed;
  bytes.remove_prefix(static_cast<size_t>(written));
  return bytes.empty() ? Outcome::kAll : Outcome::kPart;
}

void LogWriter::AwaitRoom(std::chrono::milliseconds timeout) const {
  HasRoom(fd_, static_cast<int>(timeout.count()));
}

}  // namespace shortlist
