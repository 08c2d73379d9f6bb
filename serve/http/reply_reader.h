#ifndef SHORTLIST_SERVE_HTTP_REPLY_READER_H_
#define SHORTLIST_SERVE_HTTP_REPLY_READER_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shortlist {

/// Waits for bytes of a connection and appends them to `text`. OutOfRange at the end of the
/// connection.
using ReadMore = std::function<boost::asio::awaitable<absl::Status>(std::string& text)>;

/// Reads the body, at most `max_bytes`, of the reply to one request. Skips up to five interim
/// replies. Returns the errors of `read_more`, which must outlive the call, and of framing.h;
/// Unavailable for a status other than 200. A reply framed by the end of the connection ends there.
boost::asio::awaitable<absl::StatusOr<std::string>> ReadReply(const ReadMore& read_more,
                                                              int64_t max_bytes);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_REPLY_READER_H_
