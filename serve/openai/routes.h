#ifndef SHORTLIST_SERVE_OPENAI_ROUTES_H_
#define SHORTLIST_SERVE_OPENAI_ROUTES_H_

#include "absl/status/status.h"
#include "serve/http/route_table.h"
#include "serve/service.h"

namespace shortlist {

/// POST /v1/completions.
absl::Status AddOpenAiCompletionsRoute(const Service& service, RouteTable& routes);
/// POST /v1/chat/completions.
absl::Status AddOpenAiChatRoute(const Service& service, RouteTable& routes);
/// POST /v1/responses: text in, text out. Responses are not stored: "store" and references to
/// stored responses are rejected.
absl::Status AddOpenAiResponsesRoute(const Service& service, RouteTable& routes);
/// GET /v1/models and /v1/models/{id}.
absl::Status AddOpenAiModelRoutes(const Service& service, RouteTable& routes);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_OPENAI_ROUTES_H_
