#ifndef SHORTLIST_ROUTER_MODEL_RUNNER_H_
#define SHORTLIST_ROUTER_MODEL_RUNNER_H_

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "draft/engine.h"
#include "draft/step.h"
#include "request/sequence.h"
#include "router/batch.h"
#include "router/messages.h"
#include "router/req.h"

namespace shortlist {

/// A request and its place in the speculation loop.
struct GenerateReq final : Req {
  std::shared_ptr<Receiver> receiver;  // of its rows
  std::unique_ptr<Sequence> sequence;
  int64_t retractions_seen = -1;  // by the sequence: num_retractions when it took over its prefix
  absl::Status status;            // what a callback of this request alone broke
  int64_t num_sent = 0;           // tokens of the output that are in a row
  DynamicVocabularyManager* vocab = nullptr;  // StepWork's
  std::vector<TokenId> new_dynamic_tokens;    // StepWork's, until a step has taken them
};

/// Every Req that a Router has is one.
inline GenerateReq& AsGenerate(Req* req) { return static_cast<GenerateReq&>(*req); }

/// Runs batches of the scheduler through a SpeculativeEngine. Used by one thread at a time.
class ModelRunner {
 public:
  /// `engine` must outlive this; its num_slots are the scheduler's max_total_tokens.
  /// `shares_prompts`: there is a radix cache.
  ModelRunner(SpeculativeEngine& engine, bool shares_prompts)
      : engine_(engine), shares_prompts_(shares_prompts) {}

  /// One pass over the weights for all of `batch`, whose requests are GenerateReqs, and what it did
  /// for each of them, until the next pass. Exceptions become a status; after one the sequences of
  /// the batch must not be used any more.
  absl::StatusOr<std::span<const StepResult>> Forward(const Batch& batch);

 private:
  absl::StatusOr<std::span<const StepResult>> Run(const Batch& batch);

  SpeculativeEngine& engine_;
  const bool shares_prompts_;
  std::vector<StepWork> work_;  // of the last pass
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_MODEL_RUNNER_H_
