#ifndef SHORTLIST_SERVE_PAGE_H_
#define SHORTLIST_SERVE_PAGE_H_

#include "absl/status/status.h"
#include "serve/http/route_table.h"

namespace shortlist {

/// GET /: the playground, serve/page as it was when this was built. Public: what it shows, it asks
/// from routes that want the key. Internal when the route is taken.
absl::Status AddPage(RouteTable& table);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_PAGE_H_
