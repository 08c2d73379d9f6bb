#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "request/sampling_table.h"
#include "serve/embeddings/answer.h"
#include "serve/embeddings/fields.h"
#include "serve/embeddings/pictures.h"
#include "serve/embeddings/routes.h"
#include "serve/openapi.h"

namespace shortlist {
namespace {

using nlohmann::json;

/// Reads "text" of a cross-encoder: a pair, or a list of pairs.
void ReadPairs(JsonFields& fields, EncodeBatch& batch) {
  batch.field = "text";
  const json* value = fields.Find("text");
  if (value == nullptr) return fields.Fail("text", "missing");
  const auto is_pair = [](const json& entry) {
    return entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string();
  };
  const auto read = [](const json& pair) {
    return EncodeSource{.text = pair[1].get<std::string>(),
                        .first = std::make_shared<const std::string>(pair[0].get<std::string>()),
                        .ids = {}};
  };
  batch.is_list = !is_pair(*value);
  if (!batch.is_list) return batch.inputs.push_back(read(*value));
  if (!value->is_array() || value->empty()) return fields.Fail("text", "not a list of pairs");
  for (size_t i = 0; i < value->size(); ++i) {
    if (!is_pair((*value)[i])) {
      return fields.Fail(absl::StrCat("text[", i, "]"), "not a pair of texts");
    }
    batch.inputs.push_back(read((*value)[i]));
  }
}

/// Checks "sampling_params", an object or a list of them. SGLang has it there only for
/// compatibility and ignores the fields that it knows, and so does this server.
void CheckSamplingParams(JsonFields& fields) {
  constexpr char kName[] = "sampling_params";
  const json* const params = fields.Find(kName);
  if (params == nullptr) return;
  const auto check = [&fields](const json& object, const std::string& place) {
    JsonFields members(object, place + ".");
    members.Accept({"max_new_tokens", "min_new_tokens", "stop", "stop_token_ids", "stop_regex", "n",
                    "json_schema", "regex", "ebnf", "structural_tag", "ignore_eos",
                    "skip_special_tokens", "spaces_between_special_tokens", "no_stop_trim",
                    "custom_params", "stream_interval", "logit_bias", "sampling_seed"});
    for (const SamplingField& field : kSamplingFields) members.Accept({field.name});
    members.RefuseUnknown();
    fields.Take(members.status());
  };
  if (!params->is_array()) return check(*params, kName);
  for (size_t i = 0; i < params->size() && fields.status().ok(); ++i) {
    check((*params)[i], absl::StrCat(kName, "[", i, "]"));
  }
}

/// Appends {"embedding", "meta_info"} of one input. A score is written as a number, not as a list.
void AppendResult(const EncodedBatch& encoded, size_t i, const std::string& id, bool is_score,
                  std::string& text) {
  text += "{\"embedding\":";
  if (is_score) {
    AppendFloat(encoded.values[i].front(), text);
  } else {
    AppendFloats(encoded.values[i], text);
  }
  absl::StrAppend(&text, ",\"meta_info\":{\"id\":", Dump(json(id)),
                  ",\"finish_reason\":{\"type\":\"length\",\"length\":0},\"prompt_tokens\":",
                  encoded.num_tokens[i], ",\"e2e_latency\":", encoded.seconds, "}}");
}

std::string Write(const std::string& rid, bool is_list, bool is_score, EncodedBatch encoded) {
  std::string text;
  if (!is_list) {
    AppendResult(encoded, 0, rid, is_score, text);
    return text;
  }
  text = "[";
  for (size_t i = 0; i < encoded.values.size(); ++i) {
    if (i > 0) text += ',';
    AppendResult(encoded, i, absl::StrCat(rid, "-", i), is_score, text);
    encoded.values[i] = {};
  }
  return text + "]";
}

/// Chooses vectors by default, if a model makes them. Chooses scores for pairs, or if no other
/// encoder is loaded.
ServedEncoder::Makes Wanted(const Service& service, bool is_cross_encoder) {
  if (is_cross_encoder) return ServedEncoder::Makes::kScores;
  ServedEncoder::Makes wanted = ServedEncoder::Makes::kVectors;
  for (const ServedEncoder& encoder : service.generator->options().encoders) {
    if (encoder.makes == ServedEncoder::Makes::kVectors) return encoder.makes;
    if (encoder.makes == ServedEncoder::Makes::kScores) wanted = encoder.makes;
  }
  return wanted;
}

absl::StatusOr<EncodeAsked> Parse(const Service& service, const std::string& text) {
  SHORTLIST_ASSIGN_OR_RETURN(const json body, ParseRequestBody(text));
  JsonFields fields(body);
  EncodeAsked asked;
  EncodeBatch& batch = asked.batch;
  const bool is_cross_encoder = fields.Bool("is_cross_encoder_request", false);
  SHORTLIST_ASSIGN_OR_RETURN(batch.model,
                             ReadEncoderModel(service, fields, Wanted(service, is_cross_encoder)));
  const ServedEncoder& encoder = service.generator->options().encoders[batch.model];
  const bool makes_vectors = encoder.makes == ServedEncoder::Makes::kVectors;
  const bool has_text = fields.Find("text") != nullptr;
  const bool has_pictures = fields.Find("image_data") != nullptr;
  if (has_pictures && fields.Find("input_ids") == nullptr && !is_cross_encoder) {
    ReadImageData(fields, encoder, batch);
  } else if (has_pictures) {
    fields.Fail("image_data", "goes with text alone, of a model that makes vectors");
  } else if (has_text == (fields.Find("input_ids") != nullptr)) {
    fields.Fail("text", "exactly one of text and input_ids is wanted");
  } else if (is_cross_encoder) {
    ReadPairs(fields, batch);
  } else {
    ReadEncodeSources(fields, has_text ? "text" : "input_ids", encoder, batch);
    for (const EncodeSource& source : batch.inputs) {
      if (source.ids.empty() && !has_text) fields.Fail("input_ids", "not lists of token ids");
    }
  }
  batch.cut = ReadEncodeCut(fields, encoder, /*truncates=*/false);
  if (makes_vectors) {
    batch.instruction = ReadInstruction(fields, encoder);
    batch.wish = ReadVectorWish(fields, encoder);
    RequireDense(fields, encoder);
  } else {
    batch.instruction = ReadPairInstruction(fields, encoder);
  }
  asked.rid = ReadEncodeScheduling(fields, batch);
  batch.num_reply_bytes = std::ssize(batch.inputs) * NumJsonBytes(asked.rid);
  fields.Accept({"log_metrics", "no_logs", "external_trace_header", "received_time", "user",
                 "custom_labels", "routing_key", "session_id"});
  CheckSamplingParams(fields);
  fields.Refuse({"video_data", "audio_data", "modalities", "input_embeds", "lora_path",
                 "embed_override_token_id", "embed_overrides", "return_pooled_hidden_states"},
                "not supported");
  fields.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  const bool is_score = !makes_vectors && encoder.result_size == 1;
  asked.write = [rid = asked.rid, is_list = batch.is_list, is_score](EncodedBatch encoded) {
    return Write(rid, is_list, is_score, std::move(encoded));
  };
  return asked;
}

}  // namespace

absl::Status AddSglangEncodeRoutes(const Service& service, RouteTable& routes) {
  Route put = EncodeRoute(service, "/encode", Parse, openapi::Encode());
  put.method = "PUT";
  SHORTLIST_RETURN_IF_ERROR(routes.Add(std::move(put)));
  return routes.Add(EncodeRoute(service, "/encode", Parse, openapi::Encode()));
}

}  // namespace shortlist
