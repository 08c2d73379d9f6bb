#ifndef SHORTLIST_DRAFT_ENGINE_STATS_H_
#define SHORTLIST_DRAFT_ENGINE_STATS_H_

#include <cstdint>

namespace shortlist {

/// Time and counts over all steps of an engine.
struct EngineStats {
  int64_t num_steps = 0;
  // Forward passes of the draft: one per token scored for the longest chain of each step.
  int64_t num_draft_passes = 0;
  int64_t num_resting_steps = 0;  // steps without drafts as drafting did not pay (DraftPolicy)
  // errors of the drafter, and vocabularies that do not fit it, per step
  int64_t num_draft_failures = 0;
  double draft_ms = 0.0;
  double verify_ms = 0.0;  // target pass, head and verification

  void Add(const EngineStats& other);
  /// Returns the difference from `earlier`, a former state of these stats.
  EngineStats Since(const EngineStats& earlier) const;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_ENGINE_STATS_H_
