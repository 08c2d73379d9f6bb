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

/// A request and its state in the speculation loop.
struct GenerateReq final : Req {
  std::shared_ptr<Receiver> receiver;  // of its rows
  std::unique_ptr<Sequence> sequence;
  int64_t retractions_seen = -1;  // num_retractions when the sequence last adopted its prefix
  absl::Status status;            // error of a callback, which affects this request only
  int64_t num_sent = 0;           // output tokens that were sent in rows
  DynamicVocabularyManager* vocab = nullptr;  // see StepWork
  std::vector<TokenId> new_dynamic_tokens;    // see StepWork; until a step has used them
};

/// Every Req of a GenerationLoop is a GenerateReq.
inline GenerateReq& AsGenerate(Req* req) { return static_cast<GenerateReq&>(*req); }

/// Runs batches of the scheduler through a SpeculativeEngine. Used by one thread at a time.
class ModelRunner {
 public:
  /// `engine` must outlive this object; its num_slots are at least the scheduler's
  /// max_total_tokens. `shares_prompts`: there is a radix cache.
  ModelRunner(SpeculativeEngine& engine, bool shares_prompts)
      : engine_(engine), shares_prompts_(shares_prompts) {}

  /// Runs one pass over the weights for all of `batch`, whose requests must be GenerateReqs.
  /// Returns a result for each, valid until the next pass. Exceptions become a status; after one,
  /// the sequences of the batch must not be used any more.
  absl::StatusOr<std::span<const StepResult>> Forward(const Batch& batch);

 private:
  absl::StatusOr<std::span<const StepResult>> Run(const Batch& batch);

  SpeculativeEngine& engine_;
  const bool shares_prompts_;
  std::vector<StepWork> work_;  // of the last pass
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_MODEL_RUNNER_H_
