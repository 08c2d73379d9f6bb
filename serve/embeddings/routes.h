#ifndef SHORTLIST_SERVE_EMBEDDINGS_ROUTES_H_
#define SHORTLIST_SERVE_EMBEDDINGS_ROUTES_H_

#include "absl/status/status.h"
#include "serve/http/route_table.h"
#include "serve/service.h"

namespace shortlist {

// The routes of encoders. All are there whatever is loaded: one whose model is missing answers 400
// and names the flag that loads it. Where a score is told without saying how it comes about, it is
// by the function that the checkpoint names; "raw_scores" gives logits.

/// POST /v1/embeddings, as OpenAI's, with embedding_types (dense, sparse, colbert, all of one
/// pass), vLLM's truncate_prompt_tokens, truncation_side, normalize and priority, and
/// sentence-transformers' prompts: prompt_name, input_type or instruction.
absl::Status AddOpenAiEmbeddingsRoute(const Service& service, RouteTable& routes);
/// POST /v2/embed, as Cohere's: texts, images, or inputs of one part each, and vectors of length 1
/// as each of embedding_types: float; base64 of these; int8, 127 times the value, and uint8, 128
/// more; ubinary, eight dimensions a byte, whose bit is set above 0, and binary, 128 less.
absl::Status AddCohereEmbedRoute(const Service& service, RouteTable& routes);
/// POST /v1/rerank as SGLang's (a bare array), /v2/rerank as Cohere's and Jina's, and /rerank,
/// which is TEI's with "texts", Infinity's with "documents" and "raw_scores", which its client
/// always sends, and else Jina's. Both /v1/rerank and /rerank are Voyage's with "truncation", which
/// its client always sends. /infinity/rerank is Infinity's whatever is sent. Without a model that
/// scores pairs an encoder's multi-vectors rank: the mean over the query's of the largest dot
/// product, as it is.
absl::Status AddRerankRoutes(const Service& service, RouteTable& routes);
/// TEI's POST /embed, /embed_sparse and /predict.
absl::Status AddTeiRoutes(const Service& service, RouteTable& routes);
/// SGLang's POST and PUT /encode.
absl::Status AddSglangEncodeRoutes(const Service& service, RouteTable& routes);
/// POST /v1/score and /score, /classify and /v1/classify, as vLLM's; /classify with
/// candidate_labels, hypothesis_template and multi_label judges by a natural language inference
/// model, as transformers' zero-shot pipeline does.
absl::Status AddScoreRoutes(const Service& service, RouteTable& routes);

/// POST /worker_get_embeddings, as FastChat's API server asks a worker. Errors have status 200.
absl::Status AddFastchatEmbeddingsRoute(const Service& service, RouteTable& routes);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_EMBEDDINGS_ROUTES_H_
