#ifndef SHORTLIST_SERVE_HTTP_ROUTE_TABLE_H_
#define SHORTLIST_SERVE_HTTP_ROUTE_TABLE_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/http/api_error.h"
#include "serve/http/message.h"

namespace shortlist {

/// Who may call a route. kKey: clients with an --api-key, or all if there is none. kAdmin: clients
/// with the --admin-key, or no one if there is none.
enum class Access { kPublic, kKey, kAdmin };

struct Route {
  std::string method;  // a "GET" route also answers HEAD
  std::string path;    // "/v1/models/{id}": the last part may be a name in braces
  Access access = Access::kKey;
  bool takes_json = false;  // true: a Content-Type other than application/json gets 415
  Handler handler;
  ErrorBody error_body = OpenAiErrorBody;
  /// The operation object for /openapi.json, as JSON text. Empty: the route is listed without body
  /// or parameters.
  std::string openapi = {};
};

/// All routes of a server. Filled before the server starts, then constant.
class RouteTable {
 public:
  /// Adds a route. Internal if another route has this method and path.
  absl::Status Add(Route route);

  /// Replaces the handler of each route with a JSON body by wrap(handler).
  void WrapJsonHandlers(const std::function<Handler(Handler)>& wrap);

  struct Match {
    const Route* route = nullptr;  // null: 404, or 405 if `allow` names methods
    std::string parameter;
    std::string allow;  // "GET, POST"; set for 405 and OPTIONS
  };
  /// Finds the route of a request. OPTIONS has one route for all paths: public, status 200, empty
  /// body.
  Match Find(std::string_view method, std::string_view path) const;

  /// Returns the OpenAPI 3.1 document of all routes, as JSON text.
  std::string OpenApi(std::string_view version) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_ROUTE_TABLE_H_
