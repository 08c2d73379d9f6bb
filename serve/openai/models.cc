#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/http/json_fields.h"
#include "serve/model_name.h"
#include "serve/openai/routes.h"

namespace shortlist {
namespace {

using boost::asio::awaitable;
using nlohmann::ordered_json;

struct Card {
  std::string name, path;
  int64_t max_len = 0;
};

/// Returns the cards of the generating model, if there is one, and of the encoders.
std::vector<Card> CardsOf(const Service& service) {
  const Generator::Options& options = service.generator->options();
  std::vector<Card> cards;
  if (options.generates) {
    cards.push_back({service.model_name, service.source.path(), options.context_length});
  }
  for (const ServedEncoder& encoder : options.encoders) {
    if (encoder.makes == ServedEncoder::Makes::kStates) continue;
    cards.push_back({encoder.name, encoder.path, encoder.max_input_tokens});
  }
  return cards;
}

ordered_json ModelCard(const Service& service, const Card& card) {
  const auto created =
      std::chrono::duration_cast<std::chrono::seconds>(service.started_at.time_since_epoch());
  return {{"id", card.name},      {"object", "model"}, {"created", created.count()},
          {"owned_by", "sglang"},  // gateways read the protocol from this
          {"root", card.path},    {"parent", nullptr}, {"max_model_len", card.max_len}};
}

awaitable<absl::Status> ListModels(const Service& service, const HttpRequest&,
                                   HttpResponse& response) {
  ordered_json cards = ordered_json::array();
  for (const Card& card : CardsOf(service)) cards.push_back(ModelCard(service, card));
  ordered_json list = {{"object", "list"}};
  list["data"] = std::move(cards);
  std::string body = Dump(list);
  co_await response.Send(200, kJsonType, std::move(body));
  co_return absl::OkStatus();
}

awaitable<absl::Status> GetModel(const Service& service, const HttpRequest& http,
                                 HttpResponse& response) {
  for (const Card& card : CardsOf(service)) {
    if (!CheckModelName(card.name, http.parameter).ok()) continue;
    std::string body = Dump(ModelCard(service, card));
    co_await response.Send(200, kJsonType, std::move(body));
    co_return absl::OkStatus();
  }
  co_return CheckModelName(service.model_name, http.parameter);
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
