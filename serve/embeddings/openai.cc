#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/embeddings/answer.h"
#include "serve/embeddings/fields.h"
#include "serve/embeddings/routes.h"
#include "serve/openapi.h"
#include "serve/sampling_fields.h"

namespace shortlist {
namespace {

using nlohmann::json;

std::string Write(const std::string& model, bool is_base64, EncodedBatch encoded) {
  std::string text = "{\"object\":\"list\",\"data\":[";
  for (size_t i = 0; i < encoded.values.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ",", "{\"object\":\"embedding\",\"index\":", i,
                    ",\"embedding\":");
    if (is_base64) {
      AppendBase64(encoded.values[i], text);
    } else {
      AppendFloats(encoded.values[i], text);
    }
    text += '}';
    encoded.values[i] = {};
  }
  absl::StrAppend(&text, "],\"model\":", Dump(json(model)),
                  ",\"usage\":", Dump(EncodeUsage(encoded)), "}");
  return text;
}

absl::StatusOr<EncodeAsked> Parse(const Service& service, const std::string& text) {
  SHORTLIST_ASSIGN_OR_RETURN(const json body, ParseRequestBody(text));
  JsonFields fields(body);
  EncodeAsked asked;
  EncodeBatch& batch = asked.batch;
  SHORTLIST_ASSIGN_OR_RETURN(batch.model,
                             ReadEncoderModel(service, fields, ServedEncoder::Makes::kVectors));
  const ServedEncoder& encoder = service.generator->options().encoders[batch.model];
  const bool is_base64 = ReadEncodingFormat(fields);
  ReadEncodeSources(fields, "input", encoder, batch);
  batch.cut = ReadEncodeCut(fields, encoder, /*truncates=*/false);
  batch.instruction = ReadInstruction(fields, encoder);
  batch.wish = ReadVectorWish(fields, encoder);
  asked.rid = ReadEncodeScheduling(fields, batch);
  fields.Accept({"user", "metadata", "custom_labels", "routing_key", "session_id"});
  fields.Refuse({"messages", "lora_path", "embed_override_token_id", "embed_overrides"},
                "not supported");
  fields.RefuseUnless("add_special_tokens", true, "they are always added");
  fields.RefuseUnless("embed_dtype", "float32", "only \"float32\" is supported");
  fields.RefuseUnless("endianness", "little", "only \"little\" is supported");
  fields.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  asked.write = [name = encoder.name, is_base64](EncodedBatch encoded) {
    return Write(name, is_base64, std::move(encoded));
  };
  return asked;
}

}  // namespace

absl::Status AddOpenAiEmbeddingsRoute(const Service& service, RouteTable& routes) {
  return routes.Add(EncodeRoute(service, "/v1/embeddings", Parse, openapi::Embeddings()));
}

}  // namespace shortlist
