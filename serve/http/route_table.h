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

/// Who may call a route. kKey: whoever knows --api-key, if there is one. kAdmin: whoever knows
/// --admin-key; nobody without one.
enum class Access { kPublic, kKey, kAdmin };

struct Route {
  std::string method;  // "GET" answers HEAD as well
  std::string path;    // "/v1/models/{id}": the last part may be a name in braces
  Access access = Access::kKey;
  bool takes_json = false;  // a body of another Content-Type than application/json is 415
  Handler handler;
  ErrorBody error_body = OpenAiErrorBody;
  /// Of /openapi.json: the operation object as JSON text; may be empty: the route is listed without
  /// a body or parameters.
  std::string openapi = {};
};

/// All routes of a server. Filled before it starts, then constant.
class RouteTable {
 public:
  /// Internal when another route answers this method and path.
  absl::Status Add(Route route);

  /// Puts what `wrap` makes of its handler in place of the handler of each route with a JSON body.
  void WrapJsonHandlers(const std::function<Handler(Handler)>& wrap);

  struct Match {
    const Route* route = nullptr;  // null: 404, or 405 where `allow` names methods
    std::string parameter;
    std::string allow;  // "GET, POST"; of 405, and of OPTIONS
  };
  /// OPTIONS has one route for all paths: public, status 200 and an empty body.
  Match Find(std::string_view method, std::string_view path) const;

  /// The OpenAPI 3.1 document of all routes, as JSON text.
  std::string OpenApi(std::string_view version) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_ROUTE_TABLE_H_
