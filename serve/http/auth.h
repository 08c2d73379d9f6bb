#ifndef SHORTLIST_SERVE_HTTP_AUTH_H_
#define SHORTLIST_SERVE_HTTP_AUTH_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/http/route_table.h"

namespace shortlist {

/// One API key as an operator configures it.
struct NamedKey {
  std::string name;  // Client::name in place of "key N"; empty: none
  std::string key;
};

/// InvalidArgument unless `key` is 1 to 512 visible ASCII characters. The message does not contain
/// it.
absl::Status CheckKey(std::string_view key);

/// Reads a key file: on each line a key, or a name, white space and a key. Skips blank lines, lines
/// that begin with #, and white space at both ends of a line. At most 1,000 keys; a name is 1 to 64
/// visible ASCII characters. InvalidArgument names file and line, never a key; also returned for a
/// file without keys.
absl::StatusOr<std::vector<NamedKey>> ReadKeyFile(const std::string& path);

/// The keys of a server, as an operator configures them.
struct Keys {
  std::vector<NamedKey> api;  // open routes of Access::kKey; empty: these need no key
  std::string admin;          // opens all routes; empty: routes of Access::kAdmin are off
};

/// Decides by key which routes a request may use. Constant; any thread.
class Authorizer {
 public:
  /// InvalidArgument if two keys or two names are equal, or CheckKey fails. Messages name a key by
  /// its name or number.
  static absl::StatusOr<Authorizer> Create(const Keys& keys);

  /// Checks whether the request's "Authorization: Bearer" (or X-Api-Key) opens the route. Returns
  /// Unauthenticated, or PermissionDenied if no key could open it. Sets the request's client: the
  /// name of its key, and a random salt that reveals nothing of the key. A request without a known
  /// key gets "addr PEER" and no salt.
  ///
  /// On a server with keys, two headers of one name, or two different keys, are Unauthenticated
  /// except on public routes: a proxy may have checked the other one. The time taken depends on the
  /// number of keys, not on their contents.
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
