#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/http/json_fields.h"
#include "serve/http/target.h"
#include "serve/openapi.h"
#include "serve/output.h"
#include "serve/sampling_fields.h"
#include "serve/sglang/routes.h"

namespace shortlist {
namespace {

using boost::asio::awaitable;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kMaxDynamicTokenIds = 4096;

/// What /generate was asked, besides its generations.
struct Asked {
  std::vector<GenerateRequest> requests;
  size_t num_results = 0;  // of these requests
  std::string rid;
  bool is_list = false;  // of results: a batch, or n > 1
  bool stream = false;
  bool logprobs = false;
  int64_t num_top_logprobs = 0;
  bool text_in_logprobs = false;
  bool token_infos = false;
  bool speculates = true;
};

/// One object of "sampling_params" into `request`; returns its n.
int64_t ReadSampling(JsonFields& fields, int64_t vocab_size, GenerateRequest& request) {
  request.max_new_tokens = fields.Integer("max_new_tokens", 128, 0, kMaxCount);
  const SamplingWish wish;  // SGLang's, whatever the model wants
  request.sampling.temperature = ReadTemperature(fields, wish.temperature, 100.0);
  request.sampling.min_new_tokens = fields.Integer("min_new_tokens", 0, 0, *request.max_new_tokens);
  ReadCommonSampling(fields, wish, vocab_size, request);
  const int64_t n = fields.Integer("n", 1, 1, kMaxChoices);
  fields.Accept({"stream_interval"});  // events come as soon as there is a token
  RefuseUnsupported(fields);
  fields.RefuseUnless("max_tokens", nullptr, "here it is max_new_tokens");
  fields.RefuseUnless("min_tokens", nullptr, "here it is min_new_tokens");
  fields.RefuseUnknown();
  return n;
}

/// What /generate has besides its prompt and its sampling: without an effect, or not supported.
void AcceptOrRefuseOthers(JsonFields& fields) {
  // What gateways route, log, trace and count by; they also name a model here.
  fields.Accept({"model", "session_id", "conversation_id", "routing_key", "custom_labels",
                 "log_metrics", "no_logs", "external_trace_header", "received_time"});
  RefuseUnsupported(fields);
  fields.Refuse(
      {"image_data", "audio_data", "video_data", "input_embeds", "modalities", "token_ids_logprob",
       "return_sampling_mask", "return_flat_raw_top_logprobs", "return_flat_raw_top_logprobs_b64",
       "return_indexer_topk", "return_entropy", "return_bytes", "background", "require_reasoning",
       "bootstrap_pair_key", "decode_tp_size"},
      "not supported");
  for (const char* name : {"max_new_tokens",
                           "max_tokens",
                           "min_new_tokens",
                           "temperature",
                           "top_p",
                           "top_k",
                           "min_p",
                           "n",
                           "seed",
                           "sampling_seed",
                           "stop",
                           "stop_token_ids",
                           "ignore_eos",
                           "repetition_penalty",
                           "presence_penalty",
                           "frequency_penalty",
                           "logit_bias",
                           "bad_words",
                           "allowed_token_ids",
                           "skip_special_tokens",
                           "no_stop_trim"}) {
    fields.RefuseUnless(name, nullptr, "belongs into sampling_params");
  }
}

/// The requests for `prompts`, sampled as `params` says: one object for all, or one for each.
absl::StatusOr<std::vector<GenerateRequest>> MakeRequests(const json* params, Prompts prompts,
                                                          int64_t vocab_size,
                                                          const GenerateRequest& base, int64_t& n) {
  static const json kNone = json::object();
  const size_t count = prompts.prompts.size();
  const bool each = params != nullptr && params->is_array();
  if (each && params->size() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("sampling_params: ", params->size(), " objects for ", count, " prompts"));
  }
  std::vector<GenerateRequest> requests;
  requests.reserve(count);
  for (size_t i = 0; i < (each ? count : 1); ++i) {
    JsonFields fields(params == nullptr ? kNone
                      : each            ? (*params)[i]
                                        : *params,
                      each ? absl::StrCat("sampling_params[", i, "].") : "sampling_params.");
    const int64_t own_n = ReadSampling(fields, vocab_size, requests.emplace_back(base));
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

absl::StatusOr<Asked> Parse(const Service& service, const HttpRequest& http) {
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
  Asked asked;
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

ordered_json FinishReasonJson(const GenerationEvent& last) {
  if (!last.finished) return nullptr;
  if (!last.status.ok()) {
    return {{"type", "abort"},
            {"message", std::string(last.status.message())},
            {"status_code", HttpStatusOf(last.status)}};
  }
  if (last.finish_reason == FinishReason::kLength) {
    return {{"type", "length"}, {"length", last.completion_tokens}};
  }
  ordered_json reason = {{"type", "stop"}};
  if (last.matched_token.has_value()) {
    reason["matched"] = Raw(*last.matched_token);
  } else {
    reason["matched"] = last.matched_text;
  }
  return reason;
}

const char* Name(TokenOrigin origin) {
  switch (origin) {
    case TokenOrigin::kPlain:
      return "plain";
    case TokenOrigin::kAccepted:
      return "accepted";
    case TokenOrigin::kCorrection:
      return "correction";
    case TokenOrigin::kBonus:
      return "bonus";
  }
  return "plain";
}

/// Writes the results of one request.
class Writer {
 public:
  Writer(const Service& service, const Asked& asked)
      : service_(service),
        tokenizer_(*service.generator->options().tokenizer),
        asked_(asked),
        outputs_(asked.num_results) {}

  /// Takes an event in and writes the whole so far, as SGLang's streams do.
  std::string Event(GenerationEvent event) {
    const size_t index = event.index;
    Output& output = outputs_[index];
    const size_t num_old = output.tokens.size();
    Append(std::move(event), output);
    ordered_json result = Result(index, output, num_old);
    if (asked_.is_list) result["index"] = index;
    return ServerSentEvent(Dump(result));
  }

  ordered_json Result(size_t index, const Output& output, size_t num_old) const {
    ordered_json ids = ordered_json::array();
    for (const OutputToken& token : output.tokens) ids.push_back(Raw(token.id));
    ordered_json result = {{"text", output.text},
                           {"output_ids", std::move(ids)},
                           {"meta_info", MetaInfo(index, output, num_old)}};
    if (asked_.token_infos) result["token_infos"] = TokenInfos(output, num_old);
    return result;
  }

 private:
  ordered_json MetaInfo(size_t index, const Output& output, size_t num_old) const {
    const GenerationEvent& last = output.last;
    const std::string id = asked_.is_list ? absl::StrCat(asked_.rid, "-", index) : asked_.rid;
    ordered_json meta = {{"id", id},
                         {"finish_reason", FinishReasonJson(last)},
                         {"prompt_tokens", last.prompt_tokens},
                         {"completion_tokens", last.completion_tokens},
                         {"cached_tokens", last.cached_tokens},
                         {"reasoning_tokens", 0},
                         {"weight_version", "default"}};
    if (asked_.logprobs) {
      // A long prompt's are not told with every event: with the first and the last.
      const bool tells_prompt = num_old == 0 || last.finished;
      AddLogprobs("input", tells_prompt ? output.prompt : std::vector<PromptToken>(), meta);
      AddLogprobs("output", output.tokens, meta);
    }
    if (!last.finished) return meta;
    meta["e2e_latency"] = last.seconds;
    if (last.decode_seconds > 0.0) {  // the first token comes of the prompt's pass
      meta["decode_throughput"] =
          static_cast<double>(last.completion_tokens - 1) / last.decode_seconds;
    }
    if (asked_.speculates && service_.num_draft_tokens > 0) AddSpeculation(last, meta);
    return meta;
  }

  static void AddSpeculation(const GenerationEvent& last, ordered_json& meta) {
    const SequenceStats& stats = last.stats;
    meta["spec_verify_ct"] = stats.num_verify_steps;
    meta["spec_accept_length"] = stats.accept_length();
    meta["spec_accept_rate"] = stats.acceptance_rate();
    meta["spec_accepted_drafts"] = stats.num_accepted;
    meta["spec_proposed_drafts"] = stats.num_drafted;
    meta["spec_accept_histogram"] = last.accepted_counts;
    meta["coverage"] = stats.coverage();
    ordered_json held;
    for (size_t source = 0; source < kNumRowSources; ++source) {
      if (stats.num_held[source] == 0) continue;
      held[RowSourceName(static_cast<RowSource>(source))] = stats.num_held[source];
    }
    meta["held_by"] = std::move(held);
    meta["active_rows"] = stats.active_rows;
  }

  ordered_json Logprob(float logprob, TokenId id) const {
    ordered_json entry = ordered_json::array();
    entry.push_back(std::isnan(logprob) ? ordered_json() : ordered_json(JsonLogprob(logprob)));
    entry.push_back(Raw(id));
    entry.push_back(asked_.text_in_logprobs ? ordered_json(TokenText(tokenizer_, id))
                                            : ordered_json());
    return entry;
  }

  /// Adds <side>_token_logprobs and, where asked for, <side>_top_logprobs of prompt or output
  /// tokens. Nothing is known of the first token of a prompt: null.
  template <typename Token>
  void AddLogprobs(const std::string& side, const std::vector<Token>& tokens,
                   ordered_json& meta) const {
    ordered_json chosen = ordered_json::array(), tops = ordered_json::array();
    for (const Token& token : tokens) {
      chosen.push_back(Logprob(token.info.logprob, token.id));
      ordered_json top;
      if (!std::isnan(token.info.logprob)) top = ordered_json::array();
      for (const auto& [id, logprob] : token.info.top) top.push_back(Logprob(logprob, id));
      tops.push_back(std::move(top));
    }
    meta[side + "_token_logprobs"] = std::move(chosen);
    if (asked_.num_top_logprobs > 0) meta[side + "_top_logprobs"] = std::move(tops);
  }

  static ordered_json TokenInfos(const Output& output, size_t num_old) {
    ordered_json infos = ordered_json::array();
    for (size_t i = num_old; i < output.tokens.size(); ++i) {
      const OutputToken& token = output.tokens[i];
      ordered_json info = {{"id", Raw(token.id)},
                           {"text", token.text},
                           {"origin", Name(token.info.origin)},
                           {"escape", token.info.escape}};
      info["logprob"] = std::isnan(token.info.logprob)
                            ? ordered_json()
                            : ordered_json(JsonLogprob(token.info.logprob));
      infos.push_back(std::move(info));
    }
    return infos;
  }

  const Service& service_;
  const Tokenizer& tokenizer_;
  const Asked& asked_;
  std::vector<Output> outputs_;
};

/// The reply, as text result by result: as JSON values, log-probabilities take many times the
/// memory.
std::string Whole(const Asked& asked, const Writer& writer, std::vector<Output> outputs) {
  std::string text = asked.is_list ? "[" : "";
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (i > 0) text += ',';
    text += Dump(writer.Result(i, outputs[i], 0));
    outputs[i] = {};
  }
  return asked.is_list ? text + "]" : text;
}

awaitable<absl::Status> SendWhole(const Service& service, const Client& client,
                                  Generation& generation, const Asked& asked, const Writer& writer,
                                  HttpResponse& response) {
  std::vector<Output> outputs(asked.num_results);
  while (!generation.finished()) {
    GenerationEvent event = co_await generation.Next();
    // Whoever aborted it gets what there is.
    if (!event.status.ok() && !absl::IsCancelled(event.status)) co_return event.status;
    Record(event, response.record());
    Output& output = outputs[event.index];
    Append(std::move(event), output);
  }
  const auto write = [&] { return Whole(asked, writer, std::move(outputs)); };
  std::string body = co_await service.workers->RunIfLarge(client, NumBytes(outputs), write);
  co_await response.Send(200, kJsonType, std::move(body));
  co_return absl::OkStatus();
}

awaitable<absl::Status> Generate(const Service& service, const HttpRequest& http,
                                 HttpResponse& response) {
  const auto parse = [&] { return Parse(service, http); };
  absl::StatusOr<Asked> asked =
      co_await service.workers->RunIfLarge(http.client, std::ssize(http.body), parse);
  if (!asked.ok()) co_return asked.status();
  http.DropBody();
  absl::StatusOr<std::unique_ptr<Generation>> generation =
      service.generator->Start(std::move(asked->requests), http.client, asked->rid);
  if (!generation.ok()) co_return generation.status();
  Writer writer(service, *asked);
  if (asked->stream) {
    StreamFormat format;
    format.format = [&writer](GenerationEvent event) { return writer.Event(std::move(event)); };
    absl::Status status = co_await StreamEvents(**generation, response, format);
    co_return status;
  }
  absl::Status status =
      co_await SendWhole(service, http.client, **generation, *asked, writer, response);
  co_return status;
}

}  // namespace

absl::Status AddSglangGenerateRoutes(const Service& service, RouteTable& routes) {
  for (const char* method : {"POST", "PUT"}) {
    SHORTLIST_RETURN_IF_ERROR(
        routes.Add({.method = method,
                    .path = "/generate",
                    .takes_json = true,
                    .handler =
                        [&service](const HttpRequest& request, HttpResponse& response) {
                          return Generate(service, request, response);
                        },
                    .openapi = openapi::Generate()}));
  }
  return absl::OkStatus();
}

}  // namespace shortlist
