#include "serve/sampling_fields.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/counted.h"
#include "base/excerpt.h"
#include "nlohmann/json.hpp"
#include "request/sampling_table.h"
#include "serve/http/api_error.h"

namespace shortlist {
namespace {

using nlohmann::json;

std::optional<TokenId> ToTokenId(const json& value, int64_t vocab_size) {
  const std::optional<int64_t> id = WholeNumber(value);
  if (!id || *id < 0 || *id >= vocab_size) return std::nullopt;
  return TokenId{static_cast<int32_t>(*id)};
}

std::string Place(const char* name, size_t i) { return absl::StrCat(name, "[", i, "]"); }

/// Returns the ids of `list`; `name` is its field.
std::vector<TokenId> ToTokenIds(const json& list, const std::string& name, int64_t vocab_size,
                                JsonFields& fields) {
  std::vector<TokenId> ids;
  ids.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const std::optional<TokenId> id = ToTokenId(list[i], vocab_size);
    if (!id) {
      fields.Fail(Place(name.c_str(), i), absl::StrCat("no token id in [0, ", vocab_size, ")"));
      return {};
    }
    ids.push_back(*id);
  }
  return ids;
}

}  // namespace

double ReadTemperature(JsonFields& fields, double fallback, double high) {
  const double temperature = fields.Number("temperature", fallback, {0.0, high});
  return temperature < 1e-6 ? 0.0 : temperature;
}

std::vector<std::pair<TokenId, float>> ReadLogitBias(JsonFields& fields, int64_t vocab_size) {
  const json* map = fields.Find("logit_bias");
  if (map == nullptr) return {};
  if (!map->is_object() || map->size() > kMaxLogitBiases) {
    fields.Fail("logit_bias", absl::StrCat("no object of at most ", kMaxLogitBiases, " biases"));
    return {};
  }
  std::vector<std::pair<TokenId, float>> biases;
  for (const auto& [key, value] : map->items()) {
    int32_t id = -1;
    const char* const end = key.data() + key.size();
    const auto [rest, error] = std::from_chars(key.data(), end, id);
    if (error != std::errc() || rest != end || id < 0 || id >= vocab_size) {
      fields.Fail("logit_bias", absl::StrCat("a key is not a token id in [0, ", vocab_size, ")"));
      return {};
    }
    if (key != absl::StrCat(id)) {  // "0300" and "300" would be two biases of one token
      fields.Fail("logit_bias", absl::StrCat("the key \"", Excerpt(key), "\" is not how token id ",
                                             id, " is written: \"", id, "\""));
      return {};
    }
    const double bias = value.is_number() ? value.get<double>() : 1e9;
    if (!(bias >= -100.0 && bias <= 100.0)) {
      fields.Fail("logit_bias", absl::StrCat("of token id ", id, ": no number in [-100, 100]"));
      return {};
    }
    biases.emplace_back(TokenId{id}, static_cast<float>(bias));
  }
  return biases;
}

std::vector<std::string> ReadBadWords(JsonFields& fields) {
  std::vector<std::string> words = fields.Strings("bad_words", kMaxBadWords, kMaxBadWordBytes);
  for (const std::string& word : words) {
    if (word.find_first_not_of(" \t\r\n") != std::string::npos) continue;
    fields.Fail("bad_words", "white space alone cannot be forbidden");
  }
  return words;
}

std::vector<TokenId> ReadAllowedTokenIds(JsonFields& fields, int64_t vocab_size) {
  const json* list = fields.Find("allowed_token_ids");
  if (list == nullptr) return {};
  if (!list->is_array() || list->empty()) {
    fields.Fail("allowed_token_ids", "no list of at least one token id");
    return {};
  }
  std::vector<TokenId> ids = ToTokenIds(*list, "allowed_token_ids", vocab_size, fields);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::vector<TokenId> ReadTokenIds(JsonFields& fields, const char* name, int64_t vocab_size) {
  const json* list = fields.Find(name);
  if (list == nullptr) return {};
  if (!list->is_array() || std::ssize(*list) > kMaxStops) {
    fields.Fail(name, absl::StrCat("no list of at most ", kMaxStops, " token ids"));
    return {};
  }
  return ToTokenIds(*list, name, vocab_size, fields);
}

std::vector<std::string> ReadStops(JsonFields& fields) {
  std::vector<std::string> stops = fields.Strings("stop", kMaxStops, kMaxStopBytes);
  for (const std::string& stop : stops) {
    if (stop.empty()) fields.Fail("stop", "an empty text stops nothing");
  }
  return stops;
}

uint64_t ReadSeed(JsonFields& fields) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const std::optional<int64_t> seed = fields.OptionalInteger("seed", -kMax, kMax);
  const std::optional<int64_t> other = fields.OptionalInteger("sampling_seed", -kMax, kMax);
  if (seed && other && *seed != *other) fields.Fail("sampling_seed", "seed has another value");
  if (seed || other) return static_cast<uint64_t>(seed ? *seed : *other);
  thread_local std::mt19937_64 random(std::random_device{}());
  return random();
}

void ReadCommonSampling(JsonFields& fields, const SamplingParams& defaults, int64_t vocab_size,
                        GenerateRequest& request) {
  SamplingParams& sampling = request.sampling;
  sampling.seed = ReadSeed(fields);
  for (const SamplingField& field : kSamplingFields) {
    const auto& [low, high, above_low] = field.request_range;
    if (field.count != nullptr) {
      const int64_t count = fields.Integer(field.name, defaults.*field.count,
                                           static_cast<int64_t>(low), static_cast<int64_t>(high));
      sampling.*field.count = std::max<int64_t>(count, 0);  // -1 and 0: off
    } else if (field.number != &SamplingParams::temperature) {
      sampling.*field.number =
          fields.Number(field.name, defaults.*field.number, {low, high, above_low});
    }
  }
  sampling.logit_bias = ReadLogitBias(fields, vocab_size);
  std::vector<TokenId> allowed = ReadAllowedTokenIds(fields, vocab_size);
  std::vector<std::string> bad_words = ReadBadWords(fields);
  if (!allowed.empty() || !bad_words.empty()) {
    request.bans = std::make_shared<SharedBans>(std::move(allowed), std::move(bad_words));
  }
  sampling.stop_token_ids = ReadTokenIds(fields, "stop_token_ids", vocab_size);
  request.stop = ReadStops(fields);
  request.ignore_eos = fields.Bool("ignore_eos", false);
  request.skips_special_tokens = fields.Bool("skip_special_tokens", true);
  const bool keeps_stop =
      fields.Bool("no_stop_trim", fields.Bool("include_stop_str_in_output", false));
  if (fields.Bool("include_stop_str_in_output", keeps_stop) != keeps_stop) {
    fields.Fail("no_stop_trim", "include_stop_str_in_output has another value");
  }
  request.trims_stop = !keeps_stop;
  fields.RefuseUnless("spaces_between_special_tokens", true, "none are left out");
  // These affect only beam search.
  fields.Accept({"length_penalty", "early_stopping"});
}

void RefuseUnsupported(JsonFields& fields) {
  fields.Refuse({"stop_regex",
                 "use_beam_search",
                 "custom_logit_processor",
                 "logits_processors",
                 "custom_params",
                 "lora_path",
                 "lora_id",
                 "session_params",
                 "vllm_xargs",
                 "kv_transfer_params",
                 "mm_processor_kwargs",
                 "use_audio_in_video",
                 "images_config",
                 "return_hidden_states",
                 "return_routed_experts",
                 "return_token_ids",
                 "return_prompt_token_ids",
                 "return_tokens_as_token_ids",
                 "return_cached_tokens_details",
                 "return_meta_info",
                 "data_parallel_rank",
                 "routed_dp_rank",
                 "disagg_prefill_dp_rank",
                 "bootstrap_host",
                 "bootstrap_port",
                 "bootstrap_room"},
                "not supported");
  fields.Refuse({"timeout"}, "not supported; a request whose client goes is aborted");
  fields.RefuseUnless("prompt_logprobs", nullptr,
                      "not supported; echo with logprobs in /v1/completions and logprob_start_len "
                      "in /generate return them");
}

void ReadScheduling(JsonFields& fields, GenerateRequest& request) {
  request.priority = static_cast<int32_t>(fields.Integer("priority", 0, -1'000'000, 1'000'000));
  const std::string salt = fields.String("cache_salt", "", kMaxNameBytes);
  const std::string key = fields.String("extra_key", "", kMaxNameBytes);
  // Different pairs of names form different namespaces.
  if (!salt.empty() || !key.empty()) {
    request.cache_salt = absl::StrCat(salt.size(), ":", salt, key);
  }
}

absl::Status CheckNumGenerations(int64_t num_prompts, int64_t n, int64_t body_bytes) {
  std::string problem;
  if (num_prompts * n > kMaxGenerations) {
    problem = absl::StrCat("n: ", Counted(num_prompts, "prompt"), " times ", n, " exceed ",
                           kMaxGenerations);
  } else if (body_bytes * n > kMaxGenerationBytes) {
    problem = absl::StrCat("n: ", n, " times a body of ", body_bytes, " bytes exceeds ",
                           kMaxGenerationBytes, " bytes");
  }
  if (problem.empty()) return absl::OkStatus();
  return WithParam(absl::InvalidArgumentError(problem), "n");
}

absl::Status CheckNumPromptLogprobs(const char* field, int64_t num_top, int64_t n,
                                    int64_t body_bytes) {
  // A token takes at least one byte of the body.
  if (body_bytes * n * (1 + num_top) <= kMaxPromptLogprobs) return absl::OkStatus();
  return WithParam(absl::InvalidArgumentError(absl::StrCat(
                       field, ": ", n, " times the prompts of a body of ", body_bytes,
                       " bytes, with ", num_top, " likeliest for each of their tokens, exceed ",
                       kMaxPromptLogprobs, " log-probabilities")),
                   field);
}

absl::Status CheckNumStreamedLogprobs(const char* field, int64_t num_top, int64_t max_new_tokens) {
  if (max_new_tokens <= kMaxStreamedLogprobs / (1 + num_top)) return absl::OkStatus();
  return WithParam(absl::InvalidArgumentError(
                       absl::StrCat(field, ": ", num_top, " likeliest for each of ", max_new_tokens,
                                    " tokens, which each event of a stream repeats, exceed ",
                                    kMaxStreamedLogprobs, " log-probabilities")),
                   field);
}

absl::Status CheckNumOutputLogprobs(const char* field, std::span<const GenerateRequest> requests,
                                    int64_t context_length) {
  if (requests.size() < 2) return absl::OkStatus();
  int64_t num_logprobs = 0;
  for (const GenerateRequest& request : requests) {
    const int64_t most = std::min(request.max_new_tokens.value_or(context_length), context_length);
    num_logprobs += most * (1 + request.sampling.num_logprobs);  // num_logprobs -1: none
  }
  if (num_logprobs <= kMaxOutputLogprobs) return absl::OkStatus();
  return WithParam(
      absl::InvalidArgumentError(absl::StrCat(
          field, ": the tokens of ", Counted(std::ssize(requests), "generation"),
          " and their likeliest may come to ", num_logprobs, " log-probabilities, more than ",
          kMaxOutputLogprobs, " in one reply; ask for fewer tokens, or stream")),
      field);
}

absl::Status CheckNumCountedBytes(const char* field, std::span<const std::string> texts,
                                  int64_t context_length) {
  const int64_t most = std::max(kMaxCountedBytes, 8 * context_length);
  int64_t num_bytes = 0;
  for (const std::string& text : texts) num_bytes += std::ssize(text);
  if (num_bytes <= most) return absl::OkStatus();
  return WithParam(
      absl::InvalidArgumentError(absl::StrCat(field, ": ", num_bytes, " bytes of text, more than ",
                                              most, "; send it in parts")),
      field);
}

std::vector<GenerateRequest> Repeat(std::vector<GenerateRequest> requests, int64_t n) {
  std::vector<GenerateRequest> repeated;
  repeated.reserve(requests.size() * n);
  for (GenerateRequest& request : requests) {
    for (int64_t i = 0; i < n; ++i) {
      repeated.push_back(request);
      repeated.back().sampling.seed += static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15u;
    }
  }
  return repeated;
}

Prompts ReadPrompts(JsonFields& fields, const char* name, int64_t vocab_size) {
  const json* value = fields.Find(name);
  Prompts read;
  if (value == nullptr || !fields.status().ok()) return read;
  if (value->is_string()) {
    read.prompts.emplace_back(value->get<std::string>());
    return read;
  }
  if (!value->is_array() || value->empty()) {
    fields.Fail(name, "neither a text nor a list that is not empty");
    return read;
  }
  if (value->front().is_number()) {
    read.prompts.emplace_back(ToTokenIds(*value, name, vocab_size, fields));
    return read;
  }
  if (std::ssize(*value) > kMaxPrompts) {
    fields.Fail(name, absl::StrCat(value->size(), " prompts, more than ", kMaxPrompts));
    return read;
  }
  read.is_batch = true;
  for (size_t i = 0; i < value->size(); ++i) {
    const json& entry = (*value)[i];
    if (entry.is_string()) {
      read.prompts.emplace_back(entry.get<std::string>());
    } else if (entry.is_array()) {
      read.prompts.emplace_back(ToTokenIds(entry, Place(name, i), vocab_size, fields));
    } else {
      fields.Fail(Place(name, i), "neither a text nor a list of token ids");
    }
    if (!fields.status().ok()) break;
  }
  return read;
}

}  // namespace shortlist
