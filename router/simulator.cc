#include "router/simulator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

struct SimulatedReq final : TokensReq {
  size_t index = 0;
  int64_t output_len = 0;
};

class Simulation {
 public:
  Simulation(Scheduler& scheduler, std::span<const TraceRequest> trace, const CostModel& costs)
      : scheduler_(scheduler), trace_(trace), costs_(costs) {
    result_.requests.resize(trace.size());
    reqs_.resize(trace.size());
  }

  absl::Status Run(const StepObserver& observer) {
    while (next_ < trace_.size() || !scheduler_.idle()) {
      if (scheduler_.idle()) now_s_ = std::max(now_s_, trace_[next_].arrival_s);
      while (next_ < trace_.size() && trace_[next_].arrival_s <= now_s_) Arrive(next_++);
      if (scheduler_.idle()) continue;  // all were rejected

      const Batch prefill = scheduler_.GetNewPrefillBatch(now_s_);
      Prefill(prefill);
      Batch decode;
      if (scheduler_.DecodeIsDue(!prefill.IsEmpty())) {
        decode = scheduler_.PrepareDecode();
        Decode(decode);
      }
      if (observer) observer(scheduler_, prefill, decode, now_s_);
      const bool stands_still = scheduler_.num_queued() > 0 && scheduler_.num_prefilling() == 0 &&
                                scheduler_.running().empty() && prefill.IsEmpty() &&
                                decode.IsEmpty();
      if (stands_still) {
        return absl::InternalError(absl::StrCat("the scheduler stands still with ",
                                                scheduler_.num_queued(),
                                                " requests waiting and nothing running"));
      }
    }
    result_.end_s = now_s_;
    result_.stats = scheduler_.stats();
    return absl::OkStatus();
  }

  SimulationResult TakeResult() { return std::move(result_); }

 private:
  void Arrive(size_t index) {
    const TraceRequest& request = trace_[index];
    auto req = std::make_unique<SimulatedReq>();
    req->index = index;
    req->rid = absl::StrCat(index);
    req->tokens = request.prompt;
    req->prompt_len = req->num_tokens();
    req->max_new_tokens = request.max_new_tokens;
    req->output_len = std::clamp<int64_t>(request.output_len, 1, request.max_new_tokens);
    req->priority = request.priority;
    req->cache_salt = request.cache_salt;
    req->client = request.client;
    req->arrival_s = request.arrival_s;
    result_.requests[index].refusal = scheduler_.Add(*req);
    if (result_.requests[index].refusal.ok()) reqs_[index] = std::move(req);
  }

  void Prefill(const Batch& batch) {
    if (batch.IsEmpty()) return;
    for (const Req* req : batch.reqs) {
      double& admitted_s = ResultOf(*req).admitted_s;
      admitted_s = std::min(admitted_s, now_s_);
    }
    now_s_ +=
        costs_.prefill_pass_s + costs_.prefill_token_s * static_cast<double>(batch.num_tokens);
    int64_t left = batch.num_tokens;
    for (Req* req : batch.reqs) {
      const int64_t len = std::min(left, req->num_uncomputed());
      left -= len;
      const int64_t cached_len = req->cached_len + len;
      if (cached_len < req->prefill_len) {
        scheduler_.Computed(*req, cached_len, cached_len);
      } else {
        Emit(*req, cached_len);
      }
    }
  }

  void Decode(const Batch& batch) {
    now_s_ +=
        costs_.decode_pass_s + costs_.decode_request_s * static_cast<double>(batch.reqs.size());
    for (Req* req : batch.reqs) Emit(*req, req->num_tokens());
  }

  void Emit(Req& req, int64_t cached_len) {
    auto& simulated = static_cast<SimulatedReq&>(req);
    const TokenId token{static_cast<int32_t>((simulated.index * 31 + req.num_output() * 7) % 1000)};
    ResultOf(req).token_times_s.push_back(now_s_);
    simulated.tokens.push_back(token);
    scheduler_.Computed(req, cached_len, cached_len);
    if (req.num_output() >= simulated.output_len) Finish(req);
  }

  void Finish(Req& req) {
    ResultOf(req).finished_s = now_s_;
    ResultOf(req).num_hit_tokens = req.num_hit_tokens;
    scheduler_.Finish(req);
    reqs_[static_cast<const SimulatedReq&>(req).index].reset();
  }

  SimulatedRequest& ResultOf(const Req& req) {
    return result_.requests[static_cast<const SimulatedReq&>(req).index];
  }

  Scheduler& scheduler_;
  const std::span<const TraceRequest> trace_;
  const CostModel costs_;
  double now_s_ = 0.0;
  size_t next_ = 0;
  std::vector<std::unique_ptr<SimulatedReq>> reqs_;
  SimulationResult result_;
};

}  // namespace

absl::StatusOr<SimulationResult> Simulate(const SchedulerOptions& options,
                                          std::span<const TraceRequest> trace,
                                          const CostModel& costs, const StepObserver& observer) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Scheduler> scheduler,
                             Scheduler::Create(options));
  Simulation simulation(*scheduler, trace, costs);
  SHORTLIST_RETURN_IF_ERROR(simulation.Run(observer));
  return simulation.TakeResult();
}

}  // namespace shortlist
