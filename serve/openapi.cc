#include "serve/openapi.h"

namespace shortlist::openapi {

const char kChat[] = R"json({
  "summary": "Continue a conversation, as OpenAI",
  "requestBody": {"required": true, "content": {"application/json": {"schema": {
    "type": "object", "required": ["model", "messages"],
    "properties": {
      "model": {"type": "string", "maxLength": 256},
      "messages": {"type": "array", "minItems": 1, "items": {
        "type": "object", "required": ["role", "content"],
        "properties": {
          "role": {"type": "string", "enum": ["system", "user", "assistant"]},
          "content": {"anyOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {
            "type": "object", "required": ["type", "text"],
            "properties": {"type": {"const": "text"}, "text": {"type": "string"}}}}]}}}},
      "max_tokens": {"type": "integer", "minimum": 1},
      "max_completion_tokens": {"type": "integer", "minimum": 1},
      "temperature": {"type": "number", "minimum": 0, "maximum": 2},
      "top_p": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
      "n": {"type": "integer", "minimum": 1, "maximum": 128},
      "stream": {"type": "boolean"},
      "stream_options": {"type": "object", "properties": {"include_usage": {"type": "boolean"}}},
      "logprobs": {"type": "boolean"},
      "top_logprobs": {"type": "integer", "minimum": 0, "maximum": 20},
      "stop": {"anyOf": [
        {"type": "string", "minLength": 1, "maxLength": 64},
        {"type": "array", "maxItems": 16,
         "items": {"type": "string", "minLength": 1, "maxLength": 64}}]},
      "presence_penalty": {"type": "number", "minimum": -2, "maximum": 2},
      "frequency_penalty": {"type": "number", "minimum": -2, "maximum": 2},
      "logit_bias": {"type": "object",
                     "additionalProperties": {"type": "number", "minimum": -100, "maximum": 100}},
      "seed": {"type": "integer"},
      "response_format": {"type": "object", "required": ["type"],
                          "properties": {"type": {"const": "text"}}},
      "user": {"type": "string"}}}}}}
})json";

const char kCompletions[] = R"json({
  "summary": "Continue a text, as OpenAI",
  "requestBody": {"required": true, "content": {"application/json": {"schema": {
    "type": "object", "required": ["model", "prompt"],
    "properties": {
      "model": {"type": "string", "maxLength": 256},
      "prompt": {"anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 128},
        {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        {"type": "array", "minItems": 1, "maxItems": 128,
         "items": {"type": "array", "items": {"type": "integer"}, "minItems": 1}}]},
      "max_tokens": {"type": "integer", "minimum": 1},
      "temperature": {"type": "number", "minimum": 0, "maximum": 2},
      "top_p": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
      "n": {"type": "integer", "minimum": 1, "maximum": 128},
      "stream": {"type": "boolean"},
      "stream_options": {"type": "object", "properties": {"include_usage": {"type": "boolean"}}},
      "logprobs": {"type": "integer", "minimum": 0, "maximum": 20},
      "echo": {"type": "boolean"},
      "stop": {"anyOf": [
        {"type": "string", "minLength": 1, "maxLength": 64},
        {"type": "array", "maxItems": 16,
         "items": {"type": "string", "minLength": 1, "maxLength": 64}}]},
      "presence_penalty": {"type": "number", "minimum": -2, "maximum": 2},
      "frequency_penalty": {"type": "number", "minimum": -2, "maximum": 2},
      "logit_bias": {"type": "object",
                     "additionalProperties": {"type": "number", "minimum": -100, "maximum": 100}},
      "seed": {"type": "integer"},
      "user": {"type": "string"}}}}}}
})json";

const char kGenerate[] = R"json({
  "summary": "Generate, as SGLang",
  "requestBody": {"required": true, "content": {"application/json": {"schema": {
    "type": "object",
    "properties": {
      "rid": {"type": "string", "maxLength": 256},
      "text": {"anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 128}]},
      "input_ids": {"anyOf": [
        {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        {"type": "array", "minItems": 1, "maxItems": 128,
         "items": {"type": "array", "items": {"type": "integer"}, "minItems": 1}}]},
      "sampling_params": {"type": "object", "properties": {
        "max_new_tokens": {"type": "integer", "minimum": 1},
        "temperature": {"type": "number", "minimum": 0, "maximum": 100},
        "top_p": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "top_k": {"type": "integer", "minimum": -1},
        "min_p": {"type": "number", "minimum": 0, "maximum": 1},
        "frequency_penalty": {"type": "number", "minimum": -2, "maximum": 2},
        "presence_penalty": {"type": "number", "minimum": -2, "maximum": 2},
        "repetition_penalty": {"type": "number", "exclusiveMinimum": 0, "maximum": 2},
        "min_new_tokens": {"type": "integer", "minimum": 0},
        "n": {"type": "integer", "minimum": 1, "maximum": 128},
        "stop": {"anyOf": [
          {"type": "string", "minLength": 1, "maxLength": 64},
          {"type": "array", "maxItems": 16,
           "items": {"type": "string", "minLength": 1, "maxLength": 64}}]},
        "stop_token_ids": {"type": "array", "items": {"type": "integer"}, "maxItems": 16},
        "ignore_eos": {"type": "boolean"},
        "skip_special_tokens": {"type": "boolean"},
        "no_stop_trim": {"type": "boolean"},
        "logit_bias": {"type": "object",
                       "additionalProperties": {"type": "number", "minimum": -100, "maximum": 100}},
        "sampling_seed": {"type": "integer"}}},
      "stream": {"type": "boolean"},
      "return_logprob": {"type": "boolean"},
      "top_logprobs_num": {"type": "integer", "minimum": 0, "maximum": 20},
      "return_text_in_logprobs": {"type": "boolean"},
      "return_token_infos": {"type": "boolean"},
      "priority": {"type": "integer"},
      "cache_salt": {"type": "string", "maxLength": 256},
      "extra_key": {"type": "string", "maxLength": 256}}}}}}
})json";

const char kTokenize[] = R"json({
  "summary": "Text to token ids",
  "requestBody": {"required": true, "content": {"application/json": {"schema": {
    "type": "object", "required": ["prompt"],
    "properties": {
      "prompt": {"anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 128}]},
      "add_special_tokens": {"type": "boolean"}}}}}}
})json";

const char kDetokenize[] = R"json({
  "summary": "Token ids to text",
  "requestBody": {"required": true, "content": {"application/json": {"schema": {
    "type": "object", "required": ["tokens"],
    "properties": {
      "tokens": {"anyOf": [
        {"type": "array", "items": {"type": "integer"}},
        {"type": "array", "maxItems": 128,
         "items": {"type": "array", "items": {"type": "integer"}}}]},
      "skip_special_tokens": {"type": "boolean"}}}}}}
})json";

const char kAbortRequest[] = R"json({
  "summary": "End the request of this rid",
  "requestBody": {"required": true, "content": {"application/json": {"schema": {
    "type": "object", "required": ["rid"],
    "properties": {"rid": {"type": "string", "maxLength": 256}}}}}}
})json";

}  // namespace shortlist::openapi
