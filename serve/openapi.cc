#include "serve/openapi.h"

#include <initializer_list>
#include <string_view>

#include "nlohmann/json.hpp"
#include "request/sampling_table.h"
#include "serve/http/json_fields.h"

namespace shortlist::openapi {
namespace {

using nlohmann::ordered_json;

// Lengths are limited in bytes of UTF-8; a character has up to four. maxLength counts characters:
// this many always fit. The description gives the exact limit in bytes.
const char kModel[] = R"json({
  "model": {"type": "string", "maxLength": 64, "description": "256 bytes of UTF-8"}
})json";

const char kRid[] = R"json({
  "rid": {"type": "string", "maxLength": 64, "description": "256 bytes of UTF-8"}
})json";

const char kSalts[] = R"json({
  "cache_salt": {"type": "string", "maxLength": 64, "description": "256 bytes of UTF-8"},
  "extra_key": {"type": "string", "maxLength": 64, "description": "256 bytes of UTF-8"}
})json";

// Maximum number of tokens of an input; -1: the model's maximum.
const char kTruncation[] = R"json({
  "truncate_prompt_tokens": {"anyOf": [{"type": "integer", "const": -1},
                                       {"type": "integer", "minimum": 1}]}
})json";

// Sampling fields that all dialects share, in addition to kSamplingFields.
const char kOtherSampling[] = R"json({
  "n": {"type": "integer", "minimum": 1, "maximum": 128},
  "stop": {"anyOf": [
    {"type": "string", "minLength": 1, "maxLength": 64, "description": "256 bytes of UTF-8"},
    {"type": "array", "maxItems": 16,
     "items": {"type": "string", "minLength": 1, "maxLength": 64,
               "description": "256 bytes of UTF-8"}}]},
  "stop_token_ids": {"type": "array", "items": {"type": "integer"}, "maxItems": 16},
  "ignore_eos": {"type": "boolean"},
  "skip_special_tokens": {"type": "boolean"},
  "no_stop_trim": {"type": "boolean"},
  "include_stop_str_in_output": {"type": "boolean"},
  "seed": {"type": "integer"},
  "sampling_seed": {"type": "integer"},
  "bad_words": {"type": "array", "maxItems": 128, "items": {"type": "string", "minLength": 1,
    "maxLength": 16, "pattern": "\\S", "description": "64 bytes of UTF-8"}},
  "allowed_token_ids": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
  "json_schema": {"anyOf": [{"type": "string"}, {"type": "object"}], "description": "a JSON schema"},
  "guided_json": {"anyOf": [{"type": "string"}, {"type": "object"}]},
  "structural_tag": {"anyOf": [{"type": "string"}, {"type": "object"}]},
  "regex": {"type": "string", "description": "a regular expression for the whole output"},
  "guided_regex": {"type": "string"},
  "ebnf": {"type": "string", "description": "a grammar with a rule root"},
  "grammar": {"type": "string"},
  "guided_grammar": {"type": "string"},
  "guided_choice": {"type": "array", "items": {"type": "string"}, "minItems": 1},
  "structured_outputs": {"type": "object", "additionalProperties": false, "properties": {
    "json": {"anyOf": [{"type": "string"}, {"type": "object"}]}, "regex": {"type": "string"},
    "choice": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    "grammar": {"type": "string"}, "json_object": {"type": "boolean"},
    "structural_tag": {"anyOf": [{"type": "string"}, {"type": "object"}]},
    "disable_any_whitespace": {"type": "boolean"}}},
  "logit_bias": {"type": "object", "propertyNames": {"pattern": "^(0|[1-9][0-9]*)$"},
                 "additionalProperties": {"type": "number", "minimum": -100, "maximum": 100}}
})json";

const char kOpenAi[] = R"json({
  "stream": {"type": "boolean"},
  "stream_options": {"type": "object", "additionalProperties": false, "properties": {
    "include_usage": {"type": "boolean"}, "continuous_usage_stats": {"type": "boolean"}}},
  "min_tokens": {"type": "integer", "minimum": 0},
  "user": {"type": "string"}
})json";

const char kSparseCut[] = R"json({
  "sparse_top_n": {"type": "integer", "minimum": 1},
  "sparse_threshold": {"type": "number", "minimum": 0}
})json";

const char kMessages[] = R"json({
  "messages": {"type": "array", "minItems": 1, "items": {
    "type": "object", "required": ["role", "content"],
    "properties": {
      "role": {"type": "string", "enum": ["system", "developer", "user", "assistant", "tool"]},
      "tool_calls": {"type": "array", "maxItems": 128, "items": {"type": "object"}},
      "tool_call_id": {"type": "string"},
      "content": {"anyOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {
        "type": "object", "required": ["type", "text"],
        "properties": {"type": {"const": "text"}, "text": {"type": "string"}}}}]}}}}
})json";

const char kTexts[] = R"json([
  {"type": "string"},
  {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 128}
])json";

const char kIds[] = R"json([
  {"type": "array", "items": {"type": "integer"}, "minItems": 1},
  {"type": "array", "minItems": 1, "maxItems": 128,
   "items": {"type": "array", "items": {"type": "integer"}, "minItems": 1}}
])json";

// Encoders accept any number of texts.
const char kManyTexts[] = R"json([
  {"type": "string"},
  {"type": "array", "items": {"type": "string"}, "minItems": 1}
])json";

const char kManyIds[] = R"json([
  {"type": "array", "items": {"type": "integer"}, "minItems": 1},
  {"type": "array", "minItems": 1,
   "items": {"type": "array", "items": {"type": "integer"}, "minItems": 1}}
])json";

// For a model that reads pictures: exactly one of the two is required.
const char kPictureItems[] = R"json([
  {"type": "array", "minItems": 1, "items": {"type": "object", "properties": {
    "text": {"type": ["string", "null"]},
    "image": {"type": ["string", "null"], "description": "base64 or a data: URI"}}}}
])json";

// Fields that the routes of classifiers share.
const char kScoring[] = R"json({
  "raw_scores": {"type": "boolean"},
  "truncate": {"type": "boolean"},
  "truncation_side": {"type": "string", "enum": ["left", "right"]},
  "priority": {"type": "integer"}
})json";

// Fields of encoders that make vectors.
const char kEncode[] = R"json({
  "truncate": {"type": "boolean"},
  "truncation_side": {"type": "string", "enum": ["left", "right"]},
  "prompt_name": {"type": "string"},
  "instruction": {"type": "string"},
  "normalize": {"type": "boolean"},
  "priority": {"type": "integer"}
})json";

/// Accepts any alternative of any list.
ordered_json AnyOf(std::initializer_list<const char*> lists) {
  ordered_json alternatives = ordered_json::array();
  for (const char* list : lists) {
    for (ordered_json& alternative : ordered_json::parse(list)) {
      alternatives.push_back(std::move(alternative));
    }
  }
  return {{"anyOf", std::move(alternatives)}};
}

/// Merges the properties of all objects.
ordered_json Properties(std::initializer_list<const char*> objects) {
  ordered_json properties = ordered_json::object();
  for (const char* object : objects) properties.update(ordered_json::parse(object));
  return properties;
}

/// Returns the sampling fields that all dialects share.
const std::string& Sampling() {
  static const std::string* const kSampling = [] {
    ordered_json properties = ordered_json::object();
    for (const SamplingField& field : kSamplingFields) {
      const auto& [low, high, above_low] = field.request_range;
      const bool is_count = field.count != nullptr;
      const auto bound = [is_count](double value) {
        return is_count ? ordered_json(static_cast<int64_t>(value)) : ordered_json(value);
      };
      ordered_json schema = {{"type", is_count ? "integer" : "number"}};
      schema[above_low ? "exclusiveMinimum" : "minimum"] = bound(low);
      schema["maximum"] = bound(high);
      properties[field.name] = std::move(schema);
    }
    properties.update(ordered_json::parse(kOtherSampling));
    return new std::string(properties.dump());
  }();
  return *kSampling;
}

std::string Operation(const char* summary, std::initializer_list<const char*> required,
                      ordered_json properties) {
  ordered_json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  for (const char* name : required) schema["required"].push_back(name);
  ordered_json content = {{"application/json", {{"schema", std::move(schema)}}}};
  return Dump(ordered_json{{"summary", summary},
                           {"requestBody", {{"required", true}, {"content", std::move(content)}}}});
}

}  // namespace

std::string Chat() {
  return Operation("Continue a conversation, as OpenAI", {"messages"},
                   Properties({kModel, kOpenAi, kTruncation, Sampling().c_str(), kMessages, R"json({
    "max_tokens": {"type": "integer", "minimum": 1},
    "max_completion_tokens": {"type": "integer", "minimum": 1},
    "logprobs": {"type": "boolean"},
    "top_logprobs": {"type": "integer", "minimum": 0, "maximum": 20},
    "add_generation_prompt": {"type": "boolean"},
    "continue_final_message": {"type": "boolean"},
    "chat_template_kwargs": {"type": "object"},
    "documents": {"type": "array", "items": {"type": "object"}},
    "include_reasoning": {"type": "boolean"}, "separate_reasoning": {"type": "boolean"},
    "stream_reasoning": {"type": "boolean"}, "parallel_tool_calls": {"type": "boolean"},
    "tools": {"type": "array", "maxItems": 128, "items": {"type": "object"},
              "description": "where the chat template reads them"},
    "tool_choice": {"anyOf": [{"enum": ["none", "auto", "required"]}, {"type": "object"}]},
    "reasoning_effort": {"type": "string", "maxLength": 64, "description": "256 bytes of UTF-8"},
    "response_format": {"type": "object", "required": ["type"], "additionalProperties": false,
      "properties": {"type": {"enum": ["text", "json_object", "json_schema", "structural_tag"]},
        "json_schema": {"type": "object"}, "schema": {"type": "object"},
        "format": {"type": "object"}, "structures": {"type": "array"}, "triggers": {"type": "array"}}}
  })json"}));
}

std::string Completions() {
  ordered_json properties = Properties({kModel, kOpenAi, kTruncation, Sampling().c_str(), R"json({
    "max_tokens": {"type": "integer", "minimum": 1},
    "logprobs": {"type": "integer", "minimum": 0, "maximum": 20},
    "echo": {"type": "boolean"}
  })json"});
  properties["prompt"] = AnyOf({kTexts, kIds});
  return Operation("Continue a text, as OpenAI", {"prompt"}, std::move(properties));
}

std::string Responses() {
  return Operation("Answer a text or a conversation, as OpenAI", {"input"},
                   Properties({kModel, R"json({
      "input": {"anyOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {
      "anyOf": [
        {"type": "object", "required": ["role", "content"],
         "properties": {
           "type": {"const": "message"},
           "role": {"type": "string", "enum": ["system", "developer", "user", "assistant"]},
           "content": {"anyOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {
             "type": "object", "required": ["type", "text"],
             "properties": {"type": {"enum": ["input_text", "output_text"]},
                            "text": {"type": "string"}}}}]}}},
        {"type": "object", "required": ["type", "call_id", "name", "arguments"],
         "properties": {"type": {"const": "function_call"}, "call_id": {"type": "string"},
                        "name": {"type": "string"}, "arguments": {"type": "string"}}},
        {"type": "object", "required": ["type"], "properties": {"type": {"const": "reasoning"}}},
        {"type": "object", "required": ["type", "call_id", "output"],
         "properties": {"type": {"const": "function_call_output"}, "call_id": {"type": "string"},
                        "output": {"type": "string"}}}]}}]},
    "tools": {"type": "array", "maxItems": 128, "items": {
      "type": "object", "required": ["type", "name"],
      "properties": {"type": {"const": "function"}, "name": {"type": "string"}}},
      "description": "where the chat template reads them"},
    "tool_choice": {"anyOf": [{"enum": ["none", "auto", "required"]}, {"type": "object"}]},
    "parallel_tool_calls": {"type": "boolean"},
    "instructions": {"type": "string"},
    "reasoning": {"type": "object", "additionalProperties": false,
                  "properties": {"effort": {"type": ["string", "null"], "maxLength": 64,
                                            "description": "256 bytes of UTF-8"}}},
    "max_output_tokens": {"type": "integer", "minimum": 1},
    "text": {"type": "object", "properties": {"format": {"type": "object", "required": ["type"],
      "properties": {"type": {"enum": ["text", "json_object", "json_schema", "structural_tag"]},
                     "name": {"type": "string"}, "schema": {"type": "object"}}}}},
    "temperature": {"type": "number", "minimum": 0, "maximum": 2},
    "top_p": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "stream": {"type": "boolean"}
  })json"}));
}

std::string Generate() {
  ordered_json properties = Properties({kRid, kSalts, R"json({
    "stream": {"type": "boolean"},
    "return_logprob": {"type": "boolean"},
    "logprob_start_len": {"type": "integer", "minimum": -1},
    "top_logprobs_num": {"type": "integer", "minimum": 0, "maximum": 20},
    "return_text_in_logprobs": {"type": "boolean"},
    "return_token_infos": {"type": "boolean"},
    "speculate": {"type": "boolean"},
    "dynamic_token_ids": {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 4096},
    "priority": {"type": "integer"}
  })json"});
  properties["text"] = AnyOf({kTexts});
  properties["input_ids"] = AnyOf({kIds});
  properties["sampling_params"] = {{"type", "object"},
                                   {"properties", Properties({Sampling().c_str(), R"json({
    "max_new_tokens": {"type": "integer", "minimum": 0},
    "temperature": {"type": "number", "minimum": 0, "maximum": 100},
    "min_new_tokens": {"type": "integer", "minimum": 0}
  })json"})}};
  return Operation("Generate, as SGLang", {}, std::move(properties));
}

std::string Tokenize() {
  ordered_json properties = {{"prompt", AnyOf({kTexts})},
                             {"add_special_tokens", {{"type", "boolean"}}}};
  properties.update(Properties({kMessages}));
  return Operation("Text, or a conversation, to token ids", {}, std::move(properties));
}

std::string Detokenize() {
  return Operation("Token ids to text", {"tokens"},
                   {{"tokens", AnyOf({kIds})}, {"skip_special_tokens", {{"type", "boolean"}}}});
}

std::string Embeddings() {
  ordered_json properties = Properties({kModel, kRid, kTruncation, kEncode, kSparseCut, R"json({
    "embedding_types": {"type": "array", "minItems": 1, "maxItems": 3,
                        "items": {"type": "string", "enum": ["dense", "sparse", "colbert"]}},
    "encoding_format": {"type": "string", "enum": ["float", "base64"]},
    "dimensions": {"type": "integer", "minimum": 1},
    "truncation": {"type": "boolean"},
    "user": {"type": "string"}
  })json"});
  properties["input"] = AnyOf({kManyTexts, kManyIds, kPictureItems});
  return Operation("Vectors of texts or pictures, as OpenAI and SGLang", {"input"},
                   std::move(properties));
}

std::string Rerank(const char* documents) {
  ordered_json properties = Properties({kModel, kRid, kTruncation, kScoring, R"json({
    "query": {"type": "string"},
    "top_n": {"type": "integer", "minimum": 1},
    "top_k": {"type": "integer", "minimum": 1},
    "truncation": {"type": "boolean"},
    "return_documents": {"type": "boolean"}
  })json"});
  if (documents == std::string_view("texts")) {
    properties.erase("return_documents");  // a field of the form with "documents"
    properties["return_text"] = {{"type", "boolean"}};
  }
  properties[documents] = {{"type", "array"}, {"minItems", 1}, {"items", {{"type", "string"}}}};
  return Operation("Scores of documents for a query, the best first", {"query", documents},
                   std::move(properties));
}

std::string CohereEmbed() {
  return Operation("Vectors of texts or pictures, as Cohere", {}, Properties({R"json({
    "model": {"type": "string", "maxLength": 64, "description": "256 bytes of UTF-8"},
    "texts": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    "images": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    "inputs": {"type": "array", "minItems": 1, "items": {"type": "object"}},
    "input_type": {"enum": ["search_document", "search_query", "classification", "clustering", "image"]},
    "embedding_types": {"type": "array", "maxItems": 6, "items":
      {"enum": ["float", "int8", "uint8", "binary", "ubinary", "base64"]}},
    "output_dimension": {"type": "integer", "minimum": 1},
    "max_tokens": {"type": "integer", "minimum": 1},
    "truncate": {"enum": ["NONE", "START", "END"]},
    "priority": {"type": "integer", "minimum": 0}
  })json"}));
}

std::string Embed() {
  ordered_json properties = Properties({kModel, kRid, kTruncation, kEncode, R"json({
    "dimensions": {"type": "integer", "minimum": 1}
  })json"});
  properties["inputs"] = AnyOf({kManyTexts, kManyIds});
  return Operation("Vectors of texts, as text-embeddings-inference", {"inputs"},
                   std::move(properties));
}

std::string EmbedSparse() {
  ordered_json properties = Properties({kModel, kRid, kTruncation, kEncode, kSparseCut});
  properties.erase("normalize");  // only for dense vectors
  properties["inputs"] = AnyOf({kManyTexts, kManyIds});
  return Operation("Sparse vectors of texts, as text-embeddings-inference", {"inputs"},
                   std::move(properties));
}

std::string Predict() {
  return Operation("Labels of texts, as text-embeddings-inference", {"inputs"},
                   Properties({kModel, kRid, kTruncation, kScoring, R"json({
    "inputs": {"anyOf": [
      {"type": "string"},
      {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "string"}},
      {"type": "array", "minItems": 1, "items":
        {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}}}]}
  })json"}));
}

std::string Encode() {
  ordered_json properties = Properties({kModel, kRid, kTruncation, kScoring, R"json({
    "is_cross_encoder_request": {"type": "boolean"}
  })json"});
  properties.erase("raw_scores");
  properties["text"] = AnyOf({kManyTexts});
  properties["input_ids"] = AnyOf({kManyIds});
  properties["image_data"] = AnyOf({kManyTexts});
  return Operation("Vectors of texts or pictures, or scores of pairs, as SGLang", {},
                   std::move(properties));
}

std::string Score() {
  ordered_json properties = Properties({kModel, kRid, kTruncation, kScoring});
  for (const char* name : {"text_1", "text_2", "query", "items"}) {
    properties[name] = AnyOf({kManyTexts});
  }
  properties["label_token_ids"] = {{"type", "array"}, {"items", {{"type", "integer"}}}};
  for (const char* name : {"apply_softmax", "item_first"}) properties[name] = {{"type", "boolean"}};
  return Operation(
      "Scores of pairs of texts, as vLLM; with label_token_ids how likely they come next, as "
      "SGLang",
      {}, std::move(properties));
}

std::string Classify() {
  ordered_json properties = Properties({kModel, kRid, kTruncation, kScoring, R"json({
    "candidate_labels": {"type": "array", "minItems": 1, "maxItems": 256,
                         "items": {"type": "string", "minLength": 1, "maxLength": 256,
                                   "description": "1024 bytes of UTF-8"}},
    "hypothesis_template": {"type": "string", "maxLength": 256,
                            "description": "1024 bytes of UTF-8"},
    "multi_label": {"type": "boolean"}
  })json"});
  properties["input"] = AnyOf({kManyTexts, kManyIds});
  return Operation("Labels of texts, as vLLM; with candidate_labels, as transformers' zero-shot",
                   {"input"}, std::move(properties));
}

std::string AbortRequest() {
  return Operation("End the request of this rid", {"rid"}, Properties({kRid}));
}

}  // namespace shortlist::openapi
