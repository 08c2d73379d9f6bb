#ifndef SHORTLIST_SERVE_PAGE_H_
#define SHORTLIST_SERVE_PAGE_H_

#include "absl/status/status.h"
#include "serve/http/route_table.h"

namespace shortlist {

/// Adds GET / (the playground) and GET /docs (a page of the routes, made from /openapi.json). Both
/// are the files of serve/page at build time. They are public; the routes that they call require
/// the key. Internal if a route is taken.
absl::Status AddPages(RouteTable& table);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_PAGE_H_
