#ifndef SHORTLIST_SERVE_SGLANG_ROUTES_H_
#define SHORTLIST_SERVE_SGLANG_ROUTES_H_

#include "absl/status/status.h"
#include "serve/http/route_table.h"
#include "serve/service.h"

namespace shortlist {

/// SGLang's native generation: POST and PUT /generate. Beside its fields, "return_token_infos" adds
/// to each object "token_infos": [{"id", "text", "origin", "escape", "logprob"}, ...] of the tokens
/// that are new in it; origin is "plain", "accepted", "correction" or "bonus", logprob null unless
/// it was asked for. "speculate": false decodes plainly, for comparison: nothing is drafted, the
/// output is the same, and it does not count in figures of speculation. meta_info has SGLang's
/// "decode_throughput", tokens a second behind the first one.
absl::Status AddSglangGenerateRoutes(const Service& service, RouteTable& routes);

/// What SGLang's tools and gateways ask of a worker: health, model_info, server_info (both
/// spellings), v1/loads, get_load, flush_cache, abort_request, tokenize, detokenize, metrics; and
/// what vLLM's clients ask beside: tokenizer_info, version, ping.
absl::Status AddSglangInfoRoutes(const Service& service, RouteTable& routes);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_SGLANG_ROUTES_H_
