#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/embeddings/answer.h"
#include "serve/embeddings/fields.h"
#include "serve/embeddings/routes.h"
#include "serve/fastchat/reply.h"
#include "serve/openapi.h"
#include "serve/sampling_fields.h"

namespace shortlist {
namespace {

using boost::asio::awaitable;
using nlohmann::json;

std::string Write(bool is_base64, EncodedBatch encoded) {
  std::string text = "{\"embedding\":[";
  for (std::vector<float>& values : encoded.values) {
    if (text.back() != '[') text += ',';
    is_base64 ? AppendBase64(values, text) : AppendFloats(values, text);
    values = {};
  }
  absl::StrAppend(&text, "],\"token_num\":", encoded.total_tokens(), "}");
  return text;
}

/// Returns the encoder that `model` names, else the first that makes vectors. Else the generating
/// model's hidden states, which FastChat's own worker uses. FastChat may know either model by other
/// names.
absl::StatusOr<size_t> ChooseEncoder(const Service& service, const std::string& model,
                                     JsonFields& fields) {
  using Makes = ServedEncoder::Makes;
  const std::vector<ServedEncoder>& encoders = service.generator->options().encoders;
  std::optional<size_t> chosen;
  for (size_t i = 0; i < encoders.size(); ++i) {
    if (encoders[i].makes == Makes::kScores) continue;
    if (encoders[i].name == model) return i;
    const bool is_better = !chosen || (encoders[*chosen].makes == Makes::kStates &&
                                       encoders[i].makes == Makes::kVectors);
    if (is_better) chosen = i;
  }
  if (chosen) return *chosen;
  return ReadEncoderModel(service, fields, Makes::kVectors);  // returns the error
}

/// FastChat's API server sends its own model names, which the controller knows, and expects long
/// texts to be accepted. Fields that later versions may add are ignored.
absl::StatusOr<EncodeAsked> Parse(const Service& service, const std::string& text) {
  SHORTLIST_ASSIGN_OR_RETURN(json body, ParseRequestBody(text));
  const json named = body.contains("model") ? body["model"] : json();
  body.erase("model");
  JsonFields fields(body);
  EncodeAsked asked;
  EncodeBatch& batch = asked.batch;
  SHORTLIST_ASSIGN_OR_RETURN(
      batch.model,
      ChooseEncoder(service, named.is_string() ? named.get<std::string>() : "", fields));
  const ServedEncoder& encoder = service.generator->options().encoders[batch.model];
  ReadEncodeSources(fields, "input", encoder, batch);
  const bool is_base64 = ReadEncodingFormat(fields);
  batch.cut.truncates = true;
  batch.instruction = encoder.default_prompt;
  batch.wish.normalizes = true;
  RequireDense(fields, encoder);
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  asked.write = [is_base64](EncodedBatch encoded) { return Write(is_base64, std::move(encoded)); };
  return asked;
}

}  // namespace

absl::Status AddFastchatEmbeddingsRoute(const Service& service, RouteTable& routes) {
  Route route = EncodeRoute(service, "/worker_get_embeddings", Parse, openapi::Embeddings(),
                            FastchatErrorBody);
  route.handler = [answer = std::move(route.handler)](
                      const HttpRequest& http, HttpResponse& response) -> awaitable<absl::Status> {
    const absl::Status status = co_await answer(http, response);
    if (status.ok()) co_return status;
    response.record().error_code = CodeOf(status);
    std::string body = FastchatErrorBody(status);
    co_await response.Send(200, kJsonType, std::move(body));
    co_return absl::OkStatus();
  };
  return routes.Add(std::move(route));
}

}  // namespace shortlist
