#ifndef SHORTLIST_DRAFT_SPECULATION_H_
#define SHORTLIST_DRAFT_SPECULATION_H_

#include <array>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "draft/acceptance_forecast.h"
#include "draft/prompt_lookup.h"
#include "request/sequence.h"
#include "vocab/coverage_guard.h"
#include "vocab/request_tail.h"

namespace shortlist {

/// A drafter's own bookkeeping for one request; made by Drafter::NewState.
struct DrafterState {
  virtual ~DrafterState() = default;
};

/// What speculation knows of one sequence.
struct Speculation final : Sequence::EngineState {
  explicit Speculation(int64_t max_tail_rows) : tail(max_tail_rows) {}

  RequestTail tail;
  std::vector<TokenId> given;  // that whoever sent the request named
  // Both enter the tail with the next step.
  std::vector<TokenId> adopted_rows;
  std::vector<TokenId> continuations;
  bool tail_has_prompt = false;
  CoverageGuard guard;
  std::unique_ptr<DrafterState> draft_state;  // null: it is decoded plainly
  // Once drafting ended for good: leading positions that stay in the drafter's cache.
  int64_t shareable_len = 0;
  PromptLookup lookup;                          // over the sequence's tokens
  std::array<AcceptanceForecast, 3> forecasts;  // by DraftSource
  double usual_acceptance = 0.8;                // of the draft's late tokens that the target judged
};

/// Made when it is first asked for.
inline Speculation& SpeculationOf(Sequence& sequence) {
  if (sequence.engine_state == nullptr) {
    sequence.engine_state = std::make_unique<Speculation>(sequence.max_tail_rows());
  }
  return static_cast<Speculation&>(*sequence.engine_state);
}

/// Null where nobody has asked for it yet.
inline const Speculation* FindSpeculation(const Sequence& sequence) {
  return static_cast<const Speculation*>(sequence.engine_state.get());
}

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_SPECULATION_H_
