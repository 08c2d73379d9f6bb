#ifndef SHORTLIST_SERVE_HTTP_AUTH_H_
#define SHORTLIST_SERVE_HTTP_AUTH_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/http/route_table.h"

namespace shortlist {

/// One API key as an operator gives it.
struct NamedKey {
  std::string name;  // in Client::name, in place of "key N"; empty: none
  std::string key;
};

/// InvalidArgument unless `key` is 1 to 512 visible ASCII characters. The message does not hold it.
absl::Status CheckKey(std::string_view key);

/// The keys of a file: one a line, or a name, white space and the key. Blank lines and lines that
/// begin with # are skipped, and so is white space at both ends of a line. At most 1,000 keys; a
/// name is 1 to 64 visible ASCII characters. InvalidArgument names file and line, never a key; it
/// is also the answer to a file without any.
absl::StatusOr<std::vector<NamedKey>> ReadKeyFile(const std::string& path);

/// The keys of a server, as an operator gives them.
struct Keys {
  std::vector<NamedKey> api;  // open routes of Access::kKey; none: these are open
  std::string admin;          // opens all; empty: routes of Access::kAdmin are off
};

/// Tells by the keys who may do what. Constant; any thread.
class Authorizer {
 public:
  /// InvalidArgument where two keys or two names are the same, or CheckKey fails. Keys are told by
  /// name or number.
  static absl::StatusOr<Authorizer> Create(const Keys& keys);

  /// Whether the request's "Authorization: Bearer" (or X-Api-Key) opens the route: Unauthenticated,
  /// or PermissionDenied where no key could. Sets the request's client: the name of its key and a
  /// salt that is random, so that it tells nothing of the key; "addr PEER" and no salt for a
  /// request without one of our keys.
  ///
  /// Two such headers are refused unless they agree: a proxy may have looked at the other one. The
  /// time it takes tells how many keys there are, not what is in them.
  absl::Status Authorize(const Route& route, HttpRequest& request) const;

 private:
  struct Entry {
    std::string key;
    Client client;
    bool is_admin = false;
  };

  Authorizer() = default;
  absl::Status Add(const std::string& key, std::string name, bool is_admin);
  const Entry* Find(std::string_view given) const;

  std::vector<Entry> entries_;
  bool has_api_ = false, has_admin_ = false;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_AUTH_H_
