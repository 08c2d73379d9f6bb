#ifndef SHORTLIST_SERVE_AUTH_H_
#define SHORTLIST_SERVE_AUTH_H_

#include <string>

#include "absl/status/status.h"
#include "serve/route_table.h"

namespace shortlist {

/// The keys of a server; an empty one is none.
struct Keys {
  std::string api;    // opens routes of Access::kKey; without it they are open
  std::string admin;  // opens all; without it routes of Access::kAdmin are off
};

/// Whether the request's "Authorization: Bearer" (or X-Api-Key) opens the route: Unauthenticated,
/// or PermissionDenied where no key could. Keys are compared in a time that tells only their
/// length.
absl::Status Authorize(const Keys& keys, const Route& route, const HttpRequest& request);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_AUTH_H_
