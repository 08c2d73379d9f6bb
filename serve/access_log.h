#ifndef SHORTLIST_SERVE_ACCESS_LOG_H_
#define SHORTLIST_SERVE_ACCESS_LOG_H_

#include <string_view>

#include "serve/http_message.h"

namespace shortlist {

/// The server's log on stderr: one line for each request and each change of state, as key=value
/// pairs with a time. Never a prompt or an output. Written by a thread of its own; what it cannot
/// keep up with is dropped and counted.
class AccessLog {
 public:
  AccessLog();
  ~AccessLog();

  void Write(const RequestRecord& record);
  /// `what` is one word ("ready"), `details` key=value pairs or nothing.
  void Write(std::string_view what, std::string_view details);
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_ACCESS_LOG_H_
