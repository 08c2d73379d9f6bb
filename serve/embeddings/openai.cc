#include <span>
#include <string>
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

/// Data of the request that its reply needs.
struct Form {
  std::string model;
  bool is_base64 = false;
  bool dense = true;
  size_t multi_vector_size = 0;
};

/// Appends the requested vectors of input `i` and frees them: "embedding" (empty if not requested),
/// "sparse" and "colbert".
void AppendVectors(const Form& form, size_t i, EncodedBatch& encoded, std::string& text) {
  const auto append = [&form](std::span<const float> values, std::string& to) {
    form.is_base64 ? AppendBase64(values, to) : AppendFloats(values, to);
  };
  text += ",\"embedding\":";
  if (form.dense) {
    append(encoded.values[i], text);
    encoded.values[i] = {};
  } else {
    text += "[]";  // OpenAI's client requires a list, and would decode a text
  }
  if (!encoded.sparse.empty()) {
    text += ",\"sparse\":";
    AppendSparse(encoded.sparse[i], text);
    encoded.sparse[i] = {};
  }
  if (encoded.multi_vectors.empty()) return;
  const std::span<const float> vectors = encoded.multi_vectors[i];
  text += ",\"colbert\":[";
  for (size_t at = 0; at < vectors.size(); at += form.multi_vector_size) {
    if (at > 0) text += ',';
    append(vectors.subspan(at, form.multi_vector_size), text);
  }
  text += ']';
  encoded.multi_vectors[i] = {};
}

std::string Write(const Form& form, EncodedBatch encoded) {
  std::string text = "{\"object\":\"list\",\"data\":[";
  for (size_t i = 0; i < encoded.values.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ",", "{\"object\":\"embedding\",\"index\":", i);
    AppendVectors(form, i, encoded, text);
    text += '}';
  }
  absl::StrAppend(&text, "],\"model\":", Dump(json(form.model)),
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
  batch.cut = ReadEncodeCut(fields, encoder, /*truncates=*/false, /*has_truncation=*/true);
  batch.instruction = ReadInstruction(fields, encoder);
  batch.wish = ReadVectorWish(fields, encoder);
  const int64_t dimensions = batch.wish.dimensions;
  batch.wish.dimensions = fields.Integer("output_dimension", dimensions, 1, encoder.result_size);
  if (fields.Find("dimensions") != nullptr && batch.wish.dimensions != dimensions) {
    fields.Fail("output_dimension", "it differs from dimensions, another name of the same field");
  }
  ReadEmbeddingTypes(fields, encoder, batch.wish);
  if (!batch.wish.dense) {
    for (const char* name : {"dimensions", "output_dimension", "normalize"}) {
      if (fields.Find(name) == nullptr) continue;
      fields.Fail(name, "there is no \"dense\" among embedding_types");
    }
  }
  asked.rid = ReadEncodeScheduling(fields, batch);
  fields.Accept({"user", "metadata", "custom_labels", "routing_key", "session_id"});
  fields.Refuse({"messages", "lora_path", "embed_override_token_id", "embed_overrides"},
                "not supported");
  fields.RefuseUnless("add_special_tokens", true, "they are always added");
  fields.RefuseUnless("embed_dtype", "float32", "only \"float32\" is supported");
  fields.RefuseUnless("output_dtype", "float", "only \"float\" is supported; /v2/embed has others");
  fields.RefuseUnless("endianness", "little", "only \"little\" is supported");
  fields.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  const Form form{.model = encoder.name,
                  .is_base64 = is_base64,
                  .dense = batch.wish.dense,
                  .multi_vector_size = static_cast<size_t>(encoder.multi_vector_size)};
  asked.write = [form](EncodedBatch encoded) { return Write(form, std::move(encoded)); };
  return asked;
}

}  // namespace

absl::Status AddOpenAiEmbeddingsRoute(const Service& service, RouteTable& routes) {
  return routes.Add(
      EncodeRoute(service, "/v1/embeddings", Parse, openapi::Embeddings(), VoyageErrorBody));
}

}  // namespace shortlist
