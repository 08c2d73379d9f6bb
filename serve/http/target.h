#ifndef SHORTLIST_SERVE_HTTP_TARGET_H_
#define SHORTLIST_SERVE_HTTP_TARGET_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace shortlist {

/// The parts of a request target, decoded.
struct HttpTarget {
  std::string authority;  // "host:port" of an absolute URL, unchanged; else empty
  std::string path;
  std::vector<std::pair<std::string, std::string>> query;
};

/// Parses "/path?a=b&c", or an absolute URL. InvalidArgument for any other beginning, a broken
/// percent escape, an escaped NUL, invalid UTF-8, and more than 100 query parameters.
absl::StatusOr<HttpTarget> ParseHttpTarget(std::string_view target);

/// True for 1 to 128 visible ASCII characters, which are safe in a header and in a log.
bool IsSoundRequestId(std::string_view id);
/// True for a valid version 00 of W3C's traceparent.
bool IsTraceparent(std::string_view value);
/// Returns 32 hexadecimal digits from the system's random source, which cannot be guessed. Any
/// thread.
std::string NewRequestId();

/// True if a Content-Type is application/json, with any parameters.
bool IsJsonType(std::string_view content_type);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_TARGET_H_
