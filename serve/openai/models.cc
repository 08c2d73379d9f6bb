#include <utility>

#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/http/json_fields.h"
#include "serve/model_name.h"
#include "serve/openai/routes.h"

namespace shortlist {
namespace {

using boost::asio::awaitable;
using nlohmann::ordered_json;

ordered_json ModelCard(const Service& service) {
  const auto created =
      std::chrono::duration_cast<std::chrono::seconds>(service.started_at.time_since_epoch());
  return {{"id", service.model_name},
          {"object", "model"},
          {"created", created.count()},
          {"owned_by", "sglang"},  // gateways go by this: it says whose protocol is spoken
          {"root", service.model_path},
          {"parent", nullptr},
          {"max_model_len", service.generator->options().context_length}};
}

awaitable<absl::Status> ListModels(const Service& service, const HttpRequest&,
                                   HttpResponse& response) {
  ordered_json cards = ordered_json::array();
  cards.push_back(ModelCard(service));
  ordered_json list = {{"object", "list"}};
  list["data"] = std::move(cards);
  std::string body = Dump(list);
  co_await response.Send(200, kJsonType, std::move(body));
  co_return absl::OkStatus();
}

awaitable<absl::Status> GetModel(const Service& service, const HttpRequest& http,
                                 HttpResponse& response) {
  absl::Status known = CheckModelName(service.model_name, http.parameter);
  if (!known.ok()) co_return known;
  std::string body = Dump(ModelCard(service));
  co_await response.Send(200, kJsonType, std::move(body));
  co_return absl::OkStatus();
}

}  // namespace

absl::Status AddOpenAiModelRoutes(const Service& service, RouteTable& routes) {
  SHORTLIST_RETURN_IF_ERROR(
      routes.Add({.method = "GET",
                  .path = "/v1/models",
                  .handler = [&service](const HttpRequest& request, HttpResponse& response) {
                    return ListModels(service, request, response);
                  }}));
  return routes.Add({.method = "GET",
                     .path = "/v1/models/{id}",
                     .handler = [&service](const HttpRequest& request, HttpResponse& response) {
                       return GetModel(service, request, response);
                     }});
}

}  // namespace shortlist
