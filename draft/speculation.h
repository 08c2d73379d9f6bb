#ifndef SHORTLIST_DRAFT_SPECULATION_H_
#define SHORTLIST_DRAFT_SPECULATION_H_

#include <memory>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "draft/chain_memory.h"
#include "draft/drafter.h"
#include "model/sequence_state.h"
#include "request/sequence.h"
#include "vocab/coverage_guard.h"
#include "vocab/request_tail.h"

namespace shortlist {

/// The speculation state of one sequence.
struct Speculation final : Sequence::EngineState {
  explicit Speculation(int64_t max_tail_rows) : tail(max_tail_rows) {}

  // In the target's recurrent layers; null without such, and before the first pass.
  std::unique_ptr<SequenceState> target_state;
  RequestTail tail;
  std::vector<TokenId> given;  // tokens that the client named (client hints)
  // Both enter the tail in the next step.
  std::vector<TokenId> adopted_rows;
  std::vector<TokenId> continuations;
  bool tail_has_prompt = false;
  CoverageGuard guard;
  std::unique_ptr<DrafterState> draft_state;  // null: the sequence decodes plainly at present
  // After drafting ended for good: leading positions that stay in the drafter's cache.
  int64_t shareable_len = 0;
  ChainMemory chain_memory;
};

/// Returns the state of `sequence`, created at the first call.
inline Speculation& SpeculationOf(Sequence& sequence) {
  if (sequence.engine_state == nullptr) {
    sequence.engine_state = std::make_unique<Speculation>(sequence.max_tail_rows());
  }
  return static_cast<Speculation&>(*sequence.engine_state);
}

/// Returns the state of `sequence`; null if SpeculationOf() was not called yet.
inline const Speculation* FindSpeculation(const Sequence& sequence) {
  return static_cast<const Speculation*>(sequence.engine_state.get());
}

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_SPECULATION_H_
