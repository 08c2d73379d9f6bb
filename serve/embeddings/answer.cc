#include "serve/embeddings/answer.h"

#include <bit>
#include <charconv>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/json.h"
#include "serve/embeddings/pictures.h"
#include "serve/http/json_fields.h"

namespace shortlist {
namespace {

using boost::asio::awaitable;

constexpr int64_t kFloatBytes = 12;   // of a float in JSON, with its comma
constexpr int64_t kWeightBytes = 36;  // of a weight of a sparse vector

/// Approximate size of the numbers in a reply.
int64_t NumBytes(const EncodedBatch& encoded) {
  int64_t num_bytes = 0;
  for (const std::vector<float>& values : encoded.values) {
    num_bytes += kFloatBytes * std::ssize(values);
  }
  for (const std::vector<float>& vectors : encoded.multi_vectors) {
    num_bytes += kFloatBytes * std::ssize(vectors);
  }
  for (const std::vector<SparseWeight>& weights : encoded.sparse) {
    num_bytes += kWeightBytes * std::ssize(weights);
  }
  return num_bytes;
}

/// Encodes the query that the batch is scored for, and adds it to the batch.
awaitable<absl::Status> EncodeQuery(const Service& service, const HttpRequest& http,
                                    EncodeAsked& asked, int64_t& num_tokens) {
  auto running = service.generator->Encode(*std::move(asked.query), http.client, asked.rid);
  absl::StatusOr<EncodedBatch> encoded = co_await std::move(running);
  if (!encoded.ok()) co_return encoded.status();
  num_tokens = encoded->total_tokens();
  asked.batch.wish.query =
      std::make_shared<const std::vector<float>>(std::move(encoded->multi_vectors.front()));
  co_return absl::OkStatus();
}

awaitable<absl::Status> Answer(const Service& service, ParseEncodeRequest parse,
                               const HttpRequest& http, HttpResponse& response) {
  const auto read = [&] { return parse(service, http.body); };
  absl::StatusOr<EncodeAsked> asked =
      co_await service.workers->RunIfLarge(http.client, std::ssize(http.body), read);
  if (!asked.ok()) co_return asked.status();
  http.DropBody();
  absl::Status fetched = co_await FetchPictures(service.fetcher, http.client.name, asked->batch);
  if (!fetched.ok()) co_return fetched;
  int64_t num_query_tokens = 0;
  if (asked->query) {
    const absl::Status status = co_await EncodeQuery(service, http, *asked, num_query_tokens);
    if (!status.ok()) co_return status;
  }
  const int64_t num_reply_bytes = asked->batch.num_reply_bytes;
  auto running = service.generator->Encode(std::move(asked->batch), http.client, asked->rid);
  absl::StatusOr<EncodedBatch> encoded = co_await std::move(running);
  if (!encoded.ok()) co_return encoded.status();
  encoded->num_query_tokens = num_query_tokens;
  response.record().prompt_tokens = encoded->total_tokens();
  const int64_t num_bytes = NumBytes(*encoded) + num_reply_bytes;
  const auto write = [&] { return asked->write(*std::move(encoded)); };
  std::string body = co_await service.workers->RunIfLarge(http.client, num_bytes, write);
  co_await response.Send(200, kJsonType, std::move(body));
  co_return absl::OkStatus();
}

}  // namespace

Route EncodeRoute(const Service& service, const char* path, ParseEncodeRequest parse,
                  std::string openapi, ErrorBody error_body) {
  return {.method = "POST",
          .path = path,
          .takes_json = true,
          .handler =
              [&service, parse](const HttpRequest& request, HttpResponse& response) {
                return Answer(service, parse, request, response);
              },
          .error_body = error_body,
          .openapi = std::move(openapi)};
}

void AppendFloat(float value, std::string& text) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  SHORTLIST_CHECK(error == std::errc());
  text.append(digits, end);
}

void AppendFloats(std::span<const float> values, std::string& text) {
  text += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ',';
    AppendFloat(values[i], text);
  }
  text += ']';
}

void AppendSparse(std::span<const SparseWeight> weights, std::string& text) {
  text += '[';
  for (size_t i = 0; i < weights.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? "," : "", "{\"index\":", Raw(weights[i].id), ",\"value\":");
    AppendFloat(weights[i].weight, text);
    text += '}';
  }
  text += ']';
}

static_assert(std::endian::native == std::endian::little, "base64 is of little-endian floats");

void AppendBase64(std::span<const float> values, std::string& text) {
  const absl::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  absl::StrAppend(&text, "\"", absl::Base64Escape(bytes), "\"");
}

nlohmann::ordered_json EncodeUsage(const EncodedBatch& encoded) {
  const int64_t num_tokens = encoded.total_tokens();
  return {{"prompt_tokens", num_tokens}, {"total_tokens", num_tokens}};
}

std::string WithDetail(const std::string& body, const absl::Status& status) {
  nlohmann::ordered_json object = ParseOrderedJson(body);
  object["detail"] = std::string(status.message());
  return Dump(object);
}

std::string VoyageErrorBody(const absl::Status& status) {
  return WithDetail(OpenAiErrorBody(status), status);
}

std::string TeiErrorBody(const absl::Status& status) {
  const int http_status = HttpStatusOf(status);
  const char* type = http_status == 429   ? "Overloaded"
                     : http_status == 503 ? "Unhealthy"
                     : http_status >= 500 ? "Backend"
                                          : "Validation";
  return Dump(
      nlohmann::ordered_json{{"error", std::string(status.message())}, {"error_type", type}});
}

}  // namespace shortlist
