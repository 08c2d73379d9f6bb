#include "draft/measure_costs.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "model/forward_batch.h"

namespace shortlist {
namespace {

// Rounds are interleaved, as the machine is not quiet. The first one warms up.
constexpr int kVerifyRounds = 4, kPromptRounds = 3;
constexpr int64_t kPromptTokens = 64;
constexpr int64_t kManyRequests = 8;

absl::StatusOr<Matrix> ForwardMadeUp(const MeasuredEngine& engine, int64_t len) {
  ForwardBatch batch;
  batch.AddMadeUp(/*num_chains=*/1, len);
  return engine.target.Forward(batch);
}

absl::Status MeasureVerify(const MeasuredEngine& engine, DraftPolicy& policy) {
  const int64_t most =
      std::min({engine.num_draft_tokens + 1, engine.target.num_slots(), engine.context_len});
  for (int round = 0; round < kVerifyRounds; ++round) {
    for (int64_t rows = 1; rows <= most; rows = rows < most ? std::min(2 * rows, most) : most + 1) {
      const double begin = engine.now_ms();
      SHORTLIST_ASSIGN_OR_RETURN(const Matrix hidden, ForwardMadeUp(engine, rows));
      SHORTLIST_RETURN_IF_ERROR(engine.head.Judge(hidden, RowDetail::kBest, {}).status());
      if (round > 0) policy.AddVerify(rows, engine.now_ms() - begin);
    }
  }
  return absl::OkStatus();
}

/// A prompt in target and draft, and draft passes for one and for some requests. The draft's head,
/// whose active rows are not known yet, is left out; the first steps show its time.
absl::Status MeasurePrompt(const MeasuredEngine& engine, DraftPolicy& policy) {
  Drafter* const drafter = engine.drafter;
  const int64_t len = std::min({kPromptTokens, engine.target.num_slots(), engine.context_len,
                                drafter != nullptr ? drafter->context_len() : kPromptTokens});
  for (int round = 0; round < kPromptRounds; ++round) {
    double begin = engine.now_ms();
    const auto lap = [&] {
      const double end = engine.now_ms();
      return end - std::exchange(begin, end);
    };
    SHORTLIST_ASSIGN_OR_RETURN(const Matrix hidden, ForwardMadeUp(engine, len));
    const double prefill_ms = lap();
    SHORTLIST_RETURN_IF_ERROR(engine.head.Judge(hidden, RowDetail::kBest, {}).status());
    const double head_ms = lap();
    if (round > 0) {
      policy.AddPrefill(len, prefill_ms);
      policy.AddHead(len, head_ms);
    }
    if (drafter == nullptr) continue;
    SHORTLIST_RETURN_IF_ERROR(drafter->RunMadeUp(/*num_chains=*/1, len));
    const double draft_prefill_ms = lap();
    if (round > 0) policy.AddDraftPrefill(len, draft_prefill_ms);
    for (const int64_t requests :
         {int64_t{1}, std::min(kManyRequests, engine.target.num_slots())}) {
      lap();
      SHORTLIST_RETURN_IF_ERROR(drafter->RunMadeUp(requests, /*len=*/1));
      if (round > 0) policy.AddDraft(requests, lap());
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureCosts(const MeasuredEngine& engine, DraftPolicy& policy) {
  SHORTLIST_RETURN_IF_ERROR(MeasureVerify(engine, policy));
  return MeasurePrompt(engine, policy);
}

}  // namespace shortlist
