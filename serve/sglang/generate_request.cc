#include "serve/sglang/generate_request.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/counted.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "request/sampling_table.h"
#include "serve/grammar_fields.h"
#include "serve/http/json_fields.h"
#include "serve/http/target.h"
#include "serve/output.h"
#include "serve/sampling_fields.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr size_t kMaxDynamicTokenIds = 4096;

/// Reads `params`, one object of "sampling_params", into `request`; returns its n.
int64_t ReadSampling(const json& params, JsonFields& fields, int64_t vocab_size,
                     GenerateRequest& request) {
  request.max_new_tokens = fields.Integer("max_new_tokens", 128, 0, kMaxCount);
  const SamplingParams defaults{.temperature = 1.0};  // SGLang's, not the model's
  request.sampling.temperature = ReadTemperature(fields, defaults.temperature, 100.0);
  request.sampling.min_new_tokens = fields.Integer("min_new_tokens", 0, 0, *request.max_new_tokens);
  ReadCommonSampling(fields, defaults, vocab_size, request);
  request.grammar = ReadGrammar(fields, [&] { return nlohmann::ordered_json(params); });
  const int64_t n = fields.Integer("n", 1, 1, kMaxChoices);
  fields.Accept({"stream_interval"});  // each event is sent as soon as it has a token
  RefuseUnsupported(fields);
  fields.RefuseUnless("max_tokens", nullptr, "here it is max_new_tokens");
  fields.RefuseUnless("min_tokens", nullptr, "here it is min_new_tokens");
  fields.RefuseUnknown();
  return n;
}

/// Handles fields other than prompt and sampling: accepts those without an effect, rejects
/// unsupported ones.
void AcceptOrRefuseOthers(JsonFields& fields) {
  // Gateways use these for routing, logs, traces and counts; they also name a model here.
  fields.Accept({"model", "session_id", "conversation_id", "routing_key", "custom_labels",
                 "log_metrics", "no_logs", "external_trace_header", "received_time"});
  RefuseUnsupported(fields);
  fields.Refuse(
      {"image_data", "audio_data", "video_data", "input_embeds", "modalities", "token_ids_logprob",
       "return_sampling_mask", "return_flat_raw_top_logprobs", "return_flat_raw_top_logprobs_b64",
       "return_indexer_topk", "return_entropy", "return_bytes", "background", "require_reasoning",
       "bootstrap_pair_key", "decode_tp_size"},
      "not supported");
  constexpr char kReason[] = "belongs into sampling_params";
  for (const SamplingField& field : kSamplingFields) {
    fields.RefuseUnless(field.name, nullptr, kReason);
  }
  for (const char* name :
       {"max_new_tokens", "max_tokens", "min_new_tokens", "n", "seed", "sampling_seed", "stop",
        "stop_token_ids", "ignore_eos", "logit_bias", "bad_words", "allowed_token_ids",
        "skip_special_tokens", "no_stop_trim"}) {
    fields.RefuseUnless(name, nullptr, kReason);
  }
}

/// Makes the requests for `prompts`. `params` is one object for all prompts, or a list of one for
/// each.
absl::StatusOr<std::vector<GenerateRequest>> MakeRequests(const json* params, Prompts prompts,
                                                          int64_t vocab_size,
                                                          const GenerateRequest& base, int64_t& n) {
  static const json kNone = json::object();
  const size_t count = prompts.prompts.size();
  const bool each = params != nullptr && params->is_array();
  if (each && params->size() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("sampling_params: ", Counted(std::ssize(*params), "object"), " for ",
                     Counted(static_cast<int64_t>(count), "prompt")));
  }
  std::vector<GenerateRequest> requests;
  requests.reserve(count);
  for (size_t i = 0; i < (each ? count : 1); ++i) {
    const json& own = params == nullptr ? kNone : each ? (*params)[i] : *params;
    JsonFields fields(own, each ? absl::StrCat("sampling_params[", i, "].") : "sampling_params.");
    const int64_t own_n = ReadSampling(own, fields, vocab_size, requests.emplace_back(base));
    if (i > 0 && own_n != n) fields.Fail("n", "not the same for all prompts");
    n = own_n;
    SHORTLIST_RETURN_IF_ERROR(fields.status());
  }
  if (!each) {
    const bool has_seed =
        params != nullptr && (params->contains("seed") || params->contains("sampling_seed"));
    requests.resize(count, requests.front());
    for (size_t i = 1; i < count && !has_seed; ++i) requests[i].sampling.seed += i;
  }
  for (size_t i = 0; i < count; ++i) requests[i].prompt = Share(std::move(prompts.prompts[i]));
  return requests;
}

}  // namespace

absl::StatusOr<GenerateAsked> ParseGenerate(const Service& service, const HttpRequest& http) {
  SHORTLIST_ASSIGN_OR_RETURN(const json body, ParseRequestBody(http.body));
  const Tokenizer& tokenizer = *service.generator->options().tokenizer;
  JsonFields fields(body);
  const bool has_text = fields.Find("text") != nullptr;
  if (has_text == (fields.Find("input_ids") != nullptr)) {
    fields.Fail("text", "exactly one of text and input_ids is wanted");
  }
  Prompts prompts = ReadPrompts(fields, has_text ? "text" : "input_ids", tokenizer.size());
  if (fields.status().ok() &&
      std::holds_alternative<std::string>(prompts.prompts.front()) != has_text) {
    fields.Fail(has_text ? "text" : "input_ids", has_text ? "no text" : "no list of token ids");
  }
  GenerateAsked asked;
  asked.rid = fields.String("rid", "", kMaxNameBytes);
  if (asked.rid.empty()) asked.rid = NewRequestId();
  asked.stream = fields.Bool("stream", false);
  asked.logprobs = fields.Bool("return_logprob", false);
  asked.num_top_logprobs = fields.Integer("top_logprobs_num", 0, 0, kMaxTopLogprobs);
  asked.text_in_logprobs = fields.Bool("return_text_in_logprobs", false);
  asked.token_infos = fields.Bool("return_token_infos", false);
  const int64_t logprob_start = fields.Integer("logprob_start_len", -1, -1, kMaxCount);
  GenerateRequest base;
  base.prompt_field = has_text ? "text" : "input_ids";
  if (asked.logprobs) {
    base.sampling.num_logprobs = asked.num_top_logprobs;
    base.sampling.prompt_logprobs_start = logprob_start;
  }
  base.speculates = asked.speculates = fields.Bool("speculate", true);
  std::vector<TokenId> dynamic;
  for (const int64_t id :
       fields.Integers("dynamic_token_ids", kMaxDynamicTokenIds, 0, tokenizer.size() - 1)) {
    dynamic.push_back(TokenId{static_cast<int32_t>(id)});
  }
  if (!dynamic.empty()) {
    base.dynamic_token_ids = std::make_shared<const std::vector<TokenId>>(std::move(dynamic));
  }
  ReadScheduling(fields, base);
  const json* const params = fields.Find("sampling_params");
  AcceptOrRefuseOthers(fields);
  fields.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(fields.status());

  int64_t n = 1;
  const bool is_batch = prompts.is_batch;
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<GenerateRequest> requests,
                             MakeRequests(params, std::move(prompts), tokenizer.size(), base, n));
  asked.is_list = is_batch || n > 1;
  SHORTLIST_RETURN_IF_ERROR(CheckNumGenerations(std::ssize(requests), n, std::ssize(http.body)));
  if (base.sampling.prompt_logprobs_start >= 0) {
    SHORTLIST_RETURN_IF_ERROR(CheckNumPromptLogprobs("logprob_start_len", asked.num_top_logprobs, n,
                                                     std::ssize(http.body)));
  }
  for (const GenerateRequest& request : requests) {
    if (!asked.stream || !asked.logprobs) break;
    SHORTLIST_RETURN_IF_ERROR(CheckNumStreamedLogprobs("top_logprobs_num", asked.num_top_logprobs,
                                                       *request.max_new_tokens));
  }
  asked.requests = Repeat(std::move(requests), n);
  asked.num_results = asked.requests.size();
  if (!asked.stream) {
    SHORTLIST_RETURN_IF_ERROR(CheckNumOutputLogprobs("top_logprobs_num", asked.requests,
                                                     service.generator->options().context_length));
  }
  return asked;
}

}  // namespace shortlist
