#ifndef SHORTLIST_SERVE_SGLANG_ROUTES_H_
#define SHORTLIST_SERVE_SGLANG_ROUTES_H_

#include "absl/status/status.h"
#include "serve/http/route_table.h"
#include "serve/service.h"

namespace shortlist {

/// SGLang's native generation: POST and PUT /generate. In addition to SGLang's fields,
/// "return_token_infos" adds "token_infos" to each object: [{"id", "text", "origin", "escape",
/// "logprob"}, ...] of the object's new tokens. origin is "plain", "accepted", "forced",
/// "correction" or "bonus"; logprob is null unless requested. "speculate": false decodes without
/// drafting, for comparison. The output is the same, and the request does not count in speculation
/// statistics. "decode_throughput" in meta_info is SGLang's: tokens per second after the first one.
absl::Status AddSglangGenerateRoutes(const Service& service, RouteTable& routes);

/// Routes that SGLang's tools and gateways call on a worker: health, model_info, server_info (both
/// spellings), v1/loads, get_load, flush_cache, abort_request, tokenize, detokenize, metrics. Also
/// those that vLLM's clients call: tokenizer_info, version, ping.
absl::Status AddSglangInfoRoutes(const Service& service, RouteTable& routes);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_SGLANG_ROUTES_H_
