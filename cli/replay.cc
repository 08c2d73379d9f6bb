#include "cli/replay.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/decode_all.h"
#include "cli/generated_trace.h"
#include "cli/progress.h"
#include "cli/prompts.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/trace.h"
#include "io/model_source.h"
#include "model/checkpoint/config.h"
#include "nlohmann/json.hpp"
#include "router/scheduler.h"
#include "router/simulator.h"
#include "runtime/engine.h"
#include "runtime/models.h"
#include "text/chat/conversation.h"
#include "text/chat/prompt_encoder.h"

namespace shortlist {
namespace {

/// Times at which the tokens of one request arrived.
struct Latencies {
  double arrival_s = 0.0;
  bool failed = false;
  std::vector<double> token_times_s;
};

struct ReplayResult {
  std::vector<Latencies> requests;
  double duration_s = 0.0;
  SchedulerStats scheduling;
  SequenceStats speculation;
};

struct Distribution {
  double mean = 0.0, p50 = 0.0, p99 = 0.0;
};

Distribution Distribute(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  // The smallest value that at least this share of the values does not exceed.
  const auto percentile = [&values](size_t percent) {
    return values[(values.size() * percent + 99) / 100 - 1];
  };
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {sum / static_cast<double>(values.size()), percentile(50), percentile(99)};
}

nlohmann::ordered_json ToJson(const Distribution& seconds) {
  return {{"mean_ms", 1e3 * seconds.mean},
          {"p50_ms", 1e3 * seconds.p50},
          {"p99_ms", 1e3 * seconds.p99}};
}

nlohmann::ordered_json Report(const ReplayResult& result) {
  std::vector<double> first_token_s, inter_token_s;
  int64_t num_tokens = 0, num_failed = 0;
  for (const Latencies& request : result.requests) {
    num_failed += request.failed ? 1 : 0;
    const std::vector<double>& times = request.token_times_s;
    num_tokens += std::ssize(times);
    if (!times.empty()) first_token_s.push_back(times.front() - request.arrival_s);
    for (size_t begin = 0; begin < times.size();) {
      size_t end = begin;  // tokens of one step share its time
      while (end < times.size() && times[end] == times[begin]) ++end;
      const auto count = static_cast<double>(end - begin);
      if (begin > 0) {
        inter_token_s.insert(inter_token_s.end(), end - begin,
                             (times[begin] - times[begin - 1]) / count);
      }
      begin = end;
    }
  }
  return {
      {"requests", result.requests.size()},
      {"failed", num_failed},
      {"duration_s", result.duration_s},
      {"output_tokens", num_tokens},
      {"output_tokens_per_s", static_cast<double>(num_tokens) / std::max(result.duration_s, 1e-9)},
      {"prompt_tokens", result.scheduling.num_prompt_tokens},
      {"cached_tokens", result.scheduling.num_hit_tokens},
      {"hit_rate", result.scheduling.hit_rate()},
      {"retractions", result.scheduling.num_retractions},
      {"accept_length", result.speculation.accept_length()},
      {"coverage", result.speculation.coverage()},
      {"held_by_continuations", result.speculation.num_held[Index(RowSource::kContinuations)]},
      {"time_to_first_token", ToJson(Distribute(std::move(first_token_s)))},
      {"inter_token_latency", ToJson(Distribute(std::move(inter_token_s)))}};
}

void Write(const nlohmann::ordered_json& report, bool json, std::ostream& out) {
  if (json) {
    out << report.dump() << "\n";
    return;
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : report.items()) {
    if (value.is_object()) {
      for (const auto& [part, ms] : value.items()) {
        rows.push_back({name + " " + part, FormatFixed(ms.get<double>(), 2)});
      }
    } else {
      rows.push_back(
          {name, value.is_number_float() ? FormatFixed(value.get<double>(), 3) : value.dump()});
    }
  }
  out << FormatTable({"replay", ""}, rows);
}

/// Returns the rows of the trace file, or of the trace that --generate describes.
absl::StatusOr<std::vector<TraceRow>> TraceRows(const ReplayFlags& flags) {
  if (flags.generate.empty()) return ReadTrace(flags.run.prompts_path);
  const absl::StatusOr<TraceShape> shape = ParseTraceShape(flags.generate);
  if (!shape.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--generate: ", shape.status().message()));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const ModelSource source, ModelSource::Open(flags.run.models.model));
  SHORTLIST_ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(source));
  std::vector<TraceRow> rows;
  for (GeneratedRequest& request :
       GenerateTrace(*shape, config.vocab_size, flags.run.sampling.seed)) {
    rows.push_back({.arrival_s = request.arrival_s, .generated_prompt = std::move(request.prompt)});
  }
  return rows;
}

/// Row indices in order of arrival.
std::vector<size_t> ByArrival(const std::vector<TraceRow>& rows) {
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rows[a].arrival_s < rows[b].arrival_s; });
  return order;
}

absl::StatusOr<ReplayResult> SimulateTrace(const ReplayFlags& flags,
                                           const std::vector<TraceRow>& rows) {
  SHORTLIST_ASSIGN_OR_RETURN(const ModelSource source, ModelSource::Open(flags.run.models.model));
  SHORTLIST_ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(source));
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, OpenTokenizer(source));
  const PromptEncoder encoder(*tokenizer);
  std::vector<PromptRow> prompts;
  if (flags.generate.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(prompts, ReadPrompts(flags.run.prompts_path));
  }
  SchedulerOptions options = flags.scheduler;
  if (options.context_length == 0) options.context_length = config.context_len;
  std::vector<TraceRequest> trace;
  for (const size_t i : ByArrival(rows)) {
    const TraceRow& row = rows[i];
    std::vector<TokenId> tokens = row.generated_prompt;
    if (flags.generate.empty()) {
      SHORTLIST_ASSIGN_OR_RETURN(
          tokens, encoder.Encode(prompts[i].text, {.parse_special = flags.run.parse_special}));
    }
    const int64_t max_new_tokens = row.max_new_tokens.value_or(flags.run.sampling.max_new_tokens);
    trace.push_back({.arrival_s = row.arrival_s,
                     .prompt = std::move(tokens),
                     .max_new_tokens = max_new_tokens,
                     .output_len = row.output_len.value_or(max_new_tokens),
                     .priority = row.priority,
                     .cache_salt = row.cache_salt});
  }
  SHORTLIST_ASSIGN_OR_RETURN(SimulationResult simulated, Simulate(options, trace, CostModel()));
  ReplayResult result{.duration_s = simulated.end_s, .scheduling = simulated.stats};
  for (size_t i = 0; i < trace.size(); ++i) {
    result.requests.push_back({.arrival_s = trace[i].arrival_s,
                               .failed = !simulated.requests[i].refusal.ok(),
                               .token_times_s = std::move(simulated.requests[i].token_times_s)});
  }
  return result;
}

/// Replays the trace in real time. Used by one thread.
class Replayer {
 public:
  static absl::StatusOr<std::unique_ptr<Replayer>> Create(const ReplayFlags& flags,
                                                          const std::vector<TraceRow>& rows) {
    std::unique_ptr<Replayer> replayer(new Replayer(rows));
    SHORTLIST_ASSIGN_OR_RETURN(replayer->session_, Session::Open(flags.run));
    SHORTLIST_ASSIGN_OR_RETURN(replayer->engine_,
                               Engine::Create(replayer->session_->models(),
                                              replayer->session_->decoding(), flags.scheduler));
    return replayer;
  }

  ReplayResult Run() {
    Progress progress("request", std::ssize(rows_));
    result_.requests.resize(rows_.size());
    const std::vector<size_t> order = ByArrival(rows_);
    start_ = Clock::now();
    for (size_t next = 0; next < order.size() || !engine_->router().idle();) {
      if (engine_->router().idle()) {
        std::this_thread::sleep_until(
            start_ + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(rows_[order[next]].arrival_s)));
      }
      std::vector<RouterMessage> messages;
      const double now_s = Seconds();
      while (next < order.size() && rows_[order[next]].arrival_s <= now_s) {
        messages.push_back(NewRequest(order[next++]));
      }
      Take(engine_->router().ExposedStep(std::move(messages)), progress);
    }
    result_.duration_s = Seconds();
    result_.scheduling = engine_->router().scheduler().stats();
    NoteDraftTrouble("replay", *engine_, result_.speculation.num_mapping_faults);
    return std::move(result_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  explicit Replayer(const std::vector<TraceRow>& rows) : rows_(rows) {}

  double Seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  TokenizedGenerateReqInput NewRequest(size_t index) {
    const TraceRow& row = rows_[index];
    result_.requests[index].arrival_s = row.arrival_s;
    TokenizedGenerateReqInput input;
    input.rid = absl::StrCat(index);
    input.input_ids =
        row.generated_prompt.empty() ? session_->requests()[index].token_ids : row.generated_prompt;
    input.sampling_params = session_->sampling();
    input.sampling_params.max_new_tokens =
        row.max_new_tokens.value_or(input.sampling_params.max_new_tokens);
    input.max_tail_rows = session_->flags().dynamic_rows;
    input.priority = row.priority;
    input.cache_salt = row.cache_salt;
    return input;
  }

  void Take(const BatchTokenIdOut& out, Progress& progress) {
    const double now_s = Seconds();
    for (const BatchTokenIdOut::Row& row : out.rows) {
      Latencies& request = result_.requests[std::stoul(row.rid)];
      request.token_times_s.insert(request.token_times_s.end(), row.token_ids.size(), now_s);
      if (!row.finished) continue;
      request.failed = !row.status.ok();
      result_.speculation.Add(row.stats);
      progress.Advance();
    }
  }

  const std::vector<TraceRow>& rows_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Engine> engine_;
  Clock::time_point start_;
  ReplayResult result_;
};

}  // namespace

absl::Status Replay(const ReplayFlags& flags, std::ostream& out) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<TraceRow> rows, TraceRows(flags));
  ReplayResult result;
  if (flags.simulate) {
    SHORTLIST_ASSIGN_OR_RETURN(result, SimulateTrace(flags, rows));
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Replayer> replayer,
                               Replayer::Create(flags, rows));
    result = replayer->Run();
  }
  Write(Report(result), flags.run.json, out);
  return absl::OkStatus();
}

}  // namespace shortlist
