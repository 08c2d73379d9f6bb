#ifndef SHORTLIST_SERVE_HTTP_URL_H_
#define SHORTLIST_SERVE_HTTP_URL_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace shortlist {

/// "host[:port]", taken apart.
struct UrlAuthority {
  std::string host;  // not empty; without the brackets of an IPv6 address
  std::string port;  // of [1, 65535], without zeros before it; empty where none is given

  /// InvalidArgument says what is wrong: no host, a port out of bounds, a user.
  static absl::StatusOr<UrlAuthority> Parse(std::string_view text);
  /// With the brackets.
  std::string Text() const;
};

/// Whether there may be such a character in a URL; white space, quotes and what is not ASCII may
/// not.
bool IsUrlCharacter(char c);

/// An address of the web: "https://host[:port][/path][?query]", or http. A fragment is left out.
struct WebUrl {
  bool is_tls = false;
  UrlAuthority authority;  // with a port, the scheme's where none is given; the host in lower case
  std::string target;      // path and query; begins with a slash

  /// Whether a text begins as one does; it may be wrong all the same.
  static bool Begins(std::string_view text);
  /// InvalidArgument says what is wrong, as UrlAuthority, or that it is longer than 2,048 bytes.
  static absl::StatusOr<WebUrl> Parse(std::string_view url);
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_URL_H_
