#include "serve/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serve/generator.h"
#include "serve/http/api_error.h"

namespace shortlist {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using Labels = std::map<std::string, std::string>;

/// From half a millisecond to a minute, four buckets per decade.
Histogram::BucketBoundaries LatencyBuckets() {
  return {0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1,
          0.2,    0.3,   0.5,   1.0,   2.0,   3.0,  5.0,  10.0, 30.0, 60.0};
}

double Ratio(double a, double b) { return b == 0.0 ? 0.0 : a / b; }

}  // namespace

struct Metrics::Families {
  explicit Families(const std::string& model_name) : labels{{"model_name", model_name}} {}

  Counter& NewCounter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add(labels);
  }
  Family<Counter>& NewFamily(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  Gauge& NewGauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add(labels);
  }
  Histogram& NewHistogram(const char* name, const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add(
        labels, LatencyBuckets());
  }
  /// Raises a counter to the total that the engine reports. Counters never decrease.
  static void Raise(Counter& counter, double total) {
    counter.Increment(std::max(total - counter.Value(), 0.0));
  }

  /// `num_slots` is constant; 0: there is no KV cache.
  void SetCacheConfig(int64_t num_slots) {
    if (num_slots == 0) return;
    Labels vllm = labels, sglang = labels;
    vllm["block_size"] = sglang["page_size"] = "1";
    vllm["num_gpu_blocks"] = sglang["num_pages"] = absl::StrCat(num_slots);
    vllm_cache.Add(vllm).Set(1.0);
    sglang_cache.Add(sglang).Set(1.0);
  }

  void CountPlaces(const std::vector<PlaceCounts>& by_place) {
    for (size_t place = 0; place < by_place.size(); ++place) {
      for (size_t i = 0; i < kNumProposalSources; ++i) {
        if (by_place[place].num_drafted[i] == 0) continue;
        Labels of_place = labels;
        of_place["position"] = absl::StrCat(place);
        of_place["source"] = ProposalSourceName(static_cast<ProposalSource>(i));
        drafted_per_pos.Add(of_place).Increment(
            static_cast<double>(by_place[place].num_drafted[i]));
        accepted_per_pos.Add(of_place).Increment(
            static_cast<double>(by_place[place].num_accepted[i]));
      }
    }
  }

  void SetCosts(const DecodingCosts& costs) {
    draft_pass.Add(labels).Set(1e-3 * costs.draft_pass_ms);
    if (costs.speed_up > 0.0) speed_up.Add(labels).Set(costs.speed_up);
    int64_t rows = 1;
    for (const double ms : costs.verify_pass_ms) {
      Labels of_rows = labels;
      of_rows["rows"] = absl::StrCat(rows);
      verify_pass.Add(of_rows).Set(1e-3 * ms);
      rows *= 2;
    }
  }

  const Labels labels;
  prometheus::Registry registry;
  std::mutex mutex;  // guards speculation, and serializes Text
  SequenceStats speculation;

  Counter& prompt_tokens = NewCounter("sglang:prompt_tokens_total", "Tokens of prompts served");
  Counter& generation_tokens = NewCounter("sglang:generation_tokens_total", "Tokens generated");
  Counter& cached_tokens =
      NewCounter("sglang:cached_tokens_total", "Prompt tokens found in the radix cache");
  Counter& num_requests = NewCounter("sglang:num_requests_total", "Generations ended");
  Counter& num_aborted =
      NewCounter("sglang:num_aborted_requests_total", "Generations that were aborted");
  Histogram& first_token =
      NewHistogram("sglang:time_to_first_token_seconds", "From arrival to the first token");
  Histogram& inter_token = NewHistogram("sglang:inter_token_latency_seconds",
                                        "A token's share of the gap before its step");
  Histogram& end_to_end =
      NewHistogram("sglang:e2e_request_latency_seconds", "From arrival to the last token");

  Gauge& num_running = NewGauge("sglang:num_running_reqs", "Requests being computed");
  Gauge& num_queued = NewGauge("sglang:num_queue_reqs", "Requests waiting for admission");
  Gauge& num_used = NewGauge("sglang:num_used_tokens", "KV slots held by requests");
  Gauge& max_total = NewGauge("sglang:max_total_num_tokens", "KV slots");
  Gauge& token_usage = NewGauge("sglang:token_usage", "Share of the KV slots held by requests");
  Gauge& throughput = NewGauge("sglang:gen_throughput", "Tokens a second, over ten seconds");
  Gauge& hit_rate =
      NewGauge("sglang:cache_hit_rate", "Share of prompt tokens found in the radix cache");
  Gauge& new_token_ratio = NewGauge("sglang:new_token_ratio",
                                    "Share of its remaining tokens that a request is held to need");
  Gauge& num_retracted = NewGauge("sglang:num_retracted_reqs", "Retractions since the start");
  Gauge& accept_length =
      NewGauge("sglang:spec_accept_length", "Step tokens per verify step, since the start");
  Gauge& accept_rate =
      NewGauge("sglang:spec_accept_rate", "Share of drafted tokens that were emitted");

  Gauge& cached = NewGauge("shortlist:radix_cache_tokens", "KV slots of the radix cache alone");
  Gauge& coverage =
      NewGauge("shortlist:coverage", "Share of step tokens that the draft could have proposed");
  Counter& step_tokens =
      NewCounter("shortlist:step_tokens_total", "Tokens emitted by verify steps");
  Counter& verify_calls =
      NewCounter("sglang:spec_verify_calls_total", "Verify steps of all requests");
  Counter& escapes =
      NewCounter("shortlist:escapes_total", "Step tokens that the draft could not have proposed");
  Gauge& active_rows = NewGauge("shortlist:active_rows",
                                "Rows the draft head scored for the request that ended last");
  Gauge& covered_accept_rate = NewGauge("shortlist:covered_accept_rate",
                                        "Share of drafted tokens that were emitted, where the "
                                        "draft could have proposed the target's");
  Counter& fallback_steps =
      NewCounter("shortlist:fallback_steps_total",
                 "Verify steps of requests that fell back to the full head, as coverage collapsed");
  Counter& steps_beyond_draft =
      NewCounter("shortlist:steps_beyond_draft_total",
                 "Verify steps without a draft, as the request filled the draft's context");
  Gauge& base_rows = NewGauge("shortlist:base_rows", "Rows of the base of the active vocabulary");
  Counter& size_changes =
      NewCounter("shortlist:base_size_changes_total", "Times that the base found another size");
  // Gateways read the size of the KV cache of vLLM and SGLang from these labels. A block is one
  // slot.
  Family<Gauge>& vllm_cache = prometheus::BuildGauge()
                                  .Name("vllm:cache_config_info")
                                  .Help("KV cache, as vLLM reports it: a block is one slot")
                                  .Register(registry);
  Family<Gauge>& sglang_cache = prometheus::BuildGauge()
                                    .Name("sglang:cache_config_info")
                                    .Help("KV cache, as SGLang reports it: a page is one slot")
                                    .Register(registry);
  Family<Counter>& held = NewFamily("shortlist:held_tokens_total",
                                    "Step tokens, by why the draft could have proposed them");
  Family<Counter>& rows_added =
      NewFamily("shortlist:tail_rows_added_total", "Rows of requests' own, by what found them");
  Counter& mapping_faults = NewCounter("shortlist:mapping_faults_total",
                                       "Drafted tokens whose logit is not that of their row");
  Counter& steps = NewCounter("shortlist:engine_steps_total", "Decode or verify steps");
  Counter& draft_passes = NewCounter("shortlist:draft_passes_total", "Forward passes of the draft");
  Counter& resting_steps = NewCounter("shortlist:resting_steps_total",
                                      "Steps that drafted nothing, since it did not pay");
  // These exist once their values are known.
  Family<Gauge>& draft_pass = prometheus::BuildGauge()
                                  .Name("shortlist:draft_pass_seconds")
                                  .Help("Expected time of a pass of the draft")
                                  .Register(registry);
  Family<Gauge>& verify_pass = prometheus::BuildGauge()
                                   .Name("shortlist:verify_pass_seconds")
                                   .Help("Expected time of a pass of the target, by its rows")
                                   .Register(registry);
  Family<Gauge>& speed_up = prometheus::BuildGauge()
                                .Name("shortlist:expected_speed_up")
                                .Help("Of drafting over plain decoding, by measured costs")
                                .Register(registry);
  Counter& draft_failures =
      NewCounter("shortlist:draft_failures_total", "Steps that fell back to plain decoding");
  Counter& draft_seconds = NewCounter("shortlist:draft_seconds_total", "Time spent on drafting");
  Counter& verify_seconds =
      NewCounter("shortlist:verify_seconds_total", "Time spent on target passes and verification");
  Family<Counter>& accepted = prometheus::BuildCounter()
                                  .Name("shortlist:verify_steps_total")
                                  .Help("Steps of a request, by the number of tokens accepted")
                                  .Register(registry);
  // vLLM's counters by position, whose names these are with the project's prefix.
  Family<Counter>& drafted_per_pos =
      NewFamily("shortlist:spec_decode_num_draft_tokens_per_pos_total",
                "Drafted tokens, by place in the chain (from 0) and by what proposed them");
  Family<Counter>& accepted_per_pos =
      NewFamily("shortlist:spec_decode_num_accepted_tokens_per_pos_total",
                "Drafted tokens that were emitted, by place in the chain and by source");
  Family<Counter>& encode_requests =
      NewFamily("shortlist:encode_requests_total", "Requests for encodings, by how they ended");
  Family<Counter>& encoded_inputs = NewFamily("shortlist:encoded_inputs_total",
                                              "Inputs of requests for encodings that ended well");
  Family<Counter>& encoded_tokens =
      NewFamily("shortlist:encoded_tokens_total", "Tokens of these inputs");
  Family<Counter>& encode_passes =
      NewFamily("shortlist:encode_passes_total", "Forward passes of an encoder");
  Family<Counter>& encode_seconds =
      NewFamily("shortlist:encode_seconds_total", "Time spent on passes of an encoder");
  Family<Histogram>& encode_latency = prometheus::BuildHistogram()
                                          .Name("shortlist:encode_request_seconds")
                                          .Help("Of requests for encodings that ended well")
                                          .Register(registry);
  Family<Counter>& http = prometheus::BuildCounter()
                              .Name("shortlist:http_requests_total")
                              .Help("Requests by route, method, status and error code")
                              .Register(registry);
  Family<Histogram>& http_seconds = prometheus::BuildHistogram()
                                        .Name("shortlist:http_request_seconds")
                                        .Help("From the first byte of a request to its end")
                                        .Register(registry);
};

Metrics::Metrics(const std::string& model_name)
    : families_(std::make_unique<Families>(model_name)) {}
Metrics::~Metrics() = default;

void Metrics::OnHttpDone(const RequestRecord& record) {
  // Clients can invent methods for unknown routes, so those are not labels.
  const bool known = !record.route.empty();
  families_->http
      .Add({{"route", known ? record.route : "none"},
            {"method", known ? record.method : "other"},
            {"status", absl::StrCat(record.status)},
            {"code", record.error_code}})
      .Increment();
  if (known) {
    families_->http_seconds.Add({{"route", record.route}}, LatencyBuckets())
        .Observe(record.seconds);
  }
}

void Metrics::OnFirstToken(double seconds) { families_->first_token.Observe(seconds); }

void Metrics::OnStep(double seconds_since_last, int64_t num_tokens) {
  for (int64_t i = 0; i < num_tokens; ++i) {
    families_->inter_token.Observe(seconds_since_last / static_cast<double>(num_tokens));
  }
}

void Metrics::OnFinished(const GenerationEvent& event) {
  Families& f = *families_;
  f.num_requests.Increment();
  if (absl::IsCancelled(event.status)) f.num_aborted.Increment();
  f.prompt_tokens.Increment(static_cast<double>(event.prompt_tokens));
  f.generation_tokens.Increment(static_cast<double>(event.completion_tokens));
  f.cached_tokens.Increment(static_cast<double>(event.cached_tokens));
  if (event.status.ok()) f.end_to_end.Observe(event.seconds);
  f.verify_calls.Increment(static_cast<double>(event.stats.num_verify_steps));
  f.step_tokens.Increment(static_cast<double>(event.stats.num_step_tokens));
  f.escapes.Increment(static_cast<double>(event.stats.num_escapes()));
  f.steps_beyond_draft.Increment(static_cast<double>(event.stats.num_steps_beyond_draft));
  f.fallback_steps.Increment(static_cast<double>(event.stats.num_fallback_steps));
  for (size_t i = 0; i < kNumRowSources; ++i) {
    const Labels source = {{"source", RowSourceName(static_cast<RowSource>(i))}};
    const auto count = [&source](Family<Counter>& family, int64_t tokens) {
      if (tokens > 0) family.Add(source).Increment(static_cast<double>(tokens));
    };
    count(f.held, event.stats.num_held[i]);
    count(f.rows_added, event.stats.num_rows_added[i]);
  }
  f.mapping_faults.Increment(static_cast<double>(event.stats.num_mapping_faults));
  if (event.stats.active_rows > 0) f.active_rows.Set(static_cast<double>(event.stats.active_rows));
  for (size_t k = 0; k < event.accepted_counts.size(); ++k) {
    if (event.accepted_counts[k] == 0) continue;
    f.accepted.Add({{"accepted", absl::StrCat(k)}})
        .Increment(static_cast<double>(event.accepted_counts[k]));
  }
  f.CountPlaces(event.stats.by_place);
  const std::lock_guard lock(f.mutex);
  f.speculation.Add(event.stats);
}

void Metrics::OnEncoded(const std::string& model, const absl::StatusOr<EncodedBatch>& encoded) {
  Families& f = *families_;
  const Labels labels = {{"model_name", model}};
  f.encode_requests
      .Add({{"model_name", model}, {"code", encoded.ok() ? "" : CodeOf(encoded.status())}})
      .Increment();
  if (!encoded.ok()) return;
  f.encoded_inputs.Add(labels).Increment(static_cast<double>(encoded->values.size()));
  f.encoded_tokens.Add(labels).Increment(static_cast<double>(encoded->total_tokens()));
  f.encode_latency.Add(labels, LatencyBuckets()).Observe(encoded->seconds);
}

SequenceStats Metrics::Speculation() const {
  const std::lock_guard lock(families_->mutex);
  return families_->speculation;
}

std::string Metrics::Text(const EngineLoad& load, double throughput) {
  Families& f = *families_;
  const std::lock_guard lock(f.mutex);
  const auto used = static_cast<double>(load.num_used_tokens);
  f.num_running.Set(static_cast<double>(load.num_running));
  f.num_queued.Set(static_cast<double>(load.num_queued));
  f.num_used.Set(used);
  f.max_total.Set(static_cast<double>(load.max_total_tokens));
  f.SetCacheConfig(load.max_total_tokens);
  f.token_usage.Set(Ratio(used, static_cast<double>(load.max_total_tokens)));
  f.throughput.Set(throughput);
  f.hit_rate.Set(load.scheduling.hit_rate());
  f.new_token_ratio.Set(load.new_token_ratio);
  f.num_retracted.Set(static_cast<double>(load.scheduling.num_retractions));
  f.accept_length.Set(f.speculation.accept_length());
  f.accept_rate.Set(f.speculation.acceptance_rate());
  f.coverage.Set(f.speculation.coverage());
  f.covered_accept_rate.Set(f.speculation.covered_acceptance_rate());
  f.base_rows.Set(static_cast<double>(load.base_rows));
  Families::Raise(f.size_changes, static_cast<double>(load.num_size_changes));
  f.cached.Set(static_cast<double>(load.num_cached_tokens));
  Families::Raise(f.steps, static_cast<double>(load.num_steps));
  Families::Raise(f.draft_passes, static_cast<double>(load.num_draft_passes));
  Families::Raise(f.resting_steps, static_cast<double>(load.num_resting_steps));
  Families::Raise(f.draft_failures, static_cast<double>(load.num_draft_failures));
  Families::Raise(f.draft_seconds, 1e-3 * load.draft_ms);
  Families::Raise(f.verify_seconds, 1e-3 * load.verify_ms);
  if (load.costs) f.SetCosts(*load.costs);
  for (const EncoderLoad& encoder : load.encoders) {
    const Labels labels = {{"model_name", encoder.name}};
    Families::Raise(f.encode_passes.Add(labels), static_cast<double>(encoder.num_passes));
    Families::Raise(f.encode_seconds.Add(labels), encoder.seconds);
  }
  return prometheus::TextSerializer().Serialize(f.registry.Collect());
}

}  // namespace shortlist
