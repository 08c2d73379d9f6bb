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

/// A request of one of the routes of encoders, as its dialect read it.
struct EncodeAsked {
  EncodeBatch batch;
  // Encoded first, where it is there: one input, whose multi-vector the batch's are scored for.
  std::optional<EncodeBatch> query;
  std::string rid;
  /// The reply's body as JSON text. On a worker thread.
  std::function<std::string(EncodedBatch encoded)> write;
};

/// Reads a body; may be called by a worker thread.
using ParseEncodeRequest = absl::StatusOr<EncodeAsked> (*)(const Service& service,
                                                           const std::string& body);

/// A POST route that answers what `parse` makes of a body: all of it, or an error. `service` must
/// outlive it.
Route EncodeRoute(const Service& service, const char* path, ParseEncodeRequest parse,
                  std::string openapi, ErrorBody error_body = OpenAiErrorBody);

/// Appends "[0.1,-2]": of each value, which is finite, the shortest text that reads back as the
/// same float.
void AppendFloats(std::span<const float> values, std::string& text);
void AppendFloat(float value, std::string& text);
/// Appends base64 of the little-endian floats, in quotes.
void AppendBase64(std::span<const float> values, std::string& text);

/// Appends [{"index": 5, "value": 0.1}], as TEI writes a sparse vector.
void AppendSparse(std::span<const SparseWeight> weights, std::string& text);

/// The most bytes that `text` takes as JSON.
inline int64_t NumJsonBytes(const std::string& text) { return 6 * std::ssize(text) + 2; }

/// Of each of them, with a few bytes round it.
inline int64_t NumJsonBytes(const std::vector<std::string>& texts) {
  constexpr int64_t kFraming = 24;
  int64_t num_bytes = 0;
  for (const std::string& text : texts) num_bytes += NumJsonBytes(text) + kFraming;
  return num_bytes;
}

/// {"prompt_tokens", "total_tokens"}
nlohmann::ordered_json EncodeUsage(const EncodedBatch& encoded);

/// TEI's {"error", "error_type"}.
std::string TeiErrorBody(const absl::Status& status);

/// `body`, an error as a JSON object, with the message as "detail" too: Voyage's client reads that
/// alone.
std::string WithDetail(const std::string& body, const absl::Status& status);
/// OpenAiErrorBody with it.
std::string VoyageErrorBody(const absl::Status& status);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_EMBEDDINGS_ANSWER_H_
