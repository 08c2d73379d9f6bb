#include "draft/engine_stats.h"

namespace shortlist {

void EngineStats::Add(const EngineStats& other) {
  num_steps += other.num_steps;
  num_draft_passes += other.num_draft_passes;
  num_resting_steps += other.num_resting_steps;
  num_draft_failures += other.num_draft_failures;
  draft_ms += other.draft_ms;
  verify_ms += other.verify_ms;
}

EngineStats EngineStats::Since(const EngineStats& earlier) const {
  return {.num_steps = num_steps - earlier.num_steps,
          .num_draft_passes = num_draft_passes - earlier.num_draft_passes,
          .num_resting_steps = num_resting_steps - earlier.num_resting_steps,
          .num_draft_failures = num_draft_failures - earlier.num_draft_failures,
          .draft_ms = draft_ms - earlier.draft_ms,
          .verify_ms = verify_ms - earlier.verify_ms};
}

}  // namespace shortlist
