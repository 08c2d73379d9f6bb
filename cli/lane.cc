#include "cli/lane.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kPrefillChunk = 512;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

/// A request between its admission and its end.
struct Lane::Running {
  size_t index;  // in the requests
  int64_t row;   // its part of the KV cache
  std::string origin;
  std::unique_ptr<Sequence> sequence;
  std::vector<int32_t> kv_slots;
  int64_t num_reported = 0;  // output tokens the observer knows
  Clock::time_point prefilled_at{};
  double step_seconds = 0.0;
  EngineStats engine;
};

absl::StatusOr<std::unique_ptr<Lane>> Lane::Create(Session& session, Options options) {
  const int64_t num_rows =
      std::min(session.flags().batch, static_cast<int64_t>(session.requests().size()));
  const int64_t num_slots = num_rows * session.max_sequence_slots();
  if (num_slots > std::numeric_limits<int32_t>::max()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "--batch ", num_rows, " with ", session.max_sequence_slots(), " tokens each needs ",
        num_slots, " KV slots, more than ", std::numeric_limits<int32_t>::max()));
  }
  std::unique_ptr<Lane> lane(
      new Lane(session, options.use_draft ? options.max_tail_rows : 0, num_rows));
  DecodingOptions decoding = session.decoding(/*num_shared_rows=*/0);
  decoding.use_draft = options.use_draft;
  decoding.base = options.base;
  SHORTLIST_ASSIGN_OR_RETURN(lane->decoding_,
                             Decoding::Create(session.models(), decoding, num_slots));
  return lane;
}

absl::StatusOr<std::vector<Completion>> Lane::Run(std::span<const Session::Request> requests,
                                                  const Observer& observer) {
  std::vector<Completion> completions(requests.size());
  std::vector<Running> running;
  for (size_t next = 0; next < requests.size() || !running.empty();) {
    SHORTLIST_RETURN_IF_ERROR(Admit(requests, next, running));
    SHORTLIST_RETURN_IF_ERROR(Prefill(running));
    SHORTLIST_RETURN_IF_ERROR(Report(running, observer, completions));
    SHORTLIST_RETURN_IF_ERROR(Step(running));
    SHORTLIST_RETURN_IF_ERROR(Report(running, observer, completions));
  }
  return completions;
}

absl::Status Lane::Admit(std::span<const Session::Request> requests, size_t& next,
                         std::vector<Running>& running) {
  const int64_t row_slots = session_.max_sequence_slots();
  for (int64_t row = 0; row < num_rows_ && next < requests.size(); ++row) {
    const bool taken = std::any_of(running.begin(), running.end(),
                                   [row](const Running& r) { return r.row == row; });
    if (taken) continue;
    const Session::Request& request = requests[next];
    Sequence::Options options{.sampling = session_.sampling(), .max_tail_rows = max_tail_rows_};
    SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<Sequence> sequence,
                               Sequence::Create(request.token_ids, std::move(options),
                                                session_.models().config().vocab_size));
    std::vector<int32_t> kv_slots(row_slots);
    std::iota(kv_slots.begin(), kv_slots.end(), static_cast<int32_t>(row * row_slots));
    running.push_back({.index = next,
                       .row = row,
                       .origin = request.origin,
                       .sequence = std::move(sequence),
                       .kv_slots = std::move(kv_slots)});
    ++next;
  }
  return absl::OkStatus();
}

absl::Status Lane::Prefill(std::vector<Running>& running) {
  while (true) {
    std::vector<StepWork> pending;
    for (const Running& r : running) {
      if (!r.sequence->prefilled()) pending.push_back({r.sequence.get(), r.kv_slots});
    }
    if (pending.empty()) return absl::OkStatus();
    SHORTLIST_RETURN_IF_ERROR(decoding_.engine->Prefill(pending, kPrefillChunk).status());
    const Clock::time_point now = Clock::now();
    for (Running& r : running) {
      if (r.sequence->prefilled() && r.prefilled_at == Clock::time_point{}) {
        r.prefilled_at = now;
      }
    }
  }
}

absl::Status Lane::Step(std::vector<Running>& running) {
  std::vector<StepWork> work;
  for (const Running& r : running) work.push_back({r.sequence.get(), r.kv_slots});
  if (work.empty()) return absl::OkStatus();
  const EngineStats before = decoding_.engine->stats();
  const Clock::time_point begin = Clock::now();
  SHORTLIST_RETURN_IF_ERROR(decoding_.engine->Step(work).status());
  const double share = SecondsSince(begin) / static_cast<double>(running.size());
  const EngineStats step = decoding_.engine->stats().Since(before);
  for (Running& r : running) {
    r.step_seconds += share;
    r.engine.Add(step);
  }
  return absl::OkStatus();
}

absl::Status Lane::Report(std::vector<Running>& running, const Observer& observer,
                          std::vector<Completion>& completions) {
  for (Running& r : running) {
    const Sequence& sequence = *r.sequence;
    if (sequence.finish_reason() == FinishReason::kError) {
      return absl::Status(sequence.error().code(),
                          absl::StrCat(r.origin, ": ", sequence.error().message(), " after ",
                                       sequence.num_output(), " tokens"));
    }
    if (observer.on_tokens && sequence.num_output() > r.num_reported) {
      observer.on_tokens(r.index, sequence.output().subspan(r.num_reported));
    }
    r.num_reported = sequence.num_output();
    if (!sequence.finished()) continue;
    Completion& completion = completions[r.index];
    completion.output_ids.assign(sequence.output().begin(), sequence.output().end());
    completion.finish_reason = sequence.finish_reason();
    completion.stats = sequence.stats;
    completion.decode_seconds = SecondsSince(r.prefilled_at);
    completion.step_seconds = r.step_seconds;
    completion.engine = r.engine;
    if (observer.on_finish) observer.on_finish(r.index, completion);
  }
  std::erase_if(running, [](const Running& r) { return r.sequence->finished(); });
  return absl::OkStatus();
}

void NoteDraftTrouble(const std::string& name, const SpeculativeEngine& engine,
                      int64_t num_mapping_faults) {
  if (const int64_t num_failures = engine.stats().num_draft_failures; num_failures > 0) {
    std::cerr << "note: " << name << ": the draft failed in " << num_failures
              << " steps, which were decoded plainly: " << engine.draft_error().message() << "\n";
  }
  if (num_mapping_faults > 0) {
    std::cerr << "warning: " << name << ": " << num_mapping_faults
              << " drafted tokens do not match their row: the row map is broken\n";
  }
}

}  // namespace shortlist
