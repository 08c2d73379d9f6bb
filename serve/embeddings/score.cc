#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/counted.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/embeddings/answer.h"
#include "serve/embeddings/fields.h"
#include "serve/embeddings/routes.h"
#include "serve/embeddings/zero_shot.h"
#include "serve/openai/request.h"
#include "serve/openapi.h"
#include "text/tokenizer.h"

namespace shortlist {
namespace {

using nlohmann::json;

/// Names of the two sides of pairs for clients of vLLM and SGLang.
struct Sides {
  const char* first;
  const char* second;
};
constexpr Sides kSides[] = {
    {"text_1", "text_2"}, {"queries", "documents"}, {"query", "items"}, {"data_1", "data_2"}};

constexpr size_t kMaxLabels = 1024;

using Texts = std::vector<std::shared_ptr<const std::string>>;

/// Reads a text or a list of texts.
Texts ReadSide(JsonFields& fields, const char* name) {
  const json* value = fields.Find(name);
  const size_t count = value != nullptr && value->is_array() ? value->size() : 1;
  Texts texts;
  for (std::string& text : fields.Strings(name, count, Tokenizer::kMaxTextBytes)) {
    texts.push_back(std::make_shared<const std::string>(std::move(text)));
  }
  if (texts.empty()) fields.Fail(name, "missing or empty");
  return texts;
}

/// Reads one text for each of the others, or two lists of the same length.
void ReadPairs(JsonFields& fields, EncodeBatch& batch) {
  const Sides* sides = std::find_if(std::begin(kSides), std::end(kSides), [&](const Sides& named) {
    return fields.Find(named.first) != nullptr || fields.Find(named.second) != nullptr;
  });
  if (sides == std::end(kSides)) sides = std::begin(kSides);
  batch.field = sides->second;
  const Texts first = ReadSide(fields, sides->first);
  Texts second = ReadSide(fields, sides->second);
  if (!fields.status().ok()) return;
  if (first.size() != 1 && first.size() != second.size()) {
    return fields.Fail(sides->second, absl::StrCat(Counted(std::ssize(second), "text"), " for ",
                                                   first.size(), " in ", sides->first));
  }
  batch.inputs.resize(second.size());
  for (size_t i = 0; i < second.size(); ++i) {
    batch.inputs[i].first = first[first.size() == 1 ? 0 : i];
    batch.inputs[i].text = *second[i];
    second[i].reset();
  }
}

std::string Reply(const char* id_prefix, const std::string& rid, const std::string& model,
                  const std::string& data, const EncodedBatch& encoded) {
  return absl::StrCat("{\"id\":", Dump(json(id_prefix + rid)),
                      ",\"object\":\"list\",\"created\":", UnixNow(),
                      ",\"model\":", Dump(json(model)), ",\"data\":[", data,
                      "],\"usage\":", Dump(EncodeUsage(encoded)), "}");
}

std::string ScoreData(const EncodedBatch& encoded) {
  std::string data;
  for (size_t i = 0; i < encoded.values.size(); ++i) {
    absl::StrAppend(&data, i > 0 ? "," : "", "{\"index\":", i, ",\"object\":\"score\",\"score\":");
    AppendFloat(encoded.values[i].front(), data);
    data += '}';
  }
  return data;
}

std::string ClassData(const std::vector<std::string>& labels, const EncodedBatch& encoded) {
  std::string data;
  for (size_t i = 0; i < encoded.values.size(); ++i) {
    const std::vector<float>& probs = encoded.values[i];
    const auto best = std::max_element(probs.begin(), probs.end()) - probs.begin();
    absl::StrAppend(&data, i > 0 ? "," : "", "{\"index\":", i,
                    ",\"label\":", Dump(json(labels[best])), ",\"probs\":");
    AppendFloats(probs, data);
    absl::StrAppend(&data, ",\"num_classes\":", probs.size(), "}");
  }
  return data;
}

/// Returns the entries of a zero-shot reply. The logits of an entry's pairs are consecutive.
std::string ZeroShotData(const ZeroShotAsked& asked, const EncodedBatch& encoded) {
  const size_t count = asked.candidates.size();
  std::string data;
  for (size_t i = 0; i < encoded.values.size() / count; ++i) {
    const std::vector<float> probs = ZeroShotScores(
        std::span(encoded.values).subspan(i * count, count), asked.labels, asked.multi_label);
    const auto best = std::max_element(probs.begin(), probs.end()) - probs.begin();
    absl::StrAppend(&data, i > 0 ? "," : "", "{\"index\":", i,
                    ",\"label\":", Dump(json(asked.candidates[best])),
                    ",\"labels\":", Dump(json(asked.candidates)), ",\"probs\":");
    AppendFloats(probs, data);
    absl::StrAppend(&data, ",\"num_classes\":", count, "}");
  }
  return data;
}

/// Reads the fields that both routes have in addition to their inputs.
absl::Status ReadRest(const ServedEncoder& encoder, JsonFields& fields, EncodeAsked& asked) {
  asked.batch.cut = ReadEncodeCut(fields, encoder, /*truncates=*/false);
  asked.batch.wish.scores =
      fields.Bool("raw_scores", false) ? EncodeWish::Scores::kRaw : EncodeWish::Scores::kModels;
  asked.batch.instruction = ReadPairInstruction(fields, encoder);
  asked.rid = ReadEncodeScheduling(fields, asked.batch);
  fields.Accept({"user", "custom_labels", "routing_key", "session_id"});
  fields.Refuse({"apply_softmax", "item_first"}, "for \"label_token_ids\", which are not given");
  fields.Refuse({"label_token_ids", "return_pooled_hidden_states", "embed_overrides"},
                "not supported");
  fields.RefuseUnknown();
  return fields.status();
}

/// Reads SGLang's "query", with each of "items" after or before it: texts, or lists of token ids.
void ReadPrompts(JsonFields& fields, const ServedEncoder& encoder, EncodeBatch& batch) {
  EncodeBatch query;
  ReadEncodeSources(fields, "query", encoder, query);
  ReadEncodeSources(fields, "items", encoder, batch);
  const bool item_first = fields.Bool("item_first", false);
  if (!fields.status().ok()) return;
  if (query.is_list) return fields.Fail("query", "a list, where one query is wanted");
  const auto context = std::make_shared<const EncodeSource>(std::move(query.inputs.front()));
  for (size_t i = 0; i < batch.inputs.size(); ++i) {
    EncodeSource& item = batch.inputs[i];
    if (item.ids.empty() != context->ids.empty()) {
      return fields.Fail(absl::StrCat("items[", i, "]"),
                         "query and items are all texts, or all lists of token ids");
    }
    item.context = context;
    item.context_behind = item_first;
  }
}

std::string NextTokenReply(const std::string& model, const EncodedBatch& encoded) {
  std::string text = "{\"object\":\"scoring\",\"scores\":[";
  for (const std::vector<float>& of_labels : encoded.values) {
    if (text.back() != '[') text += ',';
    AppendFloats(of_labels, text);
  }
  return absl::StrCat(text, "],\"model\":", Dump(json(model)),
                      ",\"usage\":", Dump(EncodeUsage(encoded)), "}");
}

/// Reads SGLang's form: how likely the generating model continues with each of "label_token_ids".
absl::StatusOr<EncodeAsked> ParseNextTokens(const Service& service, const json& body) {
  JsonFields fields(body);
  EncodeAsked asked;
  EncodeBatch& batch = asked.batch;
  SHORTLIST_ASSIGN_OR_RETURN(batch.model,
                             ReadEncoderModel(service, fields, ServedEncoder::Makes::kStates));
  const ServedEncoder& encoder = service.generator->options().encoders[batch.model];
  ReadPrompts(fields, encoder, batch);
  for (const int64_t id :
       fields.Integers("label_token_ids", kMaxLabels, 0, encoder.vocab_size - 1)) {
    batch.wish.next_tokens.push_back(TokenId{static_cast<int32_t>(id)});
  }
  if (batch.wish.next_tokens.empty()) fields.Fail("label_token_ids", "a list that is empty");
  if (fields.Bool("apply_softmax", false)) batch.wish.scores = EncodeWish::Scores::kSoftmax;
  batch.cut = ReadEncodeCut(fields, encoder, /*truncates=*/false);
  asked.rid = ReadEncodeScheduling(fields, batch);
  fields.Accept({"user", "routing_key", "session_id"});
  fields.RefuseUnless("return_pooled_hidden_states", false, "not supported");
  fields.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  asked.write = [name = encoder.name](const EncodedBatch& encoded) {
    return NextTokenReply(name, encoded);
  };
  return asked;
}

absl::StatusOr<EncodeAsked> ParseScore(const Service& service, const std::string& text) {
  SHORTLIST_ASSIGN_OR_RETURN(const json body, ParseRequestBody(text));
  if (body.contains("label_token_ids")) return ParseNextTokens(service, body);
  JsonFields fields(body);
  EncodeAsked asked;
  SHORTLIST_ASSIGN_OR_RETURN(asked.batch.model,
                             ReadEncoderModel(service, fields, ServedEncoder::Makes::kScores));
  const ServedEncoder& encoder = service.generator->options().encoders[asked.batch.model];
  if (encoder.result_size != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("`", encoder.name, "` distinguishes ", encoder.result_size,
                     " labels, and a pair has one score: /classify returns all"));
  }
  ReadPairs(fields, asked.batch);
  SHORTLIST_RETURN_IF_ERROR(ReadRest(encoder, fields, asked));
  asked.write = [rid = asked.rid, name = encoder.name](const EncodedBatch& encoded) {
    return Reply("score-", rid, name, ScoreData(encoded), encoded);
  };
  return asked;
}

absl::StatusOr<EncodeAsked> ParseClassify(const Service& service, const std::string& text) {
  SHORTLIST_ASSIGN_OR_RETURN(const json body, ParseRequestBody(text));
  JsonFields fields(body);
  EncodeAsked asked;
  SHORTLIST_ASSIGN_OR_RETURN(asked.batch.model,
                             ReadEncoderModel(service, fields, ServedEncoder::Makes::kScores));
  const ServedEncoder& encoder = service.generator->options().encoders[asked.batch.model];
  if (fields.Find("candidate_labels") != nullptr) {
    const ZeroShotAsked zero_shot = ReadZeroShot(fields, encoder, asked.batch);
    fields.RefuseUnless("raw_scores", false, "not with candidate_labels");
    SHORTLIST_RETURN_IF_ERROR(ReadRest(encoder, fields, asked));
    asked.batch.wish.scores = EncodeWish::Scores::kRaw;
    const auto num_texts = asked.batch.inputs.size() / asked.batch.inputs_per_entry;
    asked.batch.num_reply_bytes =
        static_cast<int64_t>(num_texts) * NumJsonBytes(zero_shot.candidates);
    asked.write = [rid = asked.rid, name = encoder.name, zero_shot](const EncodedBatch& encoded) {
      return Reply("classify-", rid, name, ZeroShotData(zero_shot, encoded), encoded);
    };
    return asked;
  }
  ReadEncodeSources(fields, "input", encoder, asked.batch);
  fields.Refuse({"hypothesis_template", "multi_label"},
                "for \"candidate_labels\", which are not given");
  SHORTLIST_RETURN_IF_ERROR(ReadRest(encoder, fields, asked));
  asked.write = [rid = asked.rid, name = encoder.name,
                 labels = encoder.labels](const EncodedBatch& encoded) {
    return Reply("classify-", rid, name, ClassData(labels, encoded), encoded);
  };
  return asked;
}

}  // namespace

absl::Status AddScoreRoutes(const Service& service, RouteTable& routes) {
  for (const char* path : {"/score", "/v1/score"}) {
    SHORTLIST_RETURN_IF_ERROR(routes.Add(EncodeRoute(service, path, ParseScore, openapi::Score())));
  }
  for (const char* path : {"/classify", "/v1/classify"}) {
    SHORTLIST_RETURN_IF_ERROR(
        routes.Add(EncodeRoute(service, path, ParseClassify, openapi::Classify())));
  }
  return absl::OkStatus();
}

}  // namespace shortlist
