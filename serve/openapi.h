#ifndef SHORTLIST_SERVE_OPENAPI_H_
#define SHORTLIST_SERVE_OPENAPI_H_

#include <string>

namespace shortlist::openapi {

// Operation objects of OpenAPI 3.1, as JSON text, for routes that take a body. A route accepts its
// fields as described. It may accept fields that are not described.

std::string Chat();
std::string Completions();
std::string Responses();
std::string Generate();
std::string Tokenize();
std::string Detokenize();
std::string AbortRequest();
std::string Embeddings();
std::string Rerank(const char* documents);
std::string CohereEmbed();
std::string Embed();
std::string EmbedSparse();
std::string Predict();
std::string Encode();
std::string Score();
std::string Classify();

}  // namespace shortlist::openapi

#endif  // SHORTLIST_SERVE_OPENAPI_H_
