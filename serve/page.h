#ifndef SHORTLIST_SERVE_PAGE_H_
#define SHORTLIST_SERVE_PAGE_H_

#include "absl/status/status.h"
#include "serve/http/route_table.h"

namespace shortlist {

/// GET / is the playground and GET /docs a page of the routes, made of /openapi.json: serve/page as
/// it was when this was built. Public: what they show, they ask from routes that want the key.
/// Internal when a route is taken.
absl::Status AddPages(RouteTable& table);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_PAGE_H_
