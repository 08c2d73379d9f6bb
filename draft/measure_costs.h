#ifndef SHORTLIST_DRAFT_MEASURE_COSTS_H_
#define SHORTLIST_DRAFT_MEASURE_COSTS_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "draft/draft_policy.h"
#include "draft/drafter.h"
#include "draft/target_head.h"
#include "model/executor.h"

namespace shortlist {

/// The parts of an engine before its first request.
struct MeasuredEngine {
  int64_t context_len;  // of the target
  Executor& target;
  TargetHead& head;
  Drafter* drafter;          // null: only the target's passes are measured
  int64_t num_draft_tokens;  // at least 1
  std::function<double()> now_ms;
};

/// Runs passes over made-up tokens, in slots that no sequence uses yet, and tells `policy` their
/// times. It needs them before the first request: a plain step's time cannot be derived from a
/// verify step's, and a draft that does not pay should not compute any prompt. Returns errors of
/// the models.
absl::Status MeasureCosts(const MeasuredEngine& engine, DraftPolicy& policy);

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_MEASURE_COSTS_H_
