#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/embeddings/answer.h"
#include "serve/embeddings/fields.h"
#include "serve/embeddings/routes.h"
#include "serve/openapi.h"

namespace shortlist {
namespace {

using nlohmann::json;

std::string WriteVectors(EncodedBatch encoded) {
  std::string text = "[";
  for (std::vector<float>& values : encoded.values) {
    if (text.size() > 1) text += ',';
    AppendFloats(values, text);
    values = {};
  }
  return text + "]";
}

std::string WriteSparse(EncodedBatch encoded) {
  std::string text = "[";
  for (std::vector<SparseWeight>& weights : encoded.sparse) {
    if (text.size() > 1) text += ',';
    AppendSparse(weights, text);
    weights = {};
  }
  return text + "]";
}

/// Reads a request for vectors of one kind; `read` reads the fields of that kind into the wish.
absl::StatusOr<EncodeAsked> ParseVectors(const Service& service, const std::string& text,
                                         void (*read)(JsonFields&, const ServedEncoder&,
                                                      EncodeWish&),
                                         std::string (*write)(EncodedBatch)) {
  SHORTLIST_ASSIGN_OR_RETURN(const json body, ParseRequestBody(text));
  JsonFields fields(body);
  EncodeAsked asked;
  EncodeBatch& batch = asked.batch;
  SHORTLIST_ASSIGN_OR_RETURN(batch.model,
                             ReadEncoderModel(service, fields, ServedEncoder::Makes::kVectors));
  const ServedEncoder& encoder = service.generator->options().encoders[batch.model];
  ReadEncodeSources(fields, "inputs", encoder, batch);
  batch.cut = ReadEncodeCut(fields, encoder, /*truncates=*/true);
  batch.instruction = ReadInstruction(fields, encoder);
  read(fields, encoder, batch.wish);
  asked.rid = ReadEncodeScheduling(fields, batch);
  batch.num_reply_bytes = std::ssize(batch.inputs) * NumJsonBytes(encoder.labels);
  fields.RefuseUnless("parameters", json::object(), "not supported: fields stand next to inputs");
  fields.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  asked.write = write;
  return asked;
}

absl::StatusOr<EncodeAsked> ParseEmbed(const Service& service, const std::string& text) {
  const auto read = [](JsonFields& fields, const ServedEncoder& encoder, EncodeWish& wish) {
    wish = ReadVectorWish(fields, encoder);
    if (!wish.normalizes) wish.normalizes = true;
    RequireDense(fields, encoder);
  };
  return ParseVectors(service, text, read, WriteVectors);
}

absl::StatusOr<EncodeAsked> ParseEmbedSparse(const Service& service, const std::string& text) {
  const auto read = [](JsonFields& fields, const ServedEncoder& encoder, EncodeWish& wish) {
    wish.dense = false;
    wish.sparse = true;
    ReadSparseCut(fields, encoder, wish);
  };
  return ParseVectors(service, text, read, WriteSparse);
}

/// Reads a text, a pair, or a list of lists of one or two texts. A list of two texts is a pair.
void ReadPredictInputs(JsonFields& fields, EncodeBatch& batch) {
  batch.field = "inputs";
  const json* value = fields.Find("inputs");
  if (value == nullptr) return fields.Fail("inputs", "missing");
  const auto read = [&fields](const json& entry, const std::string& place) {
    EncodeSource source;
    const bool is_list = entry.is_array() && !entry.empty() && entry.size() <= 2 &&
                         entry.front().is_string() && entry.back().is_string();
    if (!entry.is_string() && !is_list) fields.Fail(place, "neither a text nor a pair of texts");
    if (!fields.status().ok()) return source;
    source.text = is_list ? entry.back().get<std::string>() : entry.get<std::string>();
    if (is_list && entry.size() == 2) {
      source.first = std::make_shared<const std::string>(entry.front().get<std::string>());
    }
    return source;
  };
  batch.is_list = value->is_array() && !value->empty() && value->front().is_array();
  if (!batch.is_list) {
    batch.inputs.push_back(read(*value, "inputs"));
    return;
  }
  for (size_t i = 0; i < value->size() && fields.status().ok(); ++i) {
    batch.inputs.push_back(read((*value)[i], absl::StrCat("inputs[", i, "]")));
  }
}

void AppendLabels(const std::vector<std::string>& labels, const std::vector<float>& scores,
                  std::string& text) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  text += '[';
  for (const size_t i : order) {
    if (text.back() != '[') text += ',';
    text += "{\"score\":";
    AppendFloat(scores[i], text);
    absl::StrAppend(&text, ",\"label\":", Dump(json(labels[i])), "}");
  }
  text += ']';
}

std::string WriteLabels(const std::vector<std::string>& labels, bool is_list,
                        const EncodedBatch& encoded) {
  std::string text;
  if (!is_list) {
    AppendLabels(labels, encoded.values.front(), text);
    return text;
  }
  text = "[";
  for (size_t i = 0; i < encoded.values.size(); ++i) {
    if (i > 0) text += ',';
    AppendLabels(labels, encoded.values[i], text);
  }
  return text + "]";
}

absl::StatusOr<EncodeAsked> ParsePredict(const Service& service, const std::string& text) {
  SHORTLIST_ASSIGN_OR_RETURN(const json body, ParseRequestBody(text));
  JsonFields fields(body);
  EncodeAsked asked;
  EncodeBatch& batch = asked.batch;
  SHORTLIST_ASSIGN_OR_RETURN(batch.model,
                             ReadEncoderModel(service, fields, ServedEncoder::Makes::kScores));
  const ServedEncoder& encoder = service.generator->options().encoders[batch.model];
  ReadPredictInputs(fields, batch);
  batch.cut = ReadEncodeCut(fields, encoder, /*truncates=*/true);
  batch.instruction = ReadPairInstruction(fields, encoder);
  batch.wish.scores = fields.Bool("raw_scores", false) ? EncodeWish::Scores::kRaw
                      : encoder.result_size == 1       ? EncodeWish::Scores::kSigmoid
                                                       : EncodeWish::Scores::kSoftmax;
  asked.rid = ReadEncodeScheduling(fields, batch);
  fields.RefuseUnless("parameters", json::object(), "not supported: fields stand next to inputs");
  fields.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  asked.write = [labels = encoder.labels, is_list = batch.is_list](const EncodedBatch& encoded) {
    return WriteLabels(labels, is_list, encoded);
  };
  return asked;
}

}  // namespace

absl::Status AddTeiRoutes(const Service& service, RouteTable& routes) {
  SHORTLIST_RETURN_IF_ERROR(
      routes.Add(EncodeRoute(service, "/embed", ParseEmbed, openapi::Embed(), TeiErrorBody)));
  SHORTLIST_RETURN_IF_ERROR(routes.Add(EncodeRoute(service, "/embed_sparse", ParseEmbedSparse,
                                                   openapi::EmbedSparse(), TeiErrorBody)));
  return routes.Add(
      EncodeRoute(service, "/predict", ParsePredict, openapi::Predict(), TeiErrorBody));
}

}  // namespace shortlist
