#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/embeddings/answer.h"
#include "serve/embeddings/fields.h"
#include "serve/embeddings/routes.h"
#include "serve/openapi.h"
#include "serve/sampling_fields.h"
#include "text/tokenizer.h"

namespace shortlist {
namespace {

using nlohmann::json;

/// The format of a reply.
enum class Shape { kSglang, kCohere, kTei, kInfinity, kVoyage };

/// Data of the request that its reply needs.
struct Form {
  Shape shape = Shape::kCohere;
  std::string model, rid;
  size_t top_n = 0;                // at most the number of documents
  std::vector<std::string> texts;  // of the documents; empty: not returned
};

/// Returns indices of the documents, the best first.
std::vector<size_t> Order(const EncodedBatch& encoded, size_t top_n) {
  std::vector<size_t> order(encoded.values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return encoded.values[a].front() > encoded.values[b].front();
  });
  order.resize(top_n);
  return order;
}

std::string Text(const Form& form, size_t i) { return Dump(json(form.texts[i])); }

void AppendResult(const Form& form, const EncodedBatch& encoded, size_t i, std::string& text) {
  const bool has_text = !form.texts.empty();
  switch (form.shape) {
    case Shape::kSglang:
      text += "{\"score\":";
      AppendFloat(encoded.values[i].front(), text);
      if (has_text) absl::StrAppend(&text, ",\"document\":", Text(form, i));
      absl::StrAppend(&text, ",\"index\":", i,
                      ",\"meta_info\":{\"id\":", Dump(json(absl::StrCat(form.rid, "-", i))),
                      ",\"prompt_tokens\":", encoded.num_tokens[i],
                      ",\"e2e_latency\":", encoded.seconds, "}}");
      return;
    case Shape::kTei:
      absl::StrAppend(&text, "{\"index\":", i);
      if (has_text) absl::StrAppend(&text, ",\"text\":", Text(form, i));
      text += ",\"score\":";
      break;
    case Shape::kCohere:
      absl::StrAppend(&text, "{\"index\":", i);
      if (has_text) absl::StrAppend(&text, ",\"document\":{\"text\":", Text(form, i), "}");
      text += ",\"relevance_score\":";
      break;
    case Shape::kInfinity:
    case Shape::kVoyage:
      absl::StrAppend(&text, "{\"index\":", i);
      if (has_text) absl::StrAppend(&text, ",\"document\":", Text(form, i));
      text += ",\"relevance_score\":";
      break;
  }
  AppendFloat(encoded.values[i].front(), text);
  text += '}';
}

std::string Write(const Form& form, const EncodedBatch& encoded) {
  std::string results = "[";
  for (const size_t i : Order(encoded, form.top_n)) {
    if (results.size() > 1) results += ',';
    AppendResult(form, encoded, i, results);
  }
  results += ']';
  if (form.shape == Shape::kSglang || form.shape == Shape::kTei) return results;
  const bool is_voyage = form.shape == Shape::kVoyage;
  std::string reply = absl::StrCat(
      "{\"id\":", Dump(json("rerank-" + form.rid)),
      ",\"object\":", form.shape == Shape::kInfinity ? "\"rerank\"" : "\"list\"",
      ",\"model\":", Dump(json(form.model)), is_voyage ? ",\"data\":" : ",\"results\":", results,
      ",\"usage\":", Dump(EncodeUsage(encoded)));
  if (form.shape == Shape::kCohere) {
    const nlohmann::ordered_json meta = {
        {"api_version", {{"version", "2"}}},
        {"billed_units", {{"search_units", 1}}},
        {"tokens", {{"input_tokens", encoded.total_tokens()}}},
    };
    absl::StrAppend(&reply, ",\"meta\":", Dump(meta));
  }
  return reply + "}";
}

/// Accepts fields of Cohere, Jina and vLLM that have no effect, and rejects those that would have
/// one.
void AcceptOrRefuseOthers(JsonFields& fields) {
  fields.Accept({"user", "custom_labels", "routing_key", "session_id"});
  fields.Refuse({"rank_fields", "max_chunks_per_doc", "lora_path", "max_tokens_per_query"},
                "not supported");
}

/// Prepares documents for a model without pairs: their token vectors are compared to those of the
/// query.
void ReadForMultiVectors(const ServedEncoder& encoder, const std::string& query,
                         EncodeAsked& asked) {
  const auto prompt = [&encoder](const char* name) {
    const auto found = encoder.prompts.find(name);
    return found != encoder.prompts.end() ? found->second : encoder.default_prompt;
  };
  EncodeBatch& batch = asked.batch;
  asked.query = EncodeBatch{.model = batch.model,
                            .inputs = {{.text = query, .first = nullptr, .ids = {}}},
                            .field = "query",
                            .is_list = false,
                            .instruction = prompt("query"),
                            .cut = batch.cut,
                            .wish = {.dense = false, .multi_vector = true},
                            .priority = batch.priority};
  batch.instruction = prompt("document");
  batch.wish.dense = false;
  for (EncodeSource& source : batch.inputs) source.first = nullptr;
}

/// Returns the number of documents to rank: "top_n", which sglang-router and Voyage call "top_k";
/// nullopt: all. Records an error if both are present and differ.
std::optional<int64_t> ReadTopN(JsonFields& fields) {
  const auto top_n = fields.OptionalInteger("top_n", 1, kMaxCount);
  const auto top_k = fields.OptionalInteger("top_k", 1, kMaxCount);
  if (top_n && top_k && *top_n != *top_k) {
    fields.Fail("top_n", absl::StrCat(*top_n, " differs from top_k, which is ", *top_k,
                                      ": they are two names of one field"));
  }
  return top_n ? top_n : top_k;
}

absl::StatusOr<EncodeAsked> Read(const Service& service, JsonFields& fields, const char* documents,
                                 Shape shape) {
  EncodeAsked asked;
  EncodeBatch& batch = asked.batch;
  SHORTLIST_ASSIGN_OR_RETURN(batch.model, ReadRankingModel(service, fields));
  const ServedEncoder& encoder = service.generator->options().encoders[batch.model];
  const bool has_pairs = encoder.makes == ServedEncoder::Makes::kScores;
  if (has_pairs && encoder.result_size != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "`", encoder.name, "` distinguishes ", encoder.result_size,
        " labels, and documents are ranked by one: /classify and /predict return all"));
  }
  const bool is_tei = shape == Shape::kTei;
  auto query =
      std::make_shared<const std::string>(fields.String("query", "", Tokenizer::kMaxTextBytes));
  if (fields.Find("query") == nullptr) fields.Fail("query", "missing");
  ReadDocuments(fields, documents, query, batch);
  batch.cut = ReadEncodeCut(fields, encoder, /*truncates=*/shape != Shape::kSglang,
                            /*has_truncation=*/true);
  batch.instruction = ReadPairInstruction(fields, encoder);
  const bool raw = fields.Bool("raw_scores", false);
  batch.wish.scores = raw      ? EncodeWish::Scores::kRaw
                      : is_tei ? EncodeWish::Scores::kSigmoid
                               : EncodeWish::Scores::kModels;
  Form form{.shape = shape, .model = encoder.name, .top_n = batch.inputs.size()};
  const bool tells_text = is_tei ? fields.Bool("return_text", false)
                                 : fields.Bool("return_documents", shape != Shape::kVoyage);
  if (const auto most = ReadTopN(fields)) {
    form.top_n = std::min(form.top_n, static_cast<size_t>(*most));
  }
  asked.rid = form.rid = ReadEncodeScheduling(fields, batch);
  if (!has_pairs) ReadForMultiVectors(encoder, *query, asked);
  if (shape == Shape::kSglang) {
    batch.num_reply_bytes = std::ssize(batch.inputs) * NumJsonBytes(form.rid);
  }
  if (const auto most = fields.OptionalInteger("max_tokens_per_doc", 1, kMaxCount);
      most && *most < encoder.max_input_tokens) {
    if (has_pairs) {
      batch.cut.max_second_tokens = *most;
    } else {
      batch.cut.truncates = true;
      batch.cut.max_tokens = std::min(*most, batch.cut.max_tokens.value_or(*most));
    }
  }
  AcceptOrRefuseOthers(fields);
  fields.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  for (size_t i = 0; i < batch.inputs.size() && tells_text; ++i) {
    form.texts.push_back(batch.inputs[i].text);
    batch.num_reply_bytes += std::ssize(form.texts.back());
  }
  asked.write = [form = std::move(form)](const EncodedBatch& encoded) {
    return Write(form, encoded);
  };
  return asked;
}

/// Reads SGLang's request, or Voyage's if it has "truncation", which Voyage's client always sends.
absl::StatusOr<EncodeAsked> ParseV1(const Service& service, const std::string& text) {
  SHORTLIST_ASSIGN_OR_RETURN(const json body, ParseRequestBody(text));
  JsonFields fields(body);
  return Read(service, fields, "documents",
              body.contains("truncation") ? Shape::kVoyage : Shape::kSglang);
}

absl::StatusOr<EncodeAsked> ParseV2(const Service& service, const std::string& text) {
  SHORTLIST_ASSIGN_OR_RETURN(const json body, ParseRequestBody(text));
  JsonFields fields(body);
  return Read(service, fields, "documents", Shape::kCohere);
}

absl::StatusOr<EncodeAsked> ParseInfinity(const Service& service, const std::string& text) {
  SHORTLIST_ASSIGN_OR_RETURN(const json body, ParseRequestBody(text));
  JsonFields fields(body);
  return Read(service, fields, "documents", Shape::kInfinity);
}

/// Reads TEI's request if it has no "documents". Otherwise Voyage's or Infinity's if it has the
/// field that their clients always send, else Jina's.
absl::StatusOr<EncodeAsked> ParseAny(const Service& service, const std::string& text) {
  SHORTLIST_ASSIGN_OR_RETURN(const json body, ParseRequestBody(text));
  JsonFields fields(body);
  if (!body.contains("documents")) return Read(service, fields, "texts", Shape::kTei);
  if (body.contains("texts")) fields.Fail("texts", "documents are there too");
  const Shape shape = body.contains("truncation")   ? Shape::kVoyage
                      : body.contains("raw_scores") ? Shape::kInfinity
                                                    : Shape::kCohere;
  return Read(service, fields, "documents", shape);
}

/// Returns TEI's error body, with "detail" for Voyage's client.
std::string AnyErrorBody(const absl::Status& status) {
  return WithDetail(TeiErrorBody(status), status);
}

}  // namespace

absl::Status AddRerankRoutes(const Service& service, RouteTable& routes) {
  SHORTLIST_RETURN_IF_ERROR(routes.Add(
      EncodeRoute(service, "/v1/rerank", ParseV1, openapi::Rerank("documents"), VoyageErrorBody)));
  SHORTLIST_RETURN_IF_ERROR(
      routes.Add(EncodeRoute(service, "/v2/rerank", ParseV2, openapi::Rerank("documents"))));
  SHORTLIST_RETURN_IF_ERROR(routes.Add(
      EncodeRoute(service, "/infinity/rerank", ParseInfinity, openapi::Rerank("documents"))));
  return routes.Add(
      EncodeRoute(service, "/rerank", ParseAny, openapi::Rerank("texts"), AnyErrorBody));
}

}  // namespace shortlist
