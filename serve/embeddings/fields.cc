#include "serve/embeddings/fields.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/embeddings/pictures.h"
#include "serve/http/api_error.h"
#include "serve/http/target.h"
#include "serve/model_name.h"
#include "serve/sampling_fields.h"
#include "text/tokenizer.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr size_t kMaxInstructionBytes = 16 << 10;
// Names that sglang-router and Infinity's client send if no model is named.
constexpr std::string_view kUnnamed[] = {"", "default", "unknown", "default/not-specified"};

/// Returns the flag that loads such a model.
const char* FlagFor(ServedEncoder::Makes makes) {
  switch (makes) {
    case ServedEncoder::Makes::kScores:
      return "--rerank-model";
    case ServedEncoder::Makes::kVectors:
      return "--embed-model, or let --model make embeddings with --is-embedding";
    case ServedEncoder::Makes::kStates:
      return "--model";
  }
  SHORTLIST_CHECK(false);
}

const char* Described(ServedEncoder::Makes makes) {
  switch (makes) {
    case ServedEncoder::Makes::kScores:
      return "makes scores";
    case ServedEncoder::Makes::kVectors:
      return "makes embeddings";
    case ServedEncoder::Makes::kStates:
      return "generates text";
  }
  SHORTLIST_CHECK(false);
}

constexpr char kMultiVectorFlag[] =
    ", or an --embed-model with colbert_linear.pt, whose multi-vectors rank documents too";

constexpr char kNoSparse[] =
    ": there is neither sparse_linear.pt next to its weights nor the head of a masked language "
    "model";
constexpr double kMaxWeight = 1e30;  // of a token in a sparse vector

std::string Place(std::string_view name, size_t i) {
  return absl::StrCat(std::string(name), "[", i, "]");
}

void ReadIds(const json& list, const std::string& place, int64_t vocab_size, JsonFields& fields,
             std::vector<TokenId>& ids) {
  if (list.empty()) return fields.Fail(place, "a list of token ids that is empty");
  ids.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const std::optional<int64_t> id = WholeNumber(list[i]);
    const bool fits = id.has_value() && *id >= 0 && *id < vocab_size;
    if (!fits) {
      // A client that sends [["a", "b"]] means a pair.
      const char* const pairs =
          list[i].is_string() ? "; pairs of texts are for /v1/score, /predict and /rerank" : "";
      return fields.Fail(Place(place, i),
                         absl::StrCat("not a token id in [0, ", vocab_size, ")", pairs));
    }
    ids.push_back(TokenId{static_cast<int32_t>(*id)});
  }
}

bool ReadText(const json& value, const std::string& place, JsonFields& fields, std::string& text) {
  if (!value.is_string()) return false;
  text = value.get<std::string>();
  if (text.size() > Tokenizer::kMaxTextBytes) {
    fields.Fail(place, absl::StrCat(text.size(), " bytes, more than ", Tokenizer::kMaxTextBytes));
  }
  return true;
}

/// Returns "query" or "document" for the input types of Cohere, Voyage and NVIDIA; empty for
/// others.
std::string PromptNameOf(std::string_view input_type) {
  if (input_type == "query" || input_type == "search_query") return "query";
  if (input_type == "document" || input_type == "passage" || input_type == "search_document") {
    return "document";
  }
  return "";
}

/// Same as ReadEncoderModel(), or as ReadRankingModel() if `ranks`.
absl::StatusOr<size_t> ReadModel(const Service& service, JsonFields& fields,
                                 ServedEncoder::Makes wanted, bool ranks) {
  const std::string asked = fields.String("model", "", kMaxNameBytes);
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  const Generator::Options& options = service.generator->options();
  const bool is_named =
      std::find(std::begin(kUnnamed), std::end(kUnnamed), asked) == std::end(kUnnamed);
  std::vector<std::string> names;
  const size_t none = options.encoders.size();
  size_t first = none, first_other = none;
  const char* does = nullptr;  // what the named model does, if it is of another kind
  if (is_named && options.generates && CheckModelName(service.model_name, asked).ok()) {
    does = "generates text";
  }
  for (size_t i = 0; i < options.encoders.size(); ++i) {
    const ServedEncoder& encoder = options.encoders[i];
    const bool fits = encoder.makes == wanted || (ranks && encoder.multi_vector_size > 0);
    if (fits) {
      names.push_back(absl::StrCat("`", encoder.name, "`"));
      size_t& first_such = encoder.makes == wanted ? first : first_other;
      first_such = std::min(first_such, i);
    }
    if (!is_named || !CheckModelName(encoder.name, asked).ok()) continue;
    if (fits) return i;
    if (encoder.makes == ServedEncoder::Makes::kStates) continue;
    does = Described(encoder.makes);
  }
  if (names.empty()) {
    return WithParam(absl::FailedPreconditionError(absl::StrCat(
                         "no model that ", Described(wanted), " is loaded: give one with ",
                         FlagFor(wanted), ranks ? kMultiVectorFlag : "")),
                     "model");
  }
  if (!is_named) return first < none ? first : first_other;
  const std::string served = absl::StrJoin(names, ", ");
  if (does != nullptr) {
    return WithParam(absl::InvalidArgumentError(absl::StrCat("`", asked, "` ", does, "; what ",
                                                             Described(wanted), " is ", served)),
                     "model");
  }
  const absl::Status unknown = absl::NotFoundError(
      absl::StrCat("The model `", asked, "` does not exist: this server has ", served));
  return WithParam(WithCode(unknown, "model_not_found"), "model");
}

}  // namespace

absl::StatusOr<size_t> ReadEncoderModel(const Service& service, JsonFields& fields,
                                        ServedEncoder::Makes wanted) {
  return ReadModel(service, fields, wanted, /*ranks=*/false);
}

absl::StatusOr<size_t> ReadRankingModel(const Service& service, JsonFields& fields) {
  return ReadModel(service, fields, ServedEncoder::Makes::kScores, /*ranks=*/true);
}

void ReadEncodeSources(JsonFields& fields, const char* name, const ServedEncoder& encoder,
                       EncodeBatch& batch) {
  batch.field = name;
  const json* value = fields.Find(name);
  if (value == nullptr) return fields.Fail(name, "missing");
  if (!fields.status().ok()) return;
  if (value->is_array() && value->empty()) return fields.Fail(name, "a list that is empty");
  batch.is_list = value->is_array() && !value->front().is_number();
  if (!batch.is_list) {
    EncodeSource& source = batch.inputs.emplace_back();
    if (value->is_array()) return ReadIds(*value, name, encoder.vocab_size, fields, source.ids);
    if (value->is_object()) return ReadPictureItem(*value, name, encoder, fields, source);
    if (!ReadText(*value, name, fields, source.text)) {
      fields.Fail(name, "neither a text nor a list of texts or token ids");
    }
    return;
  }
  batch.inputs.resize(value->size());
  for (size_t i = 0; i < value->size() && fields.status().ok(); ++i) {
    const json& entry = (*value)[i];
    EncodeSource& source = batch.inputs[i];
    if (entry.is_array()) {
      ReadIds(entry, Place(name, i), encoder.vocab_size, fields, source.ids);
    } else if (entry.is_object()) {
      ReadPictureItem(entry, Place(name, i), encoder, fields, source);
    } else if (!ReadText(entry, Place(name, i), fields, source.text)) {
      fields.Fail(Place(name, i), "neither a text nor a list of token ids");
    }
  }
}

void ReadDocuments(JsonFields& fields, const char* name, std::shared_ptr<const std::string> query,
                   EncodeBatch& batch) {
  batch.field = name;
  const json* value = fields.Find(name);
  if (value == nullptr) return fields.Fail(name, "missing");
  if (!fields.status().ok()) return;
  if (!value->is_array() || value->empty()) {
    return fields.Fail(name, "not a list of texts, or one that is empty");
  }
  batch.inputs.resize(value->size());
  for (size_t i = 0; i < value->size() && fields.status().ok(); ++i) {
    const std::string place = Place(name, i);
    const json* text = &(*value)[i];
    if (text->is_object()) {
      JsonFields members(*text, place + ".");
      const json* inner = members.Find("text");
      if (inner == nullptr) members.Fail("text", "missing");
      members.RefuseUnknown();
      fields.Take(members.status());
      if (!fields.status().ok()) return;
      text = inner;
    }
    EncodeSource& source = batch.inputs[i];
    source.first = query;
    if (!ReadText(*text, place, fields, source.text)) fields.Fail(place, "not a text");
  }
}

EncodeCut ReadEncodeCut(JsonFields& fields, const ServedEncoder& encoder, bool truncates,
                        bool has_truncation) {
  EncodeCut cut;
  std::optional<bool> asked;
  for (const char* name : {"truncate", "truncation"}) {
    const bool is_read = name == std::string_view("truncate") || has_truncation;
    if (!is_read || fields.Find(name) == nullptr) continue;
    const bool value = fields.Bool(name, truncates);
    if (asked.value_or(value) != value) fields.Fail(name, "truncate has another value");
    asked = value;
  }
  if (const auto most =
          fields.OptionalInteger("truncate_prompt_tokens", -1, encoder.max_input_tokens)) {
    if (*most == 0) fields.Fail("truncate_prompt_tokens", "0 tokens are no input");
    if (!asked.value_or(true)) {
      const char* const name = fields.Find("truncate") != nullptr ? "truncate" : "truncation";
      fields.Fail("truncate_prompt_tokens", absl::StrCat(name, " is false"));
    }
    asked = true;
    if (*most > 0) cut.max_tokens = *most;
  }
  cut.truncates = asked.value_or(truncates);
  for (const char* name : {"truncation_side", "truncation_direction"}) {
    std::optional<std::string> side = fields.OptionalString(name, kMaxNameBytes);
    if (!side) continue;
    absl::AsciiStrToLower(&*side);
    if (*side != "left" && *side != "right") fields.Fail(name, "neither \"left\" nor \"right\"");
    const bool keeps_end = *side == "left";
    if (cut.keeps_end.value_or(keeps_end) != keeps_end) {
      fields.Fail(name, "truncation_side has another value");
    }
    cut.keeps_end = keeps_end;
  }
  return cut;
}

std::string ReadInstruction(JsonFields& fields, const ServedEncoder& encoder) {
  const auto instruction = fields.OptionalString("instruction", kMaxInstructionBytes);
  std::optional<std::string> name = fields.OptionalString("prompt_name", kMaxNameBytes);
  const auto input_type = fields.OptionalString("input_type", kMaxNameBytes);
  const int num_given = (instruction ? 1 : 0) + (name ? 1 : 0) + (input_type ? 1 : 0);
  if (num_given > 1) {
    fields.Fail("instruction", "at most one of instruction, prompt_name and input_type is wanted");
  }
  if (input_type) {
    name = PromptNameOf(*input_type);
    if (name->empty()) fields.Fail("input_type", "neither \"query\" nor \"document\"");
  }
  if (!fields.status().ok()) return "";
  if (instruction) return *instruction;
  if (!name) return encoder.default_prompt;
  const auto found = encoder.prompts.find(*name);
  if (found != encoder.prompts.end()) return found->second;
  const std::string names = absl::StrJoin(
      encoder.prompts, ", ", [](std::string* out, const auto& p) { out->append(p.first); });
  fields.Fail("prompt_name", absl::StrCat("the model's prompts are ", names));
  return "";
}

std::string ReadPairInstruction(JsonFields& fields, const ServedEncoder& encoder) {
  const bool is_sglangs = fields.Find("instruct") != nullptr;  // empty: the model's own
  const char* const name = is_sglangs ? "instruct" : "instruction";
  const std::optional<std::string> instruction = fields.OptionalString(name, kMaxInstructionBytes);
  if (!is_sglangs && instruction && instruction->empty() && encoder.instructs_pairs) {
    fields.Fail(name, "empty is not supported; without it the model's own is used");
  }
  if (instruction && !instruction->empty() && !encoder.instructs_pairs) {
    fields.Fail(name, absl::StrCat("`", encoder.name, "` reads pairs without an instruction"));
  }
  // If "instruct" is present, "instruction" is an unknown field.
  return instruction.value_or("");
}

EncodeWish ReadVectorWish(JsonFields& fields, const ServedEncoder& encoder) {
  EncodeWish wish;
  wish.dimensions = fields.Integer("dimensions", 0, 1, encoder.result_size);
  if (fields.Find("normalize") != nullptr) wish.normalizes = fields.Bool("normalize", true);
  return wish;
}

void RequireDense(JsonFields& fields, const ServedEncoder& encoder) {
  if (encoder.makes_dense) return;
  fields.Fail(
      "model",
      absl::StrCat("`", encoder.name,
                   "` makes no dense vectors: /embed_sparse, or "
                   "embedding_types [\"sparse\"] of /v1/embeddings, gives its sparse ones"));
}

void ReadSparseCut(JsonFields& fields, const ServedEncoder& encoder, EncodeWish& wish) {
  if (encoder.max_sparse_weights == 0) {
    return fields.Fail("model",
                       absl::StrCat("`", encoder.name, "` makes no sparse vectors", kNoSparse));
  }
  wish.sparse_cut.top_n = fields.Integer("sparse_top_n", 0, 1, encoder.vocab_size);
  wish.sparse_cut.threshold =
      static_cast<float>(fields.Number("sparse_threshold", 0.0, {.low = 0.0, .high = kMaxWeight}));
}

void ReadEmbeddingTypes(JsonFields& fields, const ServedEncoder& encoder, EncodeWish& wish) {
  constexpr char kName[] = "embedding_types";
  constexpr size_t kMaxTypes = 3;
  const bool is_given = fields.Find(kName) != nullptr;
  if (is_given) {
    wish.dense = false;
    const std::vector<std::string> types = fields.Strings(kName, kMaxTypes, kMaxNameBytes);
    if (types.empty()) fields.Fail(kName, "a list that is empty");
    for (const std::string& type : types) {
      wish.dense |= type == "dense";
      wish.sparse |= type == "sparse";
      wish.multi_vector |= type == "colbert";
      if (type == "dense" || type == "sparse" || type == "colbert") continue;
      fields.Fail(kName, absl::StrCat(Dump(json(type)),
                                      " is neither \"dense\", \"sparse\" nor \"colbert\""));
    }
  }
  const std::string model = absl::StrCat("`", encoder.name, "` makes no ");
  if (wish.dense && is_given && !encoder.makes_dense) {
    fields.Fail(kName, absl::StrCat(model, "dense vectors, but sparse ones"));
  }
  if (wish.dense && !is_given) RequireDense(fields, encoder);
  if (wish.sparse && encoder.max_sparse_weights == 0) {
    fields.Fail(kName, absl::StrCat(model, "sparse vectors", kNoSparse));
  }
  if (wish.multi_vector && encoder.multi_vector_size == 0) {
    fields.Fail(kName, absl::StrCat(model,
                                    "multi-vectors: there is no colbert_linear.pt next to its "
                                    "weights"));
  }
  if (wish.sparse) return ReadSparseCut(fields, encoder, wish);
  fields.Refuse({"sparse_top_n", "sparse_threshold"},
                "there is no \"sparse\" among embedding_types");
}

bool ReadEncodingFormat(JsonFields& fields) {
  const std::string format = fields.String("encoding_format", "float", kMaxNameBytes);
  if (format != "float" && format != "base64") {
    fields.Fail("encoding_format", absl::StrCat("Invalid value for 'encoding_format' = ", format,
                                                ". Supported values: ['float', 'base64']."));
  }
  return format == "base64";
}

std::string ReadEncodeScheduling(JsonFields& fields, EncodeBatch& batch) {
  batch.priority = static_cast<int32_t>(fields.Integer("priority", 0, -1'000'000, 1'000'000));
  const std::string request_id = fields.String("request_id", "", kMaxNameBytes);  // vLLM's name
  std::string rid = fields.String("rid", request_id, kMaxNameBytes);
  if (!request_id.empty() && rid != request_id) fields.Fail("request_id", "rid has another value");
  return rid.empty() ? NewRequestId() : rid;
}

}  // namespace shortlist
