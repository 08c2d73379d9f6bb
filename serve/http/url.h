#ifndef SHORTLIST_SERVE_HTTP_URL_H_
#define SHORTLIST_SERVE_HTTP_URL_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace shortlist {

/// The parts of "host[:port]".
struct UrlAuthority {
  std::string host;  // not empty; without the brackets of an IPv6 address
  std::string port;  // in [1, 65535], without leading zeros; empty if there is none

  /// InvalidArgument names the error: no host, a port out of bounds, a user.
  static absl::StatusOr<UrlAuthority> Parse(std::string_view text);
  /// Returns "host[:port]", with the brackets of an IPv6 address.
  std::string Text() const;
};

/// True if a URL may contain the character. White space, quotes and non-ASCII bytes are excluded.
bool IsUrlCharacter(char c);

/// A web address: "https://host[:port][/path][?query]", or http. A fragment is dropped.
struct WebUrl {
  bool is_tls = false;
  // The host is in lower case. The port is that of the scheme if none is given.
  UrlAuthority authority;
  std::string target;  // path and query; begins with a slash

  /// True if the text begins as a web address does; the rest may still be invalid.
  static bool Begins(std::string_view text);
  /// InvalidArgument names the error, as UrlAuthority does, or that the text is longer than 2,048
  /// bytes.
  static absl::StatusOr<WebUrl> Parse(std::string_view url);
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_URL_H_
