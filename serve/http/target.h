#ifndef SHORTLIST_SERVE_HTTP_TARGET_H_
#define SHORTLIST_SERVE_HTTP_TARGET_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace shortlist {

/// A request target, taken apart and decoded.
struct HttpTarget {
  std::string authority;  // "host:port" of an absolute URL, as it stands; else empty
  std::string path;
  std::vector<std::pair<std::string, std::string>> query;
};

/// Of "/path?a=b&c", or of an absolute URL. InvalidArgument for a target that begins otherwise, a
/// broken percent escape, an escaped NUL, what is not UTF-8 and more than 100 query parameters.
absl::StatusOr<HttpTarget> ParseHttpTarget(std::string_view target);

/// True for 1 to 128 visible ASCII characters: it goes into a header and a log.
bool IsSoundRequestId(std::string_view id);
/// True for version 00 of W3C's traceparent.
bool IsTraceparent(std::string_view value);
/// 32 hexadecimal digits from the system's random source: nobody can guess another's. Any thread.
std::string NewRequestId();

/// Whether a Content-Type names JSON, whatever its parameters.
bool IsJsonType(std::string_view content_type);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_TARGET_H_
