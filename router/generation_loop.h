#ifndef SHORTLIST_ROUTER_GENERATION_LOOP_H_
#define SHORTLIST_ROUTER_GENERATION_LOOP_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "draft/engine.h"
#include "router/messages.h"
#include "router/model_loop.h"
#include "router/model_runner.h"
#include "router/scheduler.h"

namespace shortlist {

/// A generating model under the Router. Accepts requests at any time, prefills and decodes them
/// together, and sends their tokens. A step is transactional: an error fails only the requests
/// being computed.
class GenerationLoop final : public ModelLoop {
 public:
  /// `scheduler`: option names as in the flags. context_length 0 means the target's. It is limited
  /// to max_total_tokens, so that every request within it fits. num_draft_tokens and bigram_keys
  /// are taken from the engine. `engine` must outlive this object and have at least
  /// max_total_tokens slots. Returns InvalidArgument with the option and its bound.
  static absl::StatusOr<std::unique_ptr<GenerationLoop>> Create(SpeculativeEngine& engine,
                                                                SchedulerOptions scheduler);

  /// Adds a request. A rejected request gets a terminal row with the status
  /// (BatchTokenIdOut::Row::status).
  void Add(TokenizedGenerateReqInput input, double now_s);

  bool Abort(const std::string& rid) override;
  void Step(double now_s) override;
  bool idle() const override { return reqs_.empty(); }
  BatchTokenIdOut TakeRows() override { return std::exchange(out_, {}); }

  /// Retracts every running and prefilling request, as if memory were short.
  void RetractAll() { scheduler_->RetractAll(); }

  Scheduler& scheduler() { return *scheduler_; }
  const Scheduler& scheduler() const { return *scheduler_; }

 private:
  GenerationLoop(SpeculativeEngine& engine, std::unique_ptr<Scheduler> scheduler);

  absl::Status AddRequest(TokenizedGenerateReqInput& input, double now_s);
  void FailOverdue(double now_s);
  bool AdoptPrefixes();
  Batch GetNewPrefillBatch(double now_s);
  void RunBatch(const Batch& batch);
  void HandleResult(GenerateReq& req, const StepResult& result);
  void DiscoverContinuations(GenerateReq& req);
  void HandleFinishedRequests();
  void HandleFinished(GenerateReq& req);
  void Fail(GenerateReq& req, absl::Status status);

  SpeculativeEngine& engine_;
  ModelRunner runner_;
  const std::unique_ptr<Scheduler> scheduler_;
  std::unordered_map<std::string, std::unique_ptr<GenerateReq>> reqs_;
  std::vector<GenerateReq*> finished_;
  BatchTokenIdOut out_;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_GENERATION_LOOP_H_
