#ifndef SHORTLIST_DRAFT_PROPOSER_H_
#define SHORTLIST_DRAFT_PROPOSER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "draft/draft_policy.h"
#include "draft/draft_side.h"
#include "draft/drafter.h"
#include "draft/engine_options.h"
#include "draft/past_outputs.h"
#include "draft/step.h"
#include "draft/step_vocabs.h"
#include "draft/tail_discovery.h"

namespace shortlist {

/// What a step proposes to the target.
struct Proposal {
  std::vector<DraftTask> tasks;  // one for each sequence, in order; those that draft have a chain
  int64_t num_passes = 0;        // of the drafter
  // Sequences could draft, and none does: drafting does not pay, or they catch up.
  bool rests = false;
  bool caught_up = false;  // as in DraftPolicy::Step
  double catch_up_ms = 0.0;
};

/// Decides which sequences of a step draft, over which rows and how far, and lets the drafter do
/// it.
///
/// Used by the engine's thread.
class Proposer {
 public:
  /// The engine's parts, which must outlive the proposer.
  struct Parts {
    const EngineOptions& options;
    Drafter* drafter;     // null: only forced text and copies are drafted
    int64_t context_len;  // of the target
    const TailDiscovery& discovery;
    const StepVocabs& vocabs;
    DraftSide& draft_side;
    DraftPolicy& policy;
    const PastOutputs* past_outputs;  // null: none are kept
    std::function<double()> now_ms;
  };
  explicit Proposer(Parts parts) : parts_(std::move(parts)) {}

  /// Call after `vocabs` took its snapshots for `work`. The tasks refer to the snapshots and to
  /// this proposer. A drafter's error is counted, and the step continues as plain decoding.
  Proposal Propose(std::span<const StepWork> work);

  /// True if computing the tokens that the draft lacks costs less than drafting may save within the
  /// tokens still wanted. `num_requests`: requests in each step.
  bool CatchUpPays(const StepWork& work, int64_t num_requests) const;

 private:
  DraftTask NewTask(const StepWork& work) const;
  bool HasDrafterFor(const Sequence& sequence) const;
  int64_t NumDraftTokens(const StepWork& work) const;
  int64_t NumMissing(const Sequence& sequence) const;
  bool Prepare(const StepWork& work, int64_t num_requests, Proposal& proposal);
  std::vector<size_t> ChooseDrafting(std::span<const StepWork> work, Proposal& proposal);
  bool TakeStep(size_t num_drafting, Proposal& proposal);
  void Draft(std::span<const size_t> drafting, Proposal& proposal);
  void DraftWithoutDrafter(bool has_drafted, Proposal& proposal);

  const Parts parts_;
  ChainThresholds thresholds_;  // of the step
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_PROPOSER_H_
