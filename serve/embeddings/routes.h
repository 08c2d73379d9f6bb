#ifndef SHORTLIST_SERVE_EMBEDDINGS_ROUTES_H_
#define SHORTLIST_SERVE_EMBEDDINGS_ROUTES_H_

#include "absl/status/status.h"
#include "serve/http/route_table.h"
#include "serve/service.h"

namespace shortlist {

// The routes of encoders. All routes exist regardless of what is loaded: a route without its model
// returns 400 and names the flag that loads one. Scores pass through the activation function that
// the checkpoint names unless stated otherwise; "raw_scores" returns logits.

/// POST /v1/embeddings as OpenAI's. Adds embedding_types (dense, sparse, colbert, all from one
/// pass), vLLM's truncate_prompt_tokens, truncation_side, normalize and priority, and
/// sentence-transformers' prompts: prompt_name, input_type or instruction.
absl::Status AddOpenAiEmbeddingsRoute(const Service& service, RouteTable& routes);
/// POST /v2/embed as Cohere's. Takes texts, images, or inputs of one part each. Returns vectors of
/// length 1 in each of embedding_types: float; base64 of the floats; int8: 127 times the value;
/// uint8: int8 plus 128; ubinary: eight dimensions per byte, a bit is set if its value is above 0;
/// binary: ubinary minus 128.
absl::Status AddCohereEmbedRoute(const Service& service, RouteTable& routes);
/// POST /v1/rerank as SGLang's (a bare array), /v2/rerank as Cohere's and Jina's, /infinity/rerank
/// as Infinity's. /rerank is TEI's with "texts". With "documents" it is Infinity's if "raw_scores"
/// is present, which Infinity's client always sends, else Jina's. /v1/rerank and /rerank are
/// Voyage's if "truncation" is present, which Voyage's client always sends. Without a model that
/// scores pairs, an encoder's multi-vectors rank: the mean over the query's vectors of the largest
/// dot product, without an activation function.
absl::Status AddRerankRoutes(const Service& service, RouteTable& routes);
/// TEI's POST /embed, /embed_sparse and /predict.
absl::Status AddTeiRoutes(const Service& service, RouteTable& routes);
/// SGLang's POST and PUT /encode.
absl::Status AddSglangEncodeRoutes(const Service& service, RouteTable& routes);
/// POST /v1/score, /score, /classify and /v1/classify as vLLM's. /classify with candidate_labels,
/// hypothesis_template and multi_label classifies by a natural language inference model, as
/// transformers' zero-shot pipeline does.
absl::Status AddScoreRoutes(const Service& service, RouteTable& routes);

/// POST /worker_get_embeddings, as FastChat's API server calls a worker. Errors have status 200.
absl::Status AddFastchatEmbeddingsRoute(const Service& service, RouteTable& routes);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_EMBEDDINGS_ROUTES_H_
