#ifndef SHORTLIST_ROUTER_SIMULATOR_H_
#define SHORTLIST_ROUTER_SIMULATOR_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "router/scheduler.h"

namespace shortlist {

/// One request of an arrival trace.
struct TraceRequest {
  double arrival_s = 0.0;
  std::vector<TokenId> prompt;
  int64_t max_new_tokens = 0;  // at least 1
  int64_t output_len = 0;      // tokens until it stops; at most max_new_tokens
  int32_t priority = 0;
  std::string cache_salt;
  std::string client;
};

/// Seconds per pass: a fixed cost plus a cost per token or request.
struct CostModel {
  double prefill_pass_s = 0.005;
  double prefill_token_s = 0.001;
  double decode_pass_s = 0.015;
  double decode_request_s = 0.001;
};

/// Outcome of one request, in virtual seconds since the start.
struct SimulatedRequest {
  absl::Status refusal;  // ok if the request was served
  double admitted_s = std::numeric_limits<double>::infinity();
  std::vector<double> token_times_s;  // of each output token
  double finished_s = std::numeric_limits<double>::infinity();
  int64_t num_hit_tokens = 0;
};

struct SimulationResult {
  std::vector<SimulatedRequest> requests;  // as in the trace
  double end_s = 0.0;
  SchedulerStats stats;
};

/// Called after each pass with the scheduler and virtual time.
using StepObserver =
    std::function<void(const Scheduler&, const Batch& prefill, const Batch& decode, double now_s)>;

/// Runs `trace` (arrivals in ascending order) through the scheduler in virtual time, with a cost
/// model instead of the model. One step does what GenerationLoop::Step does. The output of a
/// request is a function of its index. Returns Internal if the scheduler stalls with waiting
/// requests, and the errors of Scheduler::Create.
absl::StatusOr<SimulationResult> Simulate(const SchedulerOptions& options,
                                          std::span<const TraceRequest> trace,
                                          const CostModel& costs,
                                          const StepObserver& observer = nullptr);

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_SIMULATOR_H_
