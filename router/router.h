#ifndef SHORTLIST_ROUTER_ROUTER_H_
#define SHORTLIST_ROUTER_ROUTER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "draft/engine.h"
#include "router/messages.h"
#include "router/model_runner.h"
#include "router/scheduler.h"

namespace shortlist {

/// The heart of the server: takes requests at any time, prefills and decodes them together, and
/// sends their tokens. Every request gets exactly one terminal row. A step is transactional: what
/// breaks in it fails the requests it was computing, and nothing else.
///
/// Used by one thread at a time.
class Router {
 public:
  struct Options {
    /// As the flags are named. context_length 0: the target's; the scheduler's own is never above
    /// max_total_tokens, so that whatever is within it fits. num_draft_tokens and bigram_keys are
    /// taken from the engine.
    SchedulerOptions scheduler;
    PoolingCallback pool;         // empty: prefill-only requests are refused
    std::function<double()> now;  // seconds of a clock that never goes back; empty: steady_clock
  };

  /// `engine`, which must outlive this, has at least max_total_tokens slots. InvalidArgument names
  /// the option and its bound.
  static absl::StatusOr<std::unique_ptr<Router>> Create(SpeculativeEngine& engine, Options options);

  /// Takes in what has arrived and runs one ForwardStep. Returns what that brought.
  BatchTokenIdOut ExposedStep(std::vector<RouterMessage> recv_reqs);

  /// True when there is nothing to step for.
  bool idle() const { return reqs_.empty(); }

  /// Takes every running and filling request out of its slots, as when memory is short.
  void RetractAll();

  /// As Scheduler's.
  void FlushCache() { scheduler_->FlushCache(); }

  const Scheduler& scheduler() const { return *scheduler_; }
  /// As Scheduler's.
  absl::Status CheckInvariants() const { return scheduler_->CheckInvariants(); }

 private:
  Router(SpeculativeEngine& engine, Options options, std::unique_ptr<Scheduler> scheduler);

  void HandleRequest(TokenizedGenerateReqInput input);
  absl::Status AddRequest(TokenizedGenerateReqInput& input);
  void Abort(const AbortReq& abort);
  void FailOverdue(double now_s);
  void ForwardStep();
  Batch GetNewFillBatch(double now_s);
  void RunBatch(const Batch& batch);
  void HandleResult(GenerateReq& req, const StepResult& result);
  void HandleFinishedRequests();
  void HandleFinished(GenerateReq& req);
  void Fail(GenerateReq& req, absl::Status status);

  SpeculativeEngine& engine_;
  ModelRunner runner_;
  const std::function<double()> now_;
  const bool pools_;
  const std::unique_ptr<Scheduler> scheduler_;
  std::unordered_map<std::string, std::unique_ptr<GenerateReq>> reqs_;
  std::vector<GenerateReq*> finished_;
  BatchTokenIdOut out_;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_ROUTER_H_
