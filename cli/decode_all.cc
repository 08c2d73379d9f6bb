#include "cli/decode_all.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/counted.h"
#include "base/status_macros.h"
#include "model/checkpoint/config.h"
#include "router/messages.h"

namespace shortlist {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kMostSlots = 1 << 28;  // bound of SchedulerOptions

/// One run over requests whose ids are their indices.
class Run {
 public:
  Run(Engine& engine, const Session& session, std::span<const Session::Request> requests,
      int64_t max_tail_rows, const DecodeObserver& observer, const std::string& cache_salt)
      : engine_(engine),
        session_(session),
        requests_(requests),
        max_tail_rows_(max_tail_rows),
        observer_(observer),
        cache_salt_(cache_salt),
        completions_(requests.size()),
        first_token_at_(requests.size()) {}

  absl::StatusOr<std::vector<Completion>> ToEnd() {
    while (num_finished_ < requests_.size()) {
      const EngineStats before = engine_.speculative().stats();
      const BatchTokenIdOut out = engine_.router().ExposedStep(Arrivals());
      const EngineStats step = engine_.speculative().stats().Since(before);
      SHORTLIST_RETURN_IF_ERROR(Take(out, step));
    }
    return std::move(completions_);
  }

  /// Aborts unfinished requests.
  ~Run() {
    if (engine_.router().idle()) return;
    std::vector<RouterMessage> aborts;
    for (size_t i = 0; i < num_begun_; ++i) aborts.push_back(AbortReq{absl::StrCat(i)});
    engine_.router().ExposedStep(std::move(aborts));
  }

 private:
  std::vector<RouterMessage> Arrivals() {
    std::vector<RouterMessage> messages;
    const auto batch = static_cast<size_t>(session_.flags().batch);
    for (; num_begun_ < requests_.size() && num_begun_ - num_finished_ < batch; ++num_begun_) {
      TokenizedGenerateReqInput input;
      input.rid = absl::StrCat(num_begun_);
      input.input_ids = requests_[num_begun_].token_ids;
      input.sampling_params = session_.sampling();
      const int64_t room = session_.models().config().context_len - std::ssize(input.input_ids);
      int64_t& max_new_tokens = input.sampling_params.max_new_tokens;
      max_new_tokens = std::min(max_new_tokens, room);
      input.max_tail_rows = max_tail_rows_;
      input.cache_salt = cache_salt_;
      messages.emplace_back(std::move(input));
    }
    return messages;
  }

  absl::Status Take(const BatchTokenIdOut& out, const EngineStats& step) {
    const Clock::time_point now = Clock::now();
    std::vector<Completion*> stepped;
    for (const BatchTokenIdOut::Row& row : out.rows) {
      size_t index = 0;
      SHORTLIST_CHECK(absl::SimpleAtoi(row.rid, &index) && index < requests_.size());
      Completion& completion = completions_[index];
      if (!row.token_ids.empty()) {
        // A request's first token comes from its prefill, all others from steps.
        if (completion.output_ids.empty()) {
          first_token_at_[index] = now;
        } else {
          stepped.push_back(&completion);
        }
        completion.output_ids.insert(completion.output_ids.end(), row.token_ids.begin(),
                                     row.token_ids.end());
        if (observer_.on_tokens) observer_.on_tokens(index, row.token_ids);
      }
      if (!row.finished) continue;
      if (!row.status.ok()) {
        return absl::Status(row.status.code(),
                            absl::StrCat(requests_[index].origin, ": ", row.status.message(),
                                         " after ", row.completion_tokens, " tokens"));
      }
      completion.finish_reason = row.finish_reason;
      completion.stats = row.stats;
      finished_.push_back(index);
    }
    const double step_seconds = 1e-3 * (step.draft_ms + step.verify_ms);
    for (Completion* completion : stepped) {
      completion->step_seconds += step_seconds / static_cast<double>(stepped.size());
      completion->engine.Add(step);
    }
    for (const size_t index : std::exchange(finished_, {})) {
      ++num_finished_;
      completions_[index].decode_seconds =
          std::chrono::duration<double>(now - first_token_at_[index]).count();
      if (observer_.on_finish) observer_.on_finish(index, completions_[index]);
    }
    return absl::OkStatus();
  }

  Engine& engine_;
  const Session& session_;
  const std::span<const Session::Request> requests_;
  const int64_t max_tail_rows_;
  const DecodeObserver& observer_;
  const std::string& cache_salt_;
  std::vector<Completion> completions_;
  std::vector<Clock::time_point> first_token_at_;
  std::vector<size_t> finished_;  // in this step
  size_t num_begun_ = 0, num_finished_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> OpenEngine(Session& session,
                                                   const DecodingOptions& decoding) {
  const int64_t batch = std::min(session.flags().batch, std::ssize(session.requests()));
  const int64_t num_slots = batch * session.max_sequence_slots();
  if (num_slots > kMostSlots) {
    return absl::ResourceExhaustedError(
        absl::StrCat("--batch ", batch, " with ", session.max_sequence_slots(),
                     " tokens each needs ", num_slots, " KV slots, more than ", kMostSlots));
  }
  return Engine::Create(session.models(), decoding,
                        {.max_total_tokens = num_slots,
                         .max_running_requests = batch,
                         .max_queued_requests = batch,
                         .disable_radix_cache = true});
}

absl::StatusOr<std::vector<Completion>> DecodeAll(Engine& engine, const Session& session,
                                                  std::span<const Session::Request> requests,
                                                  int64_t max_tail_rows,
                                                  const DecodeObserver& observer,
                                                  const std::string& cache_salt) {
  return Run(engine, session, requests, max_tail_rows, observer, cache_salt).ToEnd();
}

void NoteDraftTrouble(const std::string& name, const Engine& engine, int64_t num_mapping_faults) {
  const SpeculativeEngine& speculative = engine.speculative();
  if (const int64_t num_failures = speculative.stats().num_draft_failures; num_failures > 0) {
    std::cerr << "note: " << name << ": the draft failed in "
              << Counted(num_failures, "step, which was", "steps, which were")
              << " decoded plainly: " << speculative.draft_error().message() << "\n";
  }
  if (engine.sketch_fitter() != nullptr && !engine.sketch_fitter()->error().ok()) {
    std::cerr << "note: " << name << ": a sketch of the draft's head was not fitted or not kept: "
              << engine.sketch_fitter()->error().message() << "\n";
  }
  if (num_mapping_faults > 0) {
    std::cerr << "warning: " << name << ": "
              << Counted(num_mapping_faults, "drafted token does", "drafted tokens do")
              << " not match their row: the row map is broken\n";
  }
}

}  // namespace shortlist
