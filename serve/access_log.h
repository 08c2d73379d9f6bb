#ifndef SHORTLIST_SERVE_ACCESS_LOG_H_
#define SHORTLIST_SERVE_ACCESS_LOG_H_

#include <memory>
#include <string_view>

#include "serve/http_message.h"

namespace shortlist {

/// The server's log on stderr: one line for each request and each change of state, a time and
/// key=value pairs. Never a prompt, an output or a key. A thread of its own writes it; when that
/// falls behind, the oldest lines are dropped. Any thread.
class AccessLog {
 public:
  AccessLog();
  ~AccessLog();

  void Write(const RequestRecord& record);
  /// `what` is one word ("ready"), `details` key=value pairs or nothing.
  void Write(std::string_view what, std::string_view details = {});

 private:
  struct Sink;
  const std::unique_ptr<Sink> sink_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_ACCESS_LOG_H_
