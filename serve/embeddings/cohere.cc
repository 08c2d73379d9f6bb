#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/embeddings/answer.h"
#include "serve/embeddings/fields.h"
#include "serve/embeddings/pictures.h"
#include "serve/embeddings/routes.h"
#include "serve/http/target.h"
#include "serve/openapi.h"
#include "serve/sampling_fields.h"

namespace shortlist {
namespace {

using nlohmann::json;

/// The format of a vector.
enum class Type { kFloat, kInt8, kUint8, kBinary, kUbinary, kBase64 };
constexpr std::pair<std::string_view, Type> kTypes[] = {
    {"float", Type::kFloat},   {"int8", Type::kInt8},       {"uint8", Type::kUint8},
    {"binary", Type::kBinary}, {"ubinary", Type::kUbinary}, {"base64", Type::kBase64},
};
/// Offset between an unsigned byte and a signed one.
constexpr int kSignedOffset = 128;

/// Data of the request that its reply needs.
struct Form {
  std::string id;
  std::vector<std::pair<std::string_view, Type>> types;
  std::vector<std::string> texts;  // empty: the inputs are pictures
};

void AppendIntegers(std::span<const int> values, int offset, std::string& text) {
  absl::StrAppend(&text, "[",
                  absl::StrJoin(values, ",",
                                [offset](std::string* out, int value) {
                                  absl::StrAppend(out, value - offset);
                                }),
                  "]");
}

/// Converts [-1, 1] to 255 steps; 128 is 0.
std::vector<int> ToBytes(std::span<const float> values) {
  constexpr double kScale = 127.0;
  std::vector<int> bytes;
  for (const float value : values) {
    const double scaled = std::clamp(value, -1.0f, 1.0f) * kScale;
    bytes.push_back(static_cast<int>(std::lround(scaled)) + kSignedOffset);
  }
  return bytes;
}

/// Packs eight dimensions per byte, the first in the highest bit. A bit is set if its value is
/// above 0. Bits after the last dimension are 0.
std::vector<int> ToBits(std::span<const float> values) {
  constexpr size_t kBits = 8;
  std::vector<int> bytes((values.size() + kBits - 1) / kBits);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] > 0.0f) bytes[i / kBits] |= 1 << (kBits - 1 - i % kBits);
  }
  return bytes;
}

void AppendVector(Type type, std::span<const float> values, std::string& text) {
  switch (type) {
    case Type::kFloat:
      return AppendFloats(values, text);
    case Type::kInt8:
      return AppendIntegers(ToBytes(values), kSignedOffset, text);
    case Type::kUint8:
      return AppendIntegers(ToBytes(values), /*offset=*/0, text);
    case Type::kBinary:
      return AppendIntegers(ToBits(values), kSignedOffset, text);
    case Type::kUbinary:
      return AppendIntegers(ToBits(values), /*offset=*/0, text);
    case Type::kBase64:
      return AppendBase64(values, text);
  }
  SHORTLIST_CHECK(false);
}

std::string Write(const Form& form, const EncodedBatch& encoded) {
  std::string text = absl::StrCat("{\"id\":", Dump(json(form.id)),
                                  ",\"response_type\":\"embeddings_by_type\",\"embeddings\":{");
  for (size_t t = 0; t < form.types.size(); ++t) {
    const auto& [name, type] = form.types[t];
    absl::StrAppend(&text, t > 0 ? "," : "", "\"", std::string(name), "\":[");
    for (size_t i = 0; i < encoded.values.size(); ++i) {
      if (i > 0) text += ',';
      AppendVector(type, encoded.values[i], text);
    }
    text += ']';
  }
  text += '}';
  nlohmann::ordered_json units = {{"input_tokens", encoded.total_tokens()}};
  if (form.texts.empty()) {
    units = {{"images", encoded.values.size()}};
  } else {
    absl::StrAppend(&text, ",\"texts\":", Dump(json(form.texts)));
  }
  const nlohmann::ordered_json meta = {{"api_version", {{"version", "2"}}},
                                       {"billed_units", std::move(units)}};
  return absl::StrCat(text, ",\"meta\":", Dump(meta), "}");
}

/// Returns one part of an input of "inputs" as an item of ReadPictureItem(); null: neither text nor
/// picture.
json ItemOf(const json& part) {
  if (!part.is_object() || !part.contains("type")) return nullptr;
  if (part["type"] == "text" && part.contains("text")) return {{"text", part["text"]}};
  const auto picture = part.find("image_url");
  const bool is_picture =
      part["type"] == "image_url" && picture != part.end() && picture->is_object();
  return is_picture && picture->contains("url") ? json{{"image", (*picture)["url"]}} : json();
}

/// Reads "inputs": {"content": [part]} each; a part is {"type": "text", "text"} or {"type":
/// "image_url", "image_url": {"url"}}.
void ReadInputs(const json& list, const ServedEncoder& encoder, JsonFields& fields,
                EncodeBatch& batch) {
  if (!list.is_array() || list.empty()) {
    return fields.Fail("inputs", "not a list of inputs, or one that is empty");
  }
  for (size_t i = 0; i < list.size() && fields.status().ok(); ++i) {
    const std::string place = absl::StrCat("inputs[", i, "]");
    const json* const content =
        list[i].is_object() && list[i].contains("content") ? &list[i]["content"] : nullptr;
    if (content == nullptr || !content->is_array() || content->size() != 1) {
      return fields.Fail(place, "not {\"content\": [...]} of one part: a text or a picture");
    }
    const json item = ItemOf((*content)[0]);
    if (item.is_null()) {
      return fields.Fail(place + ".content[0]", "neither a \"text\" nor an \"image_url\"");
    }
    ReadPictureItem(item, place, encoder, fields, batch.inputs.emplace_back());
  }
}

/// Reads "images": pictures as data: URIs.
void ReadImages(const json& list, const ServedEncoder& encoder, JsonFields& fields,
                EncodeBatch& batch) {
  if (!list.is_array() || list.empty()) {
    return fields.Fail("images", "not a list of pictures, or one that is empty");
  }
  for (size_t i = 0; i < list.size() && fields.status().ok(); ++i) {
    ReadPictureItem({{"image", list[i]}}, absl::StrCat("images[", i, "]"), encoder, fields,
                    batch.inputs.emplace_back());
  }
}

/// Reads exactly one of "texts", "images" and "inputs".
void ReadSources(JsonFields& fields, const ServedEncoder& encoder, EncodeBatch& batch) {
  const json* const images = fields.Find("images");
  const json* const inputs = fields.Find("inputs");
  const bool has_texts = fields.Find("texts") != nullptr;
  if ((images ? 1 : 0) + (inputs ? 1 : 0) + (has_texts ? 1 : 0) != 1) {
    return fields.Fail("texts", "exactly one of texts, images and inputs is wanted");
  }
  if (has_texts) return ReadDocuments(fields, "texts", /*query=*/nullptr, batch);
  batch.field = images != nullptr ? "images" : "inputs";
  images != nullptr ? ReadImages(*images, encoder, fields, batch)
                    : ReadInputs(*inputs, encoder, fields, batch);
}

/// Returns the model's prompt for "input_type".
std::string ReadPrompt(JsonFields& fields, const ServedEncoder& encoder) {
  const std::string type = fields.String("input_type", "", kMaxNameBytes);
  if (type.empty()) return encoder.default_prompt;
  const std::string_view name = type == "search_query"      ? "query"
                                : type == "search_document" ? "document"
                                                            : std::string_view(type);
  const bool is_known =
      name != type || type == "classification" || type == "clustering" || type == "image";
  if (!is_known) {
    fields.Fail("input_type",
                "search_document, search_query, classification, clustering and image are known");
  }
  const auto found = encoder.prompts.find(std::string(name));
  return found != encoder.prompts.end() ? found->second : encoder.default_prompt;
}

/// Reads "truncate" and "max_tokens".
EncodeCut ReadCut(JsonFields& fields, const ServedEncoder& encoder) {
  EncodeCut cut{.truncates = true, .keeps_end = {}, .max_tokens = {}, .max_second_tokens = {}};
  const auto end = fields.OptionalString("truncate", kMaxNameBytes);
  if (end == "NONE") {
    cut.truncates = false;
  } else if (end == "START" || end == "END") {
    cut.keeps_end = end == "START";
  } else if (end) {
    fields.Fail("truncate", "neither \"NONE\", \"START\" nor \"END\"");
  }
  if (const auto most = fields.OptionalInteger("max_tokens", 1, kMaxCount)) {
    cut.max_tokens = std::min(*most, encoder.max_input_tokens);
  }
  return cut;
}

std::vector<std::pair<std::string_view, Type>> ReadTypes(JsonFields& fields) {
  constexpr char kName[] = "embedding_types";
  std::vector<std::pair<std::string_view, Type>> types;
  for (const std::string& name : fields.Strings(kName, std::size(kTypes), kMaxNameBytes)) {
    const auto* const found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                           [&](const auto& known) { return known.first == name; });
    if (found == std::end(kTypes)) {
      fields.Fail(kName, "float, int8, uint8, binary, ubinary and base64 are known");
    } else if (std::find(types.begin(), types.end(), *found) == types.end()) {
      types.push_back(*found);
    }
  }
  if (types.empty()) types.push_back(kTypes[0]);
  return types;
}

absl::StatusOr<EncodeAsked> Parse(const Service& service, const std::string& text) {
  SHORTLIST_ASSIGN_OR_RETURN(const json body, ParseRequestBody(text));
  JsonFields fields(body);
  EncodeAsked asked;
  EncodeBatch& batch = asked.batch;
  SHORTLIST_ASSIGN_OR_RETURN(batch.model,
                             ReadEncoderModel(service, fields, ServedEncoder::Makes::kVectors));
  const ServedEncoder& encoder = service.generator->options().encoders[batch.model];
  RequireDense(fields, encoder);
  ReadSources(fields, encoder, batch);
  batch.instruction = ReadPrompt(fields, encoder);
  batch.cut = ReadCut(fields, encoder);
  batch.wish.normalizes = true;
  batch.wish.dimensions = fields.Integer("output_dimension", 0, 1, encoder.result_size);
  // In Cohere's API a lower number goes first.
  batch.priority = -static_cast<int32_t>(fields.Integer("priority", 0, 0, 1'000'000));
  Form form{.id = NewRequestId(), .types = ReadTypes(fields), .texts = {}};
  fields.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  const bool has_pictures = !batch.inputs.front().picture.empty();
  for (const EncodeSource& source : batch.inputs) {
    if (source.picture.empty() == has_pictures) {
      return absl::InvalidArgumentError("inputs: texts and pictures: send two requests");
    }
    if (!has_pictures) form.texts.push_back(source.text);
  }
  batch.num_reply_bytes = NumJsonBytes(form.texts);
  asked.rid = form.id;
  asked.write = [form = std::move(form)](const EncodedBatch& encoded) {
    return Write(form, encoded);
  };
  return asked;
}

}  // namespace

absl::Status AddCohereEmbedRoute(const Service& service, RouteTable& routes) {
  return routes.Add(EncodeRoute(service, "/v2/embed", Parse, openapi::CohereEmbed()));
}

}  // namespace shortlist
