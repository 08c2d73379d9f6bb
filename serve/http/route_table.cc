#include "serve/http/route_table.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "nlohmann/json.hpp"
#include "serve/http/json_fields.h"

namespace shortlist {
namespace {

/// Length of the fixed part of "/v1/models/{id}", up to and including the last slash; npos: no
/// name.
size_t FixedBytes(std::string_view path) { return path.find('{'); }

bool PathMatches(std::string_view pattern, std::string_view path, std::string& parameter) {
  const size_t fixed = FixedBytes(pattern);
  if (fixed == pattern.npos) return pattern == path;
  if (path.size() <= fixed || path.substr(0, fixed) != pattern.substr(0, fixed)) return false;
  parameter = path.substr(fixed);
  return true;
}

bool MethodMatches(std::string_view of_route, std::string_view method) {
  return of_route == method || (of_route == "GET" && method == "HEAD");
}

const Route& OptionsRoute() {
  static const Route route{
      .method = "OPTIONS",
      .path = "*",
      .access = Access::kPublic,
      .handler = [](const HttpRequest&,
                    HttpResponse& response) -> boost::asio::awaitable<absl::Status> {
        co_await response.Send(200, "text/plain", std::string());
        co_return absl::OkStatus();
      }};
  return route;
}

}  // namespace

absl::Status RouteTable::Add(Route route) {
  SHORTLIST_CHECK(route.handler != nullptr && route.path.starts_with('/'));
  for (const Route& other : routes_) {
    if (other.method == route.method && other.path == route.path) {
      return absl::InternalError(absl::StrCat("two routes for ", route.method, " ", route.path));
    }
  }
  routes_.push_back(std::move(route));
  return absl::OkStatus();
}

void RouteTable::WrapJsonHandlers(const std::function<Handler(Handler)>& wrap) {
  for (Route& route : routes_) {
    if (route.takes_json) route.handler = wrap(std::move(route.handler));
  }
}

RouteTable::Match RouteTable::Find(std::string_view method, std::string_view path) const {
  Match match;
  for (const Route& route : routes_) {
    std::string parameter;
    if (!PathMatches(route.path, path, parameter)) continue;
    if (MethodMatches(route.method, method)) {
      return {.route = &route, .parameter = std::move(parameter)};
    }
    absl::StrAppend(&match.allow, match.allow.empty() ? "" : ", ", route.method);
  }
  if (method == "OPTIONS" && !match.allow.empty()) match.route = &OptionsRoute();
  return match;
}

std::string RouteTable::OpenApi(std::string_view version) const {
  using nlohmann::ordered_json;
  ordered_json paths = ordered_json::object();
  for (const Route& route : routes_) {
    ordered_json operation =
        route.openapi.empty() ? ordered_json::object() : ordered_json::parse(route.openapi);
    if (!operation.contains("responses")) {
      operation["responses"] = {{"200", {{"description", "the answer"}}},
                                {"default", {{"description", "an error"}}}};
    }
    if (const size_t fixed = FixedBytes(route.path); fixed != route.path.npos) {
      const std::string name = route.path.substr(fixed + 1, route.path.size() - fixed - 2);
      operation["parameters"].push_back(
          {{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
    }
    if (route.access != Access::kPublic) {
      ordered_json bearer = ordered_json::object();
      bearer["bearer"] = ordered_json::array();
      operation["security"].push_back(std::move(bearer));
    }
    paths[route.path][absl::AsciiStrToLower(route.method)] = std::move(operation);
  }
  const ordered_json document = {
      {"openapi", "3.1.0"},
      {"info", {{"title", "shortlist"}, {"version", std::string(version)}}},
      {"paths", std::move(paths)},
      {"components",
       {{"securitySchemes", {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
  return Dump(document);
}

}  // namespace shortlist
