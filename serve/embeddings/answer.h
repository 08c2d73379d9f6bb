#ifndef SHORTLIST_SERVE_EMBEDDINGS_ANSWER_H_
#define SHORTLIST_SERVE_EMBEDDINGS_ANSWER_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "serve/http/api_error.h"
#include "serve/http/route_table.h"
#include "serve/served_encoder.h"
#include "serve/service.h"

namespace shortlist {

/// A request to a route of encoders, as its dialect read it.
struct EncodeAsked {
  EncodeBatch batch;
  // Encoded first, if present: one input. The batch's multi-vectors are scored for its
  // multi-vector.
  std::optional<EncodeBatch> query;
  std::string rid;
  /// Returns the body of the reply as JSON text. Called on a worker thread.
  std::function<std::string(EncodedBatch encoded)> write;
};

/// Reads a body. May be called on a worker thread.
using ParseEncodeRequest = absl::StatusOr<EncodeAsked> (*)(const Service& service,
                                                           const std::string& body);

/// Returns a POST route that encodes what `parse` reads from the body and replies with all results
/// or an error. `service` must outlive the route.
Route EncodeRoute(const Service& service, const char* path, ParseEncodeRequest parse,
                  std::string openapi, ErrorBody error_body = OpenAiErrorBody);

/// Appends "[0.1,-2]": for each value, which must be finite, the shortest text that reads back as
/// the same float.
void AppendFloats(std::span<const float> values, std::string& text);
void AppendFloat(float value, std::string& text);
/// Appends base64 of the little-endian floats, in quotes.
void AppendBase64(std::span<const float> values, std::string& text);

/// Appends [{"index": 5, "value": 0.1}]: TEI's format of a sparse vector.
void AppendSparse(std::span<const SparseWeight> weights, std::string& text);

/// Upper bound of the bytes that `text` takes as JSON.
inline int64_t NumJsonBytes(const std::string& text) { return 6 * std::ssize(text) + 2; }

/// Upper bound of the bytes that the texts take as JSON, with some bytes of framing for each.
inline int64_t NumJsonBytes(const std::vector<std::string>& texts) {
  constexpr int64_t kFraming = 24;
  int64_t num_bytes = 0;
  for (const std::string& text : texts) num_bytes += NumJsonBytes(text) + kFraming;
  return num_bytes;
}

/// Returns {"prompt_tokens", "total_tokens"}.
nlohmann::ordered_json EncodeUsage(const EncodedBatch& encoded);

/// Returns TEI's {"error", "error_type"}.
std::string TeiErrorBody(const absl::Status& status);

/// Returns `body`, an error as a JSON object, with the message added as "detail", the only member
/// that Voyage's client reads.
std::string WithDetail(const std::string& body, const absl::Status& status);
/// Returns OpenAiErrorBody(status) with "detail", see WithDetail().
std::string VoyageErrorBody(const absl::Status& status);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_EMBEDDINGS_ANSWER_H_
